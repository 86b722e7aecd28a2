//! Links the declarations in one or more PTX texts into a module, and assigns offsets to its
//! variables.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use super::declaration::{self, MAX_VARIABLE};
use super::error::{PtxError, line_of};
use super::ir::{Builtin, code_address};
use super::runtime;
use super::scan::Scanner;
use super::unit::{self, Function, Linkage, SharedVariable, Unit, Variable};

/// Maximum static shared memory per module, in bytes.
pub const MAX_SHARED: u32 = 1 << 20;
/// Maximum number of symbols in a module.
const MAX_SYMBOLS: usize = 1 << 20;

/// The object that a name in a PTX text refers to. The numbers are indices into lists of
/// [`Source`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbol {
    /// A variable in global or constant memory.
    Variable(u32),
    /// A function with a body.
    Function(u32),
    /// A function that CUDA provides in device code.
    Builtin(Builtin),
    /// A symbol that another text must define. Only texts from [`alone`] can have such symbols.
    Undefined,
}

/// The position of a variable or function: the index of its text, and its index in that text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    unit: u32,
    index: u32,
}

/// The addresses at which a module's variables begin.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bases {
    /// The address at which variables in global and constant memory begin.
    pub device: u64,
    /// The address at which variables in managed memory begin.
    pub managed: u64,
}

/// A part of a variable that must contain the address of a symbol.
#[derive(Debug, Clone, Copy)]
pub struct Word {
    /// The address of this part of the variable.
    pub at: u64,
    /// The size of this part in bytes.
    pub size: usize,
    /// The value to store there: the symbol's address.
    pub value: u64,
    /// Whether the variable is in managed memory.
    pub managed: bool,
}

impl Word {
    /// Stores the value.
    ///
    /// # Safety
    ///
    /// `at` must be valid for writing `size` bytes.
    pub unsafe fn store(&self) {
        let bytes = self.value.to_le_bytes();
        let len = self.size.min(bytes.len());
        // SAFETY: the caller guarantees that `at` is valid for writing `size` bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at as *mut u8, len) };
    }
}

/// The offset of a variable in the module's device memory, or in its managed memory if `managed` is
/// set.
#[derive(Debug, Clone, Copy)]
struct Offset {
    managed: bool,
    bytes: usize,
}

impl Bases {
    fn address(self, offset: Offset) -> u64 {
        let base = if offset.managed { self.managed } else { self.device };
        base.wrapping_add(offset.bytes as u64)
    }
}

/// A module, which is linked from one or more PTX texts.
#[derive(Debug)]
pub struct Source {
    pub units: Vec<Unit>,
    /// The variables, with their offsets in the module's memory.
    variables: Vec<(Place, Offset)>,
    /// Total size of the variables in global and constant memory, in bytes.
    pub size: usize,
    /// Total size of the variables in managed memory, in bytes.
    pub managed_size: usize,
    functions: Vec<Place>,
    /// The symbols that each text can refer to, by name.
    scopes: Vec<HashMap<String, Symbol>>,
    /// Offsets of module-level shared variables that device functions use, by the index of the text
    /// and the variable's name. Kernels don't count as device functions.
    common_shared: HashMap<(u32, String), u32>,
    /// Offsets of shared variables that are declared in the bodies of device functions, by the
    /// index of the text and the position of the variable's name. Kernels don't count as device
    /// functions.
    inner_shared: HashMap<(u32, usize), u32>,
    /// End of the shared variables that device functions use or declare, in bytes. Each kernel's
    /// own shared variables follow.
    pub common_end: u32,
    /// The newest PTX version among the texts, as major * 10 + minor.
    pub ptx_version: i32,
    /// The newest target among the texts, as the number in `sm_NN`.
    pub target: i32,
    /// For an image with machine code, the bytes of local memory that it specifies for its
    /// functions, by name.
    pub frames: HashMap<String, u64>,
}

/// Parses one PTX text.
pub fn parse(text: &str) -> Result<Source, PtxError> {
    link(vec![unit::parse(text.trim_end_matches('\0').to_owned())?])
}

/// Links PTX texts into a module.
pub fn link(units: Vec<Unit>) -> Result<Source, PtxError> {
    link_with(units, false)
}

/// Prepares one PTX text for a check of its code, without the texts with which it will be linked.
/// Symbols that those texts must define stay undefined, so the code can't run.
pub fn alone(unit: Unit) -> Result<Source, PtxError> {
    link_with(vec![unit], true)
}

