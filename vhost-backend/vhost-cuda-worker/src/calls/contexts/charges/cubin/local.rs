//! The local memory that a cubin declares for its functions.
//!
//! The driver reports a kernel's local memory according to one attribute of the file, and allocates
//! it according to another: on an H200, a kernel that reported 256 bytes took as much as a forged
//! FRAME_SIZE said. Therefore, every number from which the driver might compute the local memory
//! counts, and the largest number applies:
//!
//! | field | meaning | counts |
//! |---|---|---|
//! | FRAME_SIZE (0x11) | the frame of one function | yes |
//! | MIN_STACK_SIZE (0x12) | a kernel's frame with those of the functions that it calls | yes, unless unknown |
//! | MAX_STACK_SIZE (0x23) | the same in code that isn't linked | yes, unless unknown |
//! | CRS_STACK_SIZE (0x1e) | a stack for returns, of GPUs before compute capability 7.0 | in addition |
//! | SAM_REGION_STACK_SIZE (0x3b) | a stack of unknown purpose | yes |
//! | sections `.nv.local.NAME` | local memory without a stack | yes |
//! | `.nv.callgraph`, `.nv.prototype` | calls, along which a linker adds up frames | no: in linked code, the sums are in MIN_STACK_SIZE. In other code, the frames of all functions that aren't kernels are added to a kernel's here |
//! | REGCOUNT, MAXREG_COUNT | registers | no: they are in the GPU's register files |
//! | shared and constant memory | | no: they aren't local memory ([`super::section`]) |
//! | other attributes | offsets of instructions, parameters, features | no sizes of memory |
//!
//! Attributes are in `.nv.info`, `.nv.info.NAME`, and in copies of them that the driver uses when
//! it generates code for other GPUs of the same family (`.nv.merc.nv.info`). Attributes in a
//! section that names a kernel count for that kernel. Other attributes count for all kernels of the
//! cubin.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use object::elf::{ET_REL, SHT_SYMTAB, Sym64};
use object::endian::LittleEndian;
use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::read::{SectionIndex, StringTable};

use super::section::{Damaged, Header, LE, MERC_SYMTAB, Section, Sections};
use super::{Footprint, MAX_KERNELS};
use crate::calls::contexts::charges::account::DEFAULT_STACK;
use crate::calls::contexts::charges::taken::name_hash;

const MERC_NOTES: u32 = 0x7000_0083;
pub(super) const NOTES: u32 = 0x7000_0000;
/// Prefixes of the names of sections that contain a function's attributes. After the prefix, the
/// name has a dot and the name of the function.
const NOTES_OF: [&[u8]; 2] = [b".nv.info", b".nv.merc.nv.info"];
const LOCAL_OF: &[u8] = b".nv.local.";

const FRAME: u8 = 0x11;
const MIN_STACK: u8 = 0x12;
const CALL_STACK: u8 = 0x1e;
const MAX_STACK: u8 = 0x23;
const REGION_STACK: u8 = 0x3b;
/// The value of an attribute whose number the compiler can't determine, because functions are
/// recursive or are called by address. At run time, the stack limit applies instead.
const UNKNOWN: u64 = u32::MAX as u64;

const DAMAGED: Damaged = Damaged("its attributes");

/// An attribute that gives a size: the attribute's number, the index of its function's symbol, if
/// it names one, and the size in bytes.
type Size = (u8, Option<usize>, u64);

