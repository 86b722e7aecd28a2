//! Texture and surface instructions in a warp.

use super::object::{Image, Texture};
use super::sample::{Level, Point, Texel};
use crate::exec::access::{read_global, write_global};
use crate::exec::block_state::BlockState;
use crate::exec::lanes::f32_of;
use crate::exec::memory::Fault;
use crate::exec::warp::{Group, Warp};
use crate::ptx::image::{Detail, Fetch, Place, Property, Query, Sampling, SurfaceAccess};
use crate::ptx::ir::Slot;

/// Returns the indices of the set bits.
fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}

/// Returns the largest word size, in bytes, with which an access of `bytes` bytes can be split into
/// aligned words. The rows of an array are packed, so an access can have a smaller alignment than
/// its size.
fn word_size(address: u64, bytes: usize) -> u8 {
    1 << (address | bytes as u64).trailing_zeros().min(3)
}

/// Reads up to 16 bytes of global memory.
fn read(block: &mut BlockState<'_>, address: u64, bytes: usize) -> Result<[u8; 16], Fault> {
    if !block.allows(address, bytes as u64, false) {
        return Err(Fault::IllegalAddress);
    }
    let size = word_size(address, bytes);
    let mut all = [0; 16];
    for (index, part) in all[..bytes].chunks_exact_mut(size.into()).enumerate() {
        let skip = index as u64 * u64::from(size);
        // SAFETY: the code above checked that the access is allowed, and the words are aligned.
        let word = unsafe { read_global(address + skip, size) };
        part.copy_from_slice(&word.to_le_bytes()[..size.into()]);
    }
    Ok(all)
}

/// Writes up to 16 bytes of global memory.
fn write(block: &mut BlockState<'_>, address: u64, bytes: &[u8]) -> Result<(), Fault> {
    if !block.allows(address, bytes.len() as u64, true) {
        return Err(Fault::IllegalAddress);
    }
    let size = word_size(address, bytes.len());
    for (index, part) in bytes.chunks_exact(size.into()).enumerate() {
        let skip = index as u64 * u64::from(size);
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        // SAFETY: the code above checked that the access is allowed, and the words are aligned.
        unsafe { write_global(address + skip, size, u64::from_le_bytes(word)) };
    }
    Ok(())
}

impl Warp {
    fn lane(&self, group: &Group, slot: Slot, lane: usize) -> u64 {
        self.regs[group.base + slot as usize][lane]
    }

    fn layer(&self, group: &Group, place: &Place, lane: usize) -> u32 {
        place.layer.map_or(0, |slot| self.lane(group, slot, lane) as u32)
    }

    /// Reads up to three registers with integers.
    fn integers(&self, group: &Group, slots: &[Slot], lane: usize) -> [i32; 3] {
        let mut values = [0; 3];
        for (value, slot) in values.iter_mut().zip(slots) {
            *value = self.lane(group, *slot, lane) as i32;
        }
        values
    }

    /// Reads up to three registers with floating-point numbers.
    fn floats(&self, group: &Group, slots: &[Slot], lane: usize) -> [f32; 3] {
        let mut values = [0.0; 3];
        for (value, slot) in values.iter_mut().zip(slots) {
            *value = f32_of(self.lane(group, *slot, lane));
        }
        values
    }

    pub(crate) fn fetch(
        &mut self,
        block: &mut BlockState<'_>,
        group: &Group,
        fetch: &Fetch,
        mask: u32,
    ) -> Result<(), Fault> {
        for lane in lanes(mask) {
            let texture = block.texture(self.lane(group, fetch.place.object, lane))?;
            let texel = self.fetch_lane(block, group, fetch, &texture, lane)?;
            for (slot, component) in fetch.d.iter().zip(texel) {
                if let Some(slot) = slot {
                    self.regs[group.base + *slot as usize][lane] = component.into();
                }
            }
        }
        Ok(())
    }