fn link_with(mut units: Vec<Unit>, partial: bool) -> Result<Source, PtxError> {
    units.extend(runtime::needed(&units)?);
    let mut source = Source {
        variables: Vec::new(),
        size: 0,
        managed_size: 0,
        functions: Vec::new(),
        scopes: vec![HashMap::new(); units.len()],
        common_shared: HashMap::new(),
        inner_shared: HashMap::new(),
        common_end: 0,
        ptx_version: units.iter().map(|u| u.ptx_version).max().unwrap_or(0),
        target: units.iter().map(|u| u.target).max().unwrap_or(0),
        frames: HashMap::new(),
        units,
    };
    let symbols: usize =
        source.units.iter().map(|u| u.functions.len() + u.variables.len() + u.aliases.len()).sum();
    if symbols > MAX_SYMBOLS {
        return Err(PtxError::Invalid { line: 0, what: "too many symbols".into() });
    }
    source.resolve(partial)?;
    source.place_variables()?;
    source.place_shared()?;
    Ok(source)
}

fn builtin(name: &str) -> Option<Builtin> {
    Some(match name {
        "vprintf" => Builtin::Vprintf,
        "__assertfail" => Builtin::Assertfail,
        "malloc" => Builtin::Malloc,
        "free" => Builtin::Free,
        _ => return None,
    })
}

/// Definitions by name. Each has the visibility that decides which one takes precedence.
type Definitions<'a> = HashMap<&'a str, (Linkage, Symbol)>;

/// Adds a definition, unless an earlier definition of the name takes precedence. Fails if both are
/// visible.
fn define<'a>(
    definitions: &mut Definitions<'a>,
    name: &'a str,
    linkage: Linkage,
    symbol: Symbol,
) -> Result<(), PtxError> {
    match definitions.entry(name) {
        Entry::Vacant(entry) => drop(entry.insert((linkage, symbol))),
        Entry::Occupied(mut entry) => match (entry.get().0, linkage) {
            (Linkage::Visible, Linkage::Visible) => return Err(PtxError::Duplicate(name.into())),
            (before, linkage) if before >= linkage => {}
            _ => drop(entry.insert((linkage, symbol))),
        },
    }
    Ok(())
}

impl Source {
    fn unit(&self, place: Place) -> &Unit {
        &self.units[place.unit as usize]
    }

    /// Returns the number of functions with a body. A function's index is below this number.
    pub fn function_count(&self) -> u32 {
        self.functions.len() as u32
    }

    /// Returns the declaration of the function with an index, and the index of its text.
    pub fn function(&self, index: u32) -> Option<(&Function, u32)> {
        let place = *self.functions.get(index as usize)?;
        Some((&self.unit(place).functions[place.index as usize], place.unit))
    }

    /// Returns the variables and their addresses.
    pub fn variables(&self, bases: Bases) -> impl Iterator<Item = (&Variable, u64)> {
        let of = move |(place, offset): &(Place, Offset)| {
            (&self.unit(*place).variables[place.index as usize], bases.address(*offset))
        };
        self.variables.iter().map(of)
    }

    /// Returns the variables that the driver can find by name, with their names and addresses.
    pub fn named_variables(&self, bases: Bases) -> impl Iterator<Item = (&str, u64, &Variable)> {
        self.scopes.iter().flatten().filter_map(move |(name, symbol)| {
            let Symbol::Variable(index) = symbol else { return None };
            let (place, offset) = self.variables.get(*index as usize)?;
            let variable = &self.unit(*place).variables[place.index as usize];
            Some((name.as_str(), bases.address(*offset), variable))
        })
    }

    /// Returns the names and function indices of all kernels, in the order of the texts.
    pub fn kernels(&self) -> impl Iterator<Item = (&str, u32)> {
        let functions = (0..self.function_count()).filter_map(|i| Some((self.function(i)?.0, i)));
        functions.filter(|(f, _)| f.entry).map(|(f, index)| (f.name.as_str(), index))
    }

    /// Returns the function index of the kernel with this name.
    pub fn kernel(&self, name: &str) -> Option<u32> {
        let found = self.scopes.iter().find_map(|scope| match scope.get(name) {
            Some(Symbol::Function(index)) => Some(*index),
            _ => None,
        });
        found.filter(|index| self.function(*index).is_some_and(|(f, _)| f.entry))
    }