/// Reads the attributes in a section. Returns those that give a size of local memory.
fn sizes(mut data: &[u8]) -> Result<Vec<Size>, Damaged> {
    let mut found = Vec::new();
    while let [format, attribute, low, high, rest @ ..] = data {
        let value = u16::from_le_bytes([*low, *high]);
        let (symbol, bytes, rest) = match format {
            1 => (None, None, rest),
            2 => (None, Some(u64::from(*low)), rest),
            3 => (None, Some(u64::from(value)), rest),
            4 => {
                let (value, rest) = rest.split_at_checked(value.into()).ok_or(DAMAGED)?;
                let word = |at: usize| {
                    let word = value.get(at..)?.first_chunk()?;
                    Some(u32::from_le_bytes(*word))
                };
                match value.len() {
                    4 => (None, word(0).map(u64::from), rest),
                    8 => (word(0).map(|symbol| symbol as usize), word(4).map(u64::from), rest),
                    _ => (None, None, rest),
                }
            }
            _ => return Err(DAMAGED),
        };
        if [FRAME, MIN_STACK, CALL_STACK, MAX_STACK, REGION_STACK].contains(attribute) {
            found.push((*attribute, symbol, bytes.ok_or(DAMAGED)?));
        }
        data = rest;
    }
    if data.is_empty() { Ok(found) } else { Err(DAMAGED) }
}

/// The symbol table of some type. A file may contain only one table of that type.
struct Symbols<'a> {
    list: &'a [Sym64<LittleEndian>],
    names: StringTable<'a>,
}

impl<'a> Symbols<'a> {
    fn find(table: &Sections<'a>, bytes: &'a [u8], kind: u32) -> Result<Option<Self>, Damaged> {
        const DAMAGED: Damaged = Damaged("a table of symbols");
        let mut tables = table.enumerate().filter(|(_, header)| header.sh_type(LE) == kind);
        let Some((_, header)) = tables.next() else { return Ok(None) };
        // With two tables of the same type, the driver could look up the attributes' symbols in
        // either one, so the worker refuses the file.
        if tables.next().is_some() {
            return Err(Damaged("it has several tables of symbols"));
        }
        let list = header.data_as_array(LE, bytes).map_err(|_| DAMAGED)?;
        let strings = SectionIndex(header.sh_link(LE) as usize);
        let names = table.strings(LE, bytes, strings).map_err(|_| DAMAGED)?;
        Ok(Some(Self { list, names }))
    }

    /// Returns a symbol's name, and the name of the function with code in its section.
    fn named(
        &self,
        symbol: &Sym64<LittleEndian>,
        sections: &[Section<'a>],
    ) -> Result<(&'a [u8], Option<&'a [u8]>), Damaged> {
        let name = symbol.name(LE, self.names).map_err(|_| DAMAGED)?;
        let section = sections.get(usize::from(symbol.st_shndx(LE)));
        Ok((name, section.and_then(Section::function)))
    }
}

/// The local memory that a cubin declares.
struct Locals<'a> {
    kernels: &'a HashSet<&'a [u8]>,
    /// Whether the cubin hasn't been linked. If so, the frame of a kernel doesn't include the
    /// frames of the functions that it calls.
    is_relocatable: bool,
    /// Bytes of local memory per thread for each function, by its name.
    named: HashMap<&'a [u8], u64>,
    /// Bytes of local memory per thread that count for all kernels.
    all: u64,
    /// The largest stack for return addresses, in bytes per thread.
    call_stack: u64,
}

