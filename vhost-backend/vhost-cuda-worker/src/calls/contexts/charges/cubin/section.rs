//! The sections of a cubin, and the purpose of the memory that each takes.

use std::collections::HashSet;

use object::elf::{
    FileHeader64, SHF_ALLOC, SHF_EXECINSTR, SHT_NOBITS, SHT_NOTE, SHT_NULL, SHT_REL, SHT_RELA,
    SHT_STRTAB, SHT_SYMTAB, SHT_SYMTAB_SHNDX, SectionHeader64,
};
use object::endian::LittleEndian;
use object::read::elf::SectionHeader;

pub(super) const LE: LittleEndian = LittleEndian;
pub(super) type Header = FileHeader64<LittleEndian>;
pub(super) type Sections<'a> = object::read::elf::SectionTable<'a, Header>;

/// The error for a cubin that isn't well-formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the cubin is damaged: {0}")]
pub(in super::super) struct Damaged(pub(super) &'static str);

/// Section types that only CUDA defines, and whose contents aren't in the file. `CUDA_GLOBAL` is
/// for variables without initial values. The others occur in relocatable code, for local memory,
/// for shared memory, and for shared memory that the driver itself uses.
const CUDA_GLOBAL: u32 = 0x7000_0007;
const CUDA_LOCAL: u32 = 0x7000_0009;
const CUDA_SHARED: u32 = 0x7000_000a;
const CUDA_SHARED_OF_DRIVER: u32 = 0x7000_0015;
/// The types that a section of shared memory can have.
const SHARED_KINDS: [u32; 3] = [SHT_NOBITS, CUDA_SHARED, CUDA_SHARED_OF_DRIVER];

/// The type of the symbol table that belongs to code for other GPUs of a family, which the driver
/// generates from the file.
pub(super) const MERC_SYMTAB: u32 = 0x7000_0085;

/// Types of sections that describe the program to its loader: ELF's tables, and CUDA's tables of
/// attributes, calls, prototypes, relocations and required features.
const TABLES: [u32; 17] = [
    SHT_NULL,
    SHT_SYMTAB,
    SHT_STRTAB,
    SHT_RELA,
    SHT_NOTE,
    SHT_REL,
    SHT_SYMTAB_SHNDX,
    0x7000_0000,
    0x7000_0001,
    0x7000_0002,
    0x7000_0003,
    0x7000_0004,
    0x7000_000b,
    0x7000_0082,
    0x7000_0083,
    MERC_SYMTAB,
    0x7000_0086,
];

/// Prefixes of the names of sections that can take device memory when the cubin is loaded.
const LOADED: [&[u8]; 4] = [b".text", b".nv.global", b".nv.constant", b".nv.local"];
/// Prefixes of the names of sections that contain the code of a function: as instructions of the
/// GPU, and in the form from which the driver generates code for other GPUs of the same family.
const CODE: [&[u8]; 2] = [b".text.", b".nv.capmerc.text."];
/// The prefix of the names of sections for a kernel's parameters. The driver allocates their memory
/// per launch.
const PARAMETERS: &[u8] = b".nv.constant0.";
const SHARED: &[u8] = b".nv.shared.";
/// Prefixes of the names of all sections of shared memory.
const ALL_SHARED: [&[u8]; 2] = [b".nv.shared", b".nv_debug.shared"];
/// The prefix that follows `.nv.shared.` in the names of sections for shared memory that the driver
/// itself uses in every kernel.
const SHARED_OF_DRIVER: &[u8] = b"reserved.";

/// The size of a constant bank in bytes, which is an upper limit for a kernel's parameters.
const MAX_PARAMETERS: u64 = 64 << 10;
/// A number of bytes of shared memory that is larger than any GPU has for a block.
const MAX_SHARED: u64 = 256 << 10;
/// The driver aligns sections to at least this many bytes.
const ALIGNMENT: u64 = 128;

/// The purpose of a section's memory.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Memory<'a> {
    /// The section doesn't take device memory.
    None,
    /// The memory isn't device memory, or the driver allocates it per block or launch.
    OfLaunches,
    /// Code of the named function.
    Code(&'a [u8]),
    /// Memory for variables and constants, and for everything that can't be distinguished from
    /// them.
    Data,
}

/// A section of a cubin.
pub(super) struct Section<'a> {
    pub(super) name: &'a [u8],
    /// The section's size in bytes. If a symbol in the section ends after that, the symbol's end
    /// instead.
    pub(super) size: u64,
    kind: u32,
    flags: u64,
    alignment: u64,
    has_symbols: bool,
}