    /// Returns whether the module's code uses device-side `malloc`.
    pub fn allocates(&self) -> bool {
        self.scopes.iter().any(|s| s.get("malloc") == Some(&Symbol::Builtin(Builtin::Malloc)))
    }

    /// Returns the total length of the texts, in bytes.
    pub fn text_len(&self) -> u64 {
        self.units.iter().map(|unit| unit.text.len() as u64).sum()
    }

    /// Returns the object that a name in a text refers to.
    pub fn symbol(&self, unit: u32, name: &str) -> Option<Symbol> {
        self.scopes.get(unit as usize)?.get(name).copied()
    }

    /// Returns a symbol's address.
    pub fn address(&self, symbol: Symbol, bases: Bases) -> Option<u64> {
        match symbol {
            Symbol::Variable(index) => {
                let (_, offset) = self.variables.get(index as usize)?;
                Some(bases.address(*offset))
            }
            Symbol::Function(index) => Some(code_address(index)),
            Symbol::Builtin(_) => None,
            Symbol::Undefined => Some(0),
        }
    }

    /// Returns the parts of the module's variables that must contain addresses.
    pub fn words(&self, bases: Bases) -> impl Iterator<Item = Word> {
        self.variables.iter().flat_map(move |(place, start)| {
            let variable = &self.unit(*place).variables[place.index as usize];
            variable.relocations.iter().filter_map(move |r| {
                let symbol = self.symbol(place.unit, &r.symbol)?;
                let value = self.address(symbol, bases)?.wrapping_add(r.add as u64) >> r.shift;
                let at = bases.address(*start).wrapping_add(r.offset as u64);
                Some(Word { at, size: r.size, value, managed: variable.managed })
            })
        })
    }

    /// Returns the offset of a module-level shared variable that device functions use, which is the
    /// same in all kernels.
    pub fn common_shared(&self, unit: u32, name: &str) -> Option<u32> {
        if self.common_shared.is_empty() {
            return None;
        }
        self.common_shared.get(&(unit, name.to_owned())).copied()
    }

    /// Returns the offset of a shared variable that is declared in a device function's body, given
    /// the position of its name.
    pub fn inner_shared(&self, unit: u32, at: usize) -> Option<u32> {
        self.inner_shared.get(&(unit, at)).copied()
    }