impl<'a> Locals<'a> {
    fn add(&mut self, attribute: u8, names: &[Option<&'a [u8]>], of: Option<&[u8]>, bytes: u64) {
        if [MIN_STACK, MAX_STACK, CALL_STACK].contains(&attribute) && bytes == UNKNOWN {
            return;
        }
        if attribute == CALL_STACK {
            self.call_stack = self.call_stack.max(bytes);
            return;
        }
        let is_kernel = of.is_some_and(|of| self.kernels.contains(of));
        if self.is_relocatable && !is_kernel {
            self.all = self.all.saturating_add(bytes);
        } else if self.is_relocatable || bytes > DEFAULT_STACK {
            for name in names.iter().flatten() {
                self.add_named(name, bytes);
            }
            if !is_kernel {
                self.all = self.all.max(bytes);
            }
        }
    }

    fn add_named(&mut self, name: &'a [u8], bytes: u64) {
        if self.named.len() < MAX_KERNELS || self.named.contains_key(name) {
            let of = self.named.entry(name).or_default();
            *of = bytes.max(*of);
        } else {
            self.all = self.all.max(bytes);
        }
    }

    /// Counts the attributes in a section. `own` is the function that the section's name contains.
    fn add_notes(
        &mut self,
        data: &[u8],
        own: [Option<&'a [u8]>; 2],
        sections: &[Section<'a>],
        symbols: Option<&Symbols<'a>>,
    ) -> Result<(), Damaged> {
        for (attribute, symbol, bytes) in sizes(data)? {
            let (name, section) = match symbol {
                Some(index) => {
                    let symbols = symbols.ok_or(DAMAGED)?;
                    let symbol = symbols.list.get(index).ok_or(DAMAGED)?;
                    let (name, section) = symbols.named(symbol, sections)?;
                    (Some(name), section)
                }
                None => (None, own[0].filter(|_| own[0] == own[1])),
            };
            self.add(attribute, &[name, section, own[0], own[1]], section, bytes);
        }
        Ok(())
    }

    /// Counts the local memory of each function for all other names of the function's code, too.
    fn add_aliases(
        &mut self,
        symbols: &Symbols<'a>,
        sections: &[Section<'a>],
    ) -> Result<(), Damaged> {
        for symbol in symbols.list {
            let (name, section) = symbols.named(symbol, sections)?;
            if let Some(bytes) = section.and_then(|section| self.named.get(section)) {
                self.add_named(name, *bytes);
            }
        }
        Ok(())
    }
}

/// Finds the local memory that a cubin declares, and adds it to `found`.
pub(super) fn add_locals<'a>(
    found: &mut Footprint,
    (header, bytes): (&Header, &'a [u8]),
    table: &Sections<'a>,
    sections: &[Section<'a>],
    kernels: &HashSet<&[u8]>,
) -> Result<(), Damaged> {
    let mut locals = Locals {
        kernels,
        is_relocatable: header.e_type(LE) == ET_REL,
        named: HashMap::new(),
        all: 0,
        call_stack: 0,
    };
    let symbols = Symbols::find(table, bytes, SHT_SYMTAB)?;
    let of_merc = Symbols::find(table, bytes, MERC_SYMTAB)?;
    for ((_, header), section) in table.enumerate().zip(sections) {
        if let Some(name) = section.name.strip_prefix(LOCAL_OF) {
            locals.add(FRAME, &[Some(name)], Some(name), section.size);
        }
        let kind = header.sh_type(LE);
        let rest = NOTES_OF.iter().find_map(|prefix| section.name.strip_prefix(*prefix));
        if rest.is_none() && ![NOTES, MERC_NOTES].contains(&kind) {
            continue;
        }
        let at = header.sh_offset(LE);
        let end = at.checked_add(section.size).filter(|_| section.is_stored()).ok_or(DAMAGED)?;
        let data = bytes.get(at as usize..end as usize).ok_or(DAMAGED)?;
        let name = rest.and_then(|rest| rest.strip_prefix(b"."));
        let code = sections.get(header.sh_info(LE) as usize).and_then(Section::function);
        // Use the file's symbol table even if the section links to another section. Compilers write
        // such links, and the file has only one symbol table of each type.
        let symbols = if kind == MERC_NOTES { &of_merc } else { &symbols };
        locals.add_notes(data, [name, code], sections, symbols.as_ref())?;
    }
    if !locals.named.is_empty() {
        for symbols in [&symbols, &of_merc].into_iter().flatten() {
            locals.add_aliases(symbols, sections)?;
        }
    }
    let Locals { named, all, call_stack, is_relocatable, .. } = locals;
    let functions = if is_relocatable { all } else { 0 };
    let with_calls = |bytes: u64| match call_stack {
        0 => bytes,
        _ => bytes.max(DEFAULT_STACK).saturating_add(call_stack),
    };
    found.local = with_calls(all);
    let needs = named
        .iter()
        .map(|(name, bytes)| (name_hash(name), with_calls(bytes.saturating_add(functions))));
    found.locals = needs.filter(|(_, bytes)| *bytes > DEFAULT_STACK).collect();
    found.join_locals();
    Ok(())
}
