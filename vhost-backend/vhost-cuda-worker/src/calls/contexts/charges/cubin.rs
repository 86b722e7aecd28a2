//! Computes the device memory that a cubin takes when it is loaded.
//!
//! The file comes from a guest, which can write any name, type or flag into it. The driver's rules
//! for what it loads aren't documented. Therefore, a section counts if its type, its flags, its
//! name or a symbol in it suggests that the driver might give it memory, and the worker refuses a
//! file that isn't well-formed.

mod local;
mod section;
#[cfg(test)]
pub(super) mod tests;

use std::collections::HashSet;

use memchr::memmem;
use object::elf::{EM_CUDA, PT_LOAD, SHT_SYMTAB, Sym64};
use object::endian::LittleEndian;
use object::read::SectionIndex;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym, SymbolTable};

use self::local::add_locals;
pub(super) use self::section::Damaged;
use self::section::{Header, LE, Memory, Section, Sections};
use super::taken::{Footprint, MAX_KERNELS, name_hash};

/// The maximum number of sections in a cubin, which limits the memory that parsing takes.
const MAX_SECTIONS: usize = 1 << 20;

/// Part of an entry in the string table of each cubin whose kernels call printf.
const VPRINTF: &[u8] = b"vprintf";
/// Parts of the names of the driver's functions with which kernels launch other kernels, and of the
/// functions in `libcudadevrt` that call them.
pub(super) const LAUNCHES: [&[u8]; 3] = [b"__cuda_syscall_cnp", b"__cudaCDP", b"cudaLaunchDevice"];

/// Computes the device memory that a cubin takes.
///
/// # Errors
///
/// Fails unless the file's headers, sections and symbols are well-formed and within the file.
pub(super) fn footprint(bytes: &[u8]) -> Result<Footprint, Damaged> {
    let header = Header::parse(bytes).map_err(|_| Damaged("it has no header of a 64-bit ELF"))?;
    if header.e_machine.get(LE) != EM_CUDA {
        return Err(Damaged("it is for a machine other than CUDA"));
    }
    let table = header.sections(LE, bytes).map_err(|_| Damaged("its table of sections"))?;
    if table.len() > MAX_SECTIONS {
        return Err(Damaged("it has too many sections"));
    }
    let mut sections = table
        .iter()
        .map(|header| Section::new(header, &table, bytes))
        .collect::<Result<Vec<_>, _>>()?;
    let mut found = Footprint::default();
    for (index, section) in table.enumerate() {
        if section.sh_type(LE) == SHT_SYMTAB {
            add_symbols(&mut found, &mut sections, &table, index, bytes)?;
        }
    }
    let functions: HashSet<&[u8]> =
        sections.iter().filter(|section| section.size > 0).filter_map(Section::function).collect();
    // A function is a kernel if the cubin has a section for parameters with the function's name.
    // Functions that aren't kernels don't have such a section.
    let kernels: HashSet<&[u8]> = sections.iter().filter_map(Section::kernel).collect();
    let known = add_sections(&mut found, &sections, &functions, &kernels)?;
    let both: HashSet<&[u8]> = kernels.intersection(&functions).copied().collect();
    add_locals(&mut found, (header, bytes), &table, &sections, &both)?;
    let mapped = mapped(header, bytes)?;
    found.data = found.data.saturating_add(mapped.saturating_sub(known));
    found.may_print = memmem::find(bytes, VPRINTF).is_some();
    found.may_launch = LAUNCHES.iter().any(|part| memmem::find(bytes, part).is_some());
    Ok(found)
}