    /// Determines what every name refers to. If `partial` is set, undefined symbols aren't an
    /// error.
    fn resolve(&mut self, partial: bool) -> Result<(), PtxError> {
        let (mut variables, mut functions) = (Vec::new(), Vec::new());
        let mut global = Definitions::new();
        let mut locals: Vec<Definitions<'_>> = Vec::new();
        for (number, unit) in self.units.iter().enumerate() {
            let number = number as u32;
            let mut local = Definitions::new();
            // If a symbol is declared and defined, either of the two may specify its visibility, so
            // determine the strongest.
            let mut linkages: HashMap<&str, Linkage> = HashMap::new();
            for function in &unit.functions {
                let linkage = linkages.entry(&function.name).or_insert(Linkage::Extern);
                *linkage = (*linkage).max(function.linkage);
            }
            for (index, variable) in unit.variables.iter().enumerate() {
                if variable.linkage == Linkage::Extern {
                    continue;
                }
                let symbol = Symbol::Variable(variables.len() as u32);
                variables.push(Place { unit: number, index: index as u32 });
                let name = variable.name.as_str();
                if local.insert(name, (variable.linkage, symbol)).is_some() {
                    return Err(PtxError::Duplicate(name.into()));
                }
            }
            for (index, function) in unit.functions.iter().enumerate() {
                if function.body.is_none() {
                    continue;
                }
                let symbol = Symbol::Function(functions.len() as u32);
                functions.push(Place { unit: number, index: index as u32 });
                let name = function.name.as_str();
                let linkage = match linkages[name] {
                    // The driver finds a kernel by its name even if the kernel isn't `.visible`.
                    Linkage::Local | Linkage::Extern if function.entry => Linkage::Visible,
                    Linkage::Extern => Linkage::Visible,
                    linkage => linkage,
                };
                if local.insert(name, (linkage, symbol)).is_some() {
                    return Err(PtxError::Duplicate(name.into()));
                }
            }
            for (alias, target) in &unit.aliases {
                let Some((_, symbol)) = local.get(target.as_str()).copied() else {
                    return Err(PtxError::Unresolved(target.clone()));
                };
                let linkage = linkages.get(alias.as_str()).copied().unwrap_or(Linkage::Local);
                local.insert(alias, (linkage, symbol));
            }
            for (name, (linkage, symbol)) in &local {
                if *linkage > Linkage::Local {
                    define(&mut global, name, *linkage, *symbol)?;
                }
            }
            locals.push(local);
        }
        let mut scopes = Vec::new();
        for (number, (unit, local)) in (0u32..).zip(self.units.iter().zip(&locals)) {
            let mut scope = HashMap::new();
            for (name, (linkage, symbol)) in local {
                let winner = match linkage {
                    Linkage::Local => *symbol,
                    _ => global.get(name).map_or(*symbol, |(_, winner)| *winner),
                };
                scope.insert((*name).to_owned(), winner);
            }
            for variable in unit.variables.iter().filter(|v| v.linkage == Linkage::Extern) {
                if !scope.contains_key(&variable.name) {
                    let symbol = match global.get(variable.name.as_str()) {
                        Some((_, symbol)) => *symbol,
                        None if partial => Symbol::Undefined,
                        None => {
                            let symbol = variable.name.clone();
                            return Err(PtxError::Undefined { symbol, unit: number });
                        }
                    };
                    scope.insert(variable.name.clone(), symbol);
                }
            }
            for function in unit.functions.iter().filter(|f| f.body.is_none()) {
                if !scope.contains_key(&function.name) {
                    let name = function.name.as_str();
                    let found = global.get(name).map(|(_, symbol)| *symbol);
                    let found = found.or(builtin(name).map(Symbol::Builtin));
                    if let Some(symbol) = found.or(partial.then_some(Symbol::Undefined)) {
                        scope.insert(name.to_owned(), symbol);
                    }
                }
            }
            scopes.push(scope);
        }
        for (place, scope) in variables.iter().map(|p: &Place| (p, &scopes[p.unit as usize])) {
            let variable = &self.units[place.unit as usize].variables[place.index as usize];
            if let Some(missing) =
                variable.relocations.iter().find(|r| !scope.contains_key(&r.symbol))
            {
                return Err(PtxError::Unresolved(missing.symbol.clone()));
            }
        }
        self.scopes = scopes;
        self.functions = functions;
        let nowhere = Offset { managed: false, bytes: 0 };
        self.variables = variables.into_iter().map(|place| (place, nowhere)).collect();
        Ok(())
    }

    fn place_variables(&mut self) -> Result<(), PtxError> {
        // Several texts may declare a common variable, with different sizes. It gets the largest of
        // them.
        let mut common: HashMap<&str, usize> = HashMap::new();
        for variable in self.units.iter().flat_map(|u| &u.variables) {
            if variable.linkage == Linkage::Common {
                let size = common.entry(&variable.name).or_default();
                *size = variable.size.max(*size);
            }
        }
        let (mut device_end, mut managed_end) = (0usize, 0usize);
        let mut offsets = Vec::new();
        for (place, _) in &self.variables {
            let variable = &self.unit(*place).variables[place.index as usize];
            let end = if variable.managed { &mut managed_end } else { &mut device_end };
            let bytes = end.next_multiple_of(variable.align.max(8));
            let size = match variable.linkage {
                Linkage::Common => common[variable.name.as_str()],
                _ => variable.size,
            };
            offsets.push(Offset { managed: variable.managed, bytes });
            *end = bytes + size;
            if *end as u64 > MAX_VARIABLE {
                let what = "the variables are too large".into();
                return Err(PtxError::Invalid { line: 0, what });
            }
        }
        for ((_, at), offset) in self.variables.iter_mut().zip(offsets) {
            *at = offset;
        }
        (self.size, self.managed_size) = (device_end, managed_end);
        Ok(())
    }

    /// Assigns offsets to the shared variables that device functions use or declare. Kernels don't
    /// count as device functions. These variables have the same offset in all kernels, because
    /// several kernels may call the same function. All other shared variables are used by a single
    /// kernel, which assigns their offsets when it's lowered.
    fn place_shared(&mut self) -> Result<(), PtxError> {
        for (number, unit) in self.units.iter().enumerate() {
            let number = number as u32;
            let mut used = BTreeSet::new();
            for function in unit.functions.iter().filter(|f| !f.entry) {
                let Some(body) = function.body.clone() else { continue };
                let Some(text) = unit.text.get(body.clone()) else { continue };
                for word in words(text).filter(|_| !unit.shared.is_empty()) {
                    if let Some((name, variable)) = unit.shared.get_key_value(word) {
                        used.insert((name, *variable));
                    }
                }
                for (at, variable) in declared_shared(unit, body) {
                    let offset = place(&mut self.common_end, variable)
                        .ok_or_else(|| too_much_shared(&unit.text, at))?;
                    self.inner_shared.insert((number, at), offset);
                }
            }
            for (name, variable) in used.into_iter().filter(|(_, v)| !v.dynamic) {
                let offset = place(&mut self.common_end, variable)
                    .ok_or_else(|| too_much_shared(&unit.text, 0))?;
                self.common_shared.insert((number, name.clone()), offset);
            }
        }
        Ok(())
    }
}