    fn fetch_lane(
        &self,
        block: &mut BlockState<'_>,
        group: &Group,
        fetch: &Fetch,
        texture: &Texture,
        lane: usize,
    ) -> Result<Texel, Fault> {
        let texels = &mut |image: &Image, at| {
            let bytes = read(block, image.texel(at), image.format.bytes())?;
            Ok(image.format.decode(&bytes, texture.conversion))
        };
        let place = &fetch.place;
        let (geometry, layer) = (place.geometry, self.layer(group, place, lane));
        let point = || Point { geometry, layer, at: self.floats(group, &place.at, lane) };
        match fetch.sampling {
            Sampling::Texel => {
                let level = match &fetch.detail {
                    Detail::Level(slot) => self.lane(group, *slot, lane) as i32,
                    _ => 0,
                };
                let at = self.integers(group, &place.at, lane);
                texture.texel(geometry, layer, at, level, texels)
            }
            Sampling::Filtered => {
                let level = match &fetch.detail {
                    Detail::Base => Level::First,
                    Detail::Level(slot) => Level::Number(f32_of(self.lane(group, *slot, lane))),
                    Detail::Gradient(x, y) => {
                        Level::Distance([x, y].map(|slots| self.floats(group, slots, lane)))
                    }
                };
                texture.sample(&point(), level, texels)
            }
            Sampling::Gather(component) => texture.gather(&point(), component, texels),
        }
    }

    pub(crate) fn surface(
        &mut self,
        block: &mut BlockState<'_>,
        group: &Group,
        access: &SurfaceAccess,
        mask: u32,
    ) -> Result<(), Fault> {
        let SurfaceAccess { place, bounds, size, .. } = access;
        let size = usize::from(*size);
        let len = size * access.regs.len();
        for lane in lanes(mask) {
            let image = block.surface(self.lane(group, place.object, lane))?;
            let at = self.integers(group, &place.at, lane);
            let layer = self.layer(group, place, lane);
            let address = image.surface_address(place.geometry, layer, at, len as u64, *bounds)?;
            let mut bytes = [0; 16];
            let parts = bytes[..len].chunks_exact_mut(size).zip(&access.regs);
            if access.store {
                for (part, slot) in parts {
                    let value = slot.map_or(0, |slot| self.lane(group, slot, lane));
                    part.copy_from_slice(&value.to_le_bytes()[..size]);
                }
                if let Some(address) = address {
                    write(block, address, &bytes[..len])?;
                }
                continue;
            }
            if let Some(address) = address {
                bytes = read(block, address, len)?;
            }
            for (part, slot) in bytes[..len].chunks_exact(size).zip(&access.regs) {
                let Some(slot) = slot else { continue };
                let mut word = [0; 8];
                word[..size].copy_from_slice(part);
                self.regs[group.base + *slot as usize][lane] = u64::from_le_bytes(word);
            }
        }
        Ok(())
    }

    pub(crate) fn query(
        &mut self,
        block: &mut BlockState<'_>,
        group: &Group,
        query: &Query,
        mask: u32,
    ) -> Result<(), Fault> {
        for lane in lanes(mask) {
            let object = self.lane(group, query.object, lane);
            let level = query.level.map_or(0, |slot| self.lane(group, slot, lane) as u32);
            let (image, levels) = if query.surface {
                (*block.surface(object)?, 1)
            } else {
                let texture = block.texture(object)?;
                let last = texture.levels.len() - 1;
                (texture.levels[last.min(level as usize)], last as u32 + 1)
            };
            let value = match query.property {
                Property::Width => image.width,
                Property::Height => image.height,
                Property::Depth if image.layered => 1,
                Property::Depth => image.depth,
                Property::Layers if image.layered => image.depth,
                Property::Layers => 0,
                Property::Levels => levels,
            };
            self.regs[group.base + query.d as usize][lane] = value.into();
        }
        Ok(())
    }
}