/// Reads a symbol table. Checks that symbols are within their sections, adds the variables that
/// have no section to `found`, and finds out whether kernels may call malloc. The check matters
/// because the session's calls may use the addresses and lengths that the driver returns for
/// variables, so variables must lie within their sections.
fn add_symbols(
    found: &mut Footprint,
    sections: &mut [Section<'_>],
    table: &Sections<'_>,
    index: SectionIndex,
    bytes: &[u8],
) -> Result<(), Damaged> {
    const DAMAGED: Damaged = Damaged("a table of symbols");
    let header = table.section(index).map_err(|_| DAMAGED)?;
    if header.sh_entsize(LE) != size_of::<Sym64<LittleEndian>>() as u64 {
        return Err(DAMAGED);
    }
    let symbols =
        SymbolTable::<Header>::parse(LE, bytes, table, index, header).map_err(|_| DAMAGED)?;
    for (index, symbol) in symbols.enumerate() {
        let name = symbols.symbol_name(LE, symbol).map_err(|_| DAMAGED)?;
        found.uses_heap |= name == b"malloc";
        let end = symbol.st_value(LE).checked_add(symbol.st_size(LE)).ok_or(DAMAGED)?;
        match symbols.symbol_section(LE, symbol, index).map_err(|_| DAMAGED)? {
            Some(index) => sections.get_mut(index.0).ok_or(DAMAGED)?.extend_to(end)?,
            // An undefined symbol is a function of the driver, because linking a cubin leaves only
            // those undefined.
            None if symbol.is_undefined(LE) => found.uses_heap |= allocates(name),
            // A common symbol is a variable without a section. The driver chooses where to put it.
            None if symbol.is_common(LE) => {
                found.data = found.data.saturating_add(symbol.st_size(LE));
            }
            // An absolute symbol with the value 0 is the name of a source file.
            None if end == 0 => {}
            // The driver might return an absolute symbol's value, which the guest has chosen, as a
            // variable's address.
            None => return Err(Damaged("a symbol with an absolute address")),
        }
    }
    Ok(())
}

/// Returns whether a CUDA function with this name allocates from the heap, such as `malloc` or
/// `__nv_aligned_device_malloc`.
pub(super) fn allocates(name: &[u8]) -> bool {
    name.windows(6).any(|part| part.eq_ignore_ascii_case(b"malloc"))
}

/// Adds the memory of all sections to `found`. Returns the total size in bytes, which also includes
/// memory that the driver allocates per block or launch and that isn't added to `found`.
fn add_sections(
    found: &mut Footprint,
    sections: &[Section<'_>],
    functions: &HashSet<&[u8]>,
    kernels: &HashSet<&[u8]>,
) -> Result<u64, Damaged> {
    let one_by_one = kernels.len() <= MAX_KERNELS;
    let mut of_launches = HashSet::new();
    let mut total = 0u64;
    for section in sections {
        let memory = section.memory(functions);
        if memory == Memory::None {
            continue;
        }
        let taken = section.taken().ok_or(Damaged("a section is too large"))?;
        total = total.saturating_add(taken);
        match memory {
            // Only one section of a given name can describe memory that launches take. Further
            // sections with the same name count as data.
            Memory::OfLaunches if of_launches.insert(section.name) => {}
            Memory::Code(function) if one_by_one && kernels.contains(function) => {
                found.kernels.push((name_hash(function), taken));
            }
            Memory::Code(_) => found.code = found.code.saturating_add(taken),
            _ => found.data = found.data.saturating_add(taken),
        }
    }
    found.join_kernels();
    Ok(total)
}

/// Returns the number of bytes that the file's loadable segments take, without the table of
/// segments, which a segment contains, too.
fn mapped(header: &Header, bytes: &[u8]) -> Result<u64, Damaged> {
    const DAMAGED: Damaged = Damaged("its table of segments");
    let segments = header.program_headers(LE, bytes).map_err(|_| DAMAGED)?;
    let mut mapped = 0u64;
    for segment in segments {
        let (at, stored) = segment.file_range(LE);
        if at.checked_add(stored).is_none_or(|end| end > bytes.len() as u64) {
            return Err(DAMAGED);
        }
        if segment.p_type(LE) == PT_LOAD {
            mapped = mapped.checked_add(segment.p_memsz(LE)).ok_or(DAMAGED)?;
        }
    }
    Ok(mapped.saturating_sub(size_of_val(segments) as u64))
}