fn too_much_shared(text: &str, at: usize) -> PtxError {
    PtxError::Unsupported { line: line_of(text, at), what: "shared variables of this size".into() }
}

/// Assigns an offset to a shared variable: the next aligned one after `end`. Advances `end` past
/// the variable.
pub fn place(end: &mut u32, variable: SharedVariable) -> Option<u32> {
    let offset = (*end as usize).next_multiple_of(variable.align);
    let after = offset.checked_add(variable.size).filter(|end| *end <= MAX_SHARED as usize)?;
    *end = after as u32;
    Some(offset as u32)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$')))
}

/// Returns the shared variables that are declared in a function's body, with the positions of their
/// names.
fn declared_shared(unit: &Unit, body: std::ops::Range<usize>) -> Vec<(usize, SharedVariable)> {
    let mut found = Vec::new();
    let text = &unit.text[body.clone()];
    for (at, keyword) in text.match_indices(".shared") {
        // A declaration starts with `.shared`. In an instruction, the opcode or another modifier
        // precedes it.
        let first = text[..at].bytes().next_back();
        if first.is_some_and(|b| !b.is_ascii_whitespace() && !matches!(b, b';' | b'{' | b'}')) {
            continue;
        }
        let mut scan = Scanner::new(&unit.text, body.start + at + keyword.len(), body.end);
        let Ok(kind) = declaration::kind(&mut scan, &unit.text) else { continue };
        while let Ok(declared) = declaration::name(&mut scan, &unit.text, kind) {
            let (size, align) = (declared.size().unwrap_or(0) as usize, declared.align() as usize);
            if declared.elements.is_some() {
                found.push((declared.at, SharedVariable { size, align, dynamic: false }));
            }
            if !scan.eat(b',') {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(texts: &[&str]) -> Vec<Unit> {
        let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
        texts.iter().map(|t| unit::parse(format!("{head}{t}")).unwrap()).collect()
    }

    #[test]
    fn test_links_visible_weak_and_local_symbols() {
        let source = link(units(&[
            ".extern .global .u32 shared_value;\n.extern .func f();\n.weak .func g() { ret; }\n\
             .func own() { ret; }\n.entry k() { ret; }",
            ".visible .global .u32 shared_value = 7;\n.visible .func f() { ret; }\n\
             .visible .func g() { ret; }\n.func own() { ret; }",
        ]))
        .unwrap();
        let at = |unit, name| source.symbol(unit, name).unwrap();
        assert_eq!(at(0, "shared_value"), at(1, "shared_value"));
        assert_eq!(at(0, "f"), at(1, "f"));
        assert_eq!(at(0, "g"), at(1, "g"), "the visible definition replaces the weak one");
        assert_ne!(at(0, "own"), at(1, "own"), "each text has its own");
        assert_eq!(source.kernels().map(|(name, _)| name).collect::<Vec<_>>(), ["k"]);
    }

    #[test]
    fn test_duplicate_and_missing_symbols() {
        let twice = [".visible .func f() { ret; }", ".visible .func f() { ret; }"];
        assert!(matches!(link(units(&twice)), Err(PtxError::Duplicate(name)) if name == "f"));
        let missing = [".extern .global .u32 x;", ".global .u32 x;"];
        assert!(
            matches!(link(units(&missing)), Err(PtxError::Undefined { symbol, unit: 0 }) if symbol == "x")
        );
        let address = [".global .u64 p = q;"];
        assert!(matches!(link(units(&address)), Err(PtxError::Unresolved(name)) if name == "q"));
    }

    #[test]
    fn test_common_variables_are_one() {
        let source = link(units(&[".common .global .b8 x[4];", ".common .global .b8 x[16];"]));
        let source = source.unwrap();
        assert_eq!(source.symbol(0, "x"), source.symbol(1, "x"));
        assert!(source.size >= 16);
    }
}