impl<'a> Section<'a> {
    /// Reads a section's header, and checks that the section is within the file.
    pub(super) fn new(
        header: &'a SectionHeader64<LittleEndian>,
        table: &Sections<'a>,
        bytes: &[u8],
    ) -> Result<Self, Damaged> {
        let name = table.section_name(LE, header).map_err(|_| Damaged("the name of a section"))?;
        let section = Self {
            name,
            size: header.sh_size(LE),
            kind: header.sh_type(LE),
            flags: header.sh_flags(LE),
            alignment: header.sh_addralign(LE).max(1),
            has_symbols: false,
        };
        let end = header.sh_offset(LE).checked_add(section.size);
        if section.is_stored() && end.is_none_or(|end| end > bytes.len() as u64) {
            return Err(Damaged("a section goes past the end of the file"));
        }
        if !section.alignment.is_power_of_two() {
            return Err(Damaged("the alignment of a section"));
        }
        Ok(section)
    }

    /// Returns whether the file contains the section's contents.
    pub(super) fn is_stored(&self) -> bool {
        !SHARED_KINDS.contains(&self.kind) && ![CUDA_GLOBAL, CUDA_LOCAL].contains(&self.kind)
    }

    /// Records that a symbol of the section ends at `end`, an offset in bytes. Fails if the symbol
    /// goes past the end of the section, unless the section is shared memory, which then becomes
    /// longer. NVIDIA's compiler generates such symbols for shared memory in relocatable code and
    /// in code for debugging.
    pub(super) fn extend_to(&mut self, end: u64) -> Result<(), Damaged> {
        if end > self.size && !self.is_shared() {
            return Err(Damaged("a symbol goes past the end of its section"));
        }
        self.has_symbols |= end > 0;
        self.size = self.size.max(end);
        Ok(())
    }

    fn is_shared(&self) -> bool {
        SHARED_KINDS.contains(&self.kind)
            && ALL_SHARED.iter().any(|prefix| self.name.starts_with(prefix))
    }

    /// Returns the number of bytes that the section can take, including padding for its alignment,
    /// or `None` if the number is too large.
    pub(super) fn taken(&self) -> Option<u64> {
        if self.size == 0 {
            return Some(0);
        }
        let size = self.size.checked_next_multiple_of(ALIGNMENT)?;
        size.checked_add(self.alignment.saturating_sub(ALIGNMENT))
    }

    /// Returns the name of the function whose code is in this section, if any.
    pub(super) fn function(&self) -> Option<&'a [u8]> {
        CODE.iter().find_map(|prefix| self.name.strip_prefix(*prefix))
    }

    /// Returns the name of the kernel whose parameters are in this section, if any.
    pub(super) fn kernel(&self) -> Option<&'a [u8]> {
        self.name.strip_prefix(PARAMETERS)
    }

    /// Returns the purpose of the section's memory. `functions` contains the names of all functions
    /// whose code is in the cubin.
    pub(super) fn memory(&self, functions: &HashSet<&[u8]>) -> Memory<'a> {
        let is_allocated = self.flags & u64::from(SHF_ALLOC) != 0;
        let is_loaded = is_allocated
            || self.has_symbols
            || LOADED.iter().any(|prefix| self.name.starts_with(prefix));
        if TABLES.contains(&self.kind) && !is_loaded {
            return Memory::None;
        }
        if self.is_of_launches(functions) {
            return Memory::OfLaunches;
        }
        match self.function() {
            Some(function) if self.is_stored() && self.is_code() => Memory::Code(function),
            _ => Memory::Data,
        }
    }

    fn is_code(&self) -> bool {
        self.flags & u64::from(SHF_EXECINSTR) != 0 || !self.name.starts_with(b".text")
    }

    fn is_of_launches(&self, functions: &HashSet<&[u8]>) -> bool {
        if let Some(kernel) = self.kernel() {
            return self.is_stored() && self.size <= MAX_PARAMETERS && functions.contains(kernel);
        }
        let Some(function) = self.name.strip_prefix(SHARED) else { return false };
        SHARED_KINDS.contains(&self.kind)
            && self.size <= MAX_SHARED
            && (functions.contains(function) || function.starts_with(SHARED_OF_DRIVER))
    }
}
