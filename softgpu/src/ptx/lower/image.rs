//! Lowers texture and surface instructions. An operand that names an object is a register with the
//! handle of a texture or surface object, or the name of a texture or surface reference, whose
//! address serves as its handle. Separate samplers aren't supported.

use super::function::FunctionState;
use super::lowering::Lower;
use crate::ptx::image::{
    Bounds, Detail, Fetch, Geometry, Place, Property, Query, Sampling, SurfaceAccess,
};
use crate::ptx::ir::{Op, Slot};
use crate::ptx::token::{Arg, RawInst};
use crate::ptx::types::Ty;

/// The largest access to a surface, in bytes.
const MAX_ACCESS: usize = 16;

/// Returns the elements of a vector operand. An operand that isn't a vector counts as a vector of
/// one element.
fn items<'s, 'a>(arg: &'s Arg<'a>) -> &'s [Arg<'a>] {
    match arg {
        Arg::Vector(items) => items,
        single => std::slice::from_ref(single),
    }
}

/// Returns whether an instruction that uses `used` elements of a vector accepts a vector of `len`
/// elements. PTX pads vectors of three elements with a fourth one.
fn fits(len: usize, used: usize) -> bool {
    len == used || (used == 3 && len == 4)
}

impl Lower<'_> {
    pub(crate) fn image(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        match inst.op {
            "tex" => self.fetch(f, inst),
            "tld4" => self.gather(f, inst),
            "txq" | "suq" => self.query(f, inst),
            "suld" | "sust" => self.surface(f, inst),
            _ => None,
        }
    }

    /// Lowers an operand `[object, {…}]`, which contains the object and the coordinates.
    fn place(
        &mut self,
        f: &mut FunctionState,
        arg: &Arg<'_>,
        geometry: Geometry,
        coordinate: Ty,
    ) -> Option<Place> {
        let Arg::Address(base, 0) = arg else { return None };
        let Arg::Vector(parts) = &**base else { return None };
        let [object, at] = parts.as_slice() else { return None };
        let mut at = items(at);
        let used = geometry.coordinates() + usize::from(geometry.layered());
        if !fits(at.len(), used) {
            return None;
        }
        let object = self.src(f, object, Ty::U64)?;
        let layer = match geometry.layered() {
            true => {
                let (first, rest) = at.split_first()?;
                at = rest;
                Some(self.src(f, first, Ty::U32)?)
            }
            false => None,
        };
        let at = self.vector(f, at, geometry.coordinates(), coordinate)?;
        Some(Place { geometry, object, layer, at })
    }

    /// Lowers the first `used` elements of a source vector.
    fn vector(
        &mut self,
        f: &mut FunctionState,
        items: &[Arg<'_>],
        used: usize,
        ty: Ty,
    ) -> Option<Vec<Slot>> {
        items.get(..used)?.iter().map(|item| self.src(f, item, ty)).collect()
    }

    /// Lowers a texture instruction's destination, which can have the form `{…}|p`. The predicate
    /// says whether the memory is resident, so it's always set, because softgpu has no sparse
    /// textures.
    fn components(&mut self, f: &mut FunctionState, arg: &Arg<'_>) -> Option<[Option<Slot>; 4]> {
        let (vector, resident) = match arg {
            Arg::Pair(vector, resident) => (&**vector, self.pred_dst(f, resident)?),
            vector => (vector, None),
        };
        let [a, b, c, d] = items(vector) else { return None };
        let mut component = |arg: &Arg<'_>| match arg {
            Arg::Sink => Some(None),
            arg => self.dst(f, arg).map(Some),
        };
        let components = [component(a)?, component(b)?, component(c)?, component(d)?];
        if let Some(d) = resident {
            self.emit(f, Op::PredConst { d, value: true });
        }
        Some(components)
    }

    fn fetch(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        let (detail, mods) = match inst.mods.as_slice() {
            [first @ ("base" | "level" | "grad"), rest @ ..] => (*first, rest),
            rest => ("base", rest),
        };
        let [geometry, "v4", "f32" | "s32" | "u32", coordinate] = mods else { return None };
        let geometry = Geometry::parse(geometry)?;
        let (ty, sampling) = match *coordinate {
            "f32" => (Ty::F32, Sampling::Filtered),
            "s32" if !geometry.cube() => (Ty::S32, Sampling::Texel),
            _ => return None,
        };
        let [to, from, rest @ ..] = inst.args.as_slice() else { return None };
        // Two more kinds of operands can follow, which aren't supported: an offset of the
        // coordinates, and a value for depth comparisons.
        let detail = match (detail, rest) {
            ("base", []) => Detail::Base,
            ("level", [level]) => Detail::Level(self.src(f, level, ty)?),
            ("grad", [x, y]) if ty == Ty::F32 => {
                let used = geometry.coordinates();
                let (x, y) = (items(x), items(y));
                if !fits(x.len(), used) || !fits(y.len(), used) {
                    return None;
                }
                Detail::Gradient(self.vector(f, x, used, ty)?, self.vector(f, y, used, ty)?)
            }
            _ => return None,
        };
        let place = self.place(f, from, geometry, ty)?;
        let d = self.components(f, to)?;
        self.emit(f, Op::Fetch(Box::new(Fetch { place, sampling, detail, d })));
        Some(())
    }

    fn gather(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        let [component, geometry @ ("2d" | "a2d"), "v4", "f32" | "s32" | "u32", "f32"] =
            inst.mods.as_slice()
        else {
            return None;
        };
        let component = ["r", "g", "b", "a"].iter().position(|name| name == component)?;
        let [to, from] = inst.args.as_slice() else { return None };
        let place = self.place(f, from, Geometry::parse(geometry)?, Ty::F32)?;
        let d = self.components(f, to)?;
        let sampling = Sampling::Gather(component as u8);
        self.emit(f, Op::Fetch(Box::new(Fetch { place, sampling, detail: Detail::Base, d })));
        Some(())
    }

    fn query(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        let surface = inst.op == "suq";
        let (property, level) = match (inst.mods.as_slice(), inst.args.as_slice()) {
            ([property, "b32"], [_, _]) => (property, None),
            (["level", property, "b32"], [_, _, level]) if !surface => (property, Some(level)),
            _ => return None,
        };
        let property = Property::parse(property)?;
        match property {
            Property::Width | Property::Height | Property::Depth => {}
            Property::Layers if level.is_none() => {}
            Property::Levels if level.is_none() && !surface => {}
            _ => return None,
        }
        let Arg::Address(object, 0) = &inst.args[1] else { return None };
        let object = self.src(f, object, Ty::U64)?;
        let level = match level {
            Some(level) => Some(self.src(f, level, Ty::U32)?),
            None => None,
        };
        let d = self.dst(f, &inst.args[0])?;
        self.emit(f, Op::Query(Box::new(Query { surface, object, property, level, d })));
        Some(())
    }

    fn surface(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        let store = inst.op == "sust";
        let caching: &[&str] =
            if store { &["wb", "cg", "cs", "wt"] } else { &["ca", "cg", "cs", "cv"] };
        let mods = match inst.mods.as_slice() {
            ["b", first, rest @ ..] if caching.contains(first) => rest,
            ["b", rest @ ..] => rest,
            _ => return None,
        };
        let (geometry, count, ty, bounds) = match mods {
            [geometry, ty, bounds] => (geometry, 1, ty, bounds),
            [geometry, "v2", ty, bounds] => (geometry, 2, ty, bounds),
            [geometry, "v4", ty, bounds] => (geometry, 4, ty, bounds),
            _ => return None,
        };
        let ty = Ty::parse(ty).filter(|t| matches!(t, Ty::B8 | Ty::B16 | Ty::B32 | Ty::B64))?;
        let geometry = Geometry::parse(geometry).filter(|geometry| !geometry.cube())?;
        let bounds = Bounds::parse(bounds)?;
        let (value, at) = match (store, inst.args.as_slice()) {
            (true, [at, value]) | (false, [value, at]) => (items(value), at),
            _ => return None,
        };
        if value.len() != count || ty.bytes() * count > MAX_ACCESS {
            return None;
        }
        let place = self.place(f, at, geometry, Ty::S32)?;
        let mut regs = Vec::new();
        for item in value {
            regs.push(match item {
                item if store => Some(self.src(f, item, ty)?),
                Arg::Sink => None,
                item => Some(self.dst(f, item)?),
            });
        }
        let size = ty.bytes() as u8;
        let access = SurfaceAccess { place, store, bounds, size, regs };
        self.emit(f, Op::Surface(Box::new(access)));
        Some(())
    }
}
