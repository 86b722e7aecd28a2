//! Computes the device memory that a cubin takes when it is loaded, from its section table.

use memchr::memmem;
use object::elf::{FileHeader64, SHF_ALLOC, SHF_EXECINSTR};
use object::endian::LittleEndian;
use object::read::elf::{FileHeader, SectionHeader};

use super::taken::{Footprint, name_hash};

/// If an image has more kernels than this, all their code is charged when the image is loaded.
/// Otherwise, each kernel's code is charged when the kernel is first used.
const MAX_KERNELS: usize = 1 << 16;

/// Prefixes of the names of sections that the driver allocates per block, thread or launch. The
/// others take device memory when the cubin is loaded.
const OF_LAUNCHES: [&[u8]; 3] = [b".nv.shared", b".nv.local", b".nv.constant0."];

/// An entry in the string table of each cubin whose kernels call malloc.
const MALLOC: &[u8] = b"\0malloc\0";
/// Part of an entry in the string table of each cubin whose kernels call printf.
const VPRINTF: &[u8] = b"vprintf";

/// Computes the device memory that a cubin takes. Returns `None` if its headers are damaged.
pub(super) fn footprint(bytes: &[u8]) -> Option<Footprint> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, bytes).ok()?;
    let mut found = Footprint::default();
    let (mut texts, mut kernels) = (Vec::new(), Vec::new());
    for section in sections.iter() {
        let flags = section.sh_flags(endian);
        let size = section.sh_size(endian).checked_next_multiple_of(128)?;
        let name = sections.section_name(endian, section).ok()?;
        // Every kernel has a section with this prefix, which contains its parameters. Nothing else
        // has one.
        if let Some(kernel) = name.strip_prefix(b".nv.constant0.") {
            kernels.push(name_hash(kernel));
        }
        if flags & u64::from(SHF_ALLOC) == 0 || OF_LAUNCHES.iter().any(|of| name.starts_with(of)) {
            continue;
        }
        if flags & u64::from(SHF_EXECINSTR) == 0 {
            found.data = found.data.saturating_add(size);
        } else {
            texts.push((name_hash(name.strip_prefix(b".text.").unwrap_or(name)), size));
        }
    }
    kernels.sort_unstable();
    let one_by_one = kernels.len() <= MAX_KERNELS;
    for (name, size) in texts {
        if one_by_one && kernels.binary_search(&name).is_ok() {
            found.kernels.push((name, size));
        } else {
            found.code = found.code.saturating_add(size);
        }
    }
    found.kernels.sort_unstable();
    found.uses_heap = memmem::find(bytes, MALLOC).is_some();
    found.may_print = memmem::find(bytes, VPRINTF).is_some();
    Some(found)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const ALLOC: u64 = SHF_ALLOC as u64;
    const CODE: u64 = ALLOC | SHF_EXECINSTR as u64;

    /// Builds a cubin for tests. Each section has a name, flags and a size, but no contents.
    pub fn cubin(sections: &[(&str, u64, u64)]) -> Vec<u8> {
        let mut names = b"\0.shstrtab\0".to_vec();
        let mut headers = vec![0u8; 64];
        let mut add = |name: usize, kind: u32, flags: u64, offset: u64, size: u64| {
            headers.extend((name as u32).to_le_bytes());
            headers.extend(kind.to_le_bytes());
            let (link, align) = (0u64, 1u64);
            for word in [flags, 0, offset, size, link, align, 0] {
                headers.extend(word.to_le_bytes());
            }
        };
        const NO_BITS: u32 = 8;
        for (name, flags, size) in sections {
            add(names.len(), NO_BITS, *flags, 0, *size);
            names.extend(name.bytes());
            names.push(0);
        }
        const STRINGS: u32 = 3;
        add(1, STRINGS, 0, 64, names.len() as u64);
        let count = sections.len() as u16 + 2;
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        // ELF header fields: type, machine (190 is CUDA), version, entry point, offsets of the
        // program headers and section headers, flags.
        file.extend([2, 0, 190, 0, 1, 0, 0, 0]);
        let table = 64 + names.len() as u64;
        for word in [0, 0, table] {
            file.extend(word.to_le_bytes());
        }
        file.extend(0u32.to_le_bytes());
        for half in [64, 56, 0, 64, count, count - 1] {
            file.extend(half.to_le_bytes());
        }
        [file, names, headers].concat()
    }

    #[test]
    fn variables_and_code_are_counted_but_not_launch_memory() {
        let found = footprint(&cubin(&[
            (".nv.global", ALLOC, 100 << 20),
            (".nv.global.init", ALLOC, 1000),
            (".nv.constant3", ALLOC, 256),
            (".nv.constant0.first", ALLOC, 600),
            (".nv.constant0.second", ALLOC, 600),
            (".nv.shared.first", ALLOC, 48 << 10),
            (".text.first", CODE, 6912),
            (".text.second", CODE, 256),
            (".text.called", CODE, 128),
            (".debug_frame", 0, 1 << 30),
        ]))
        .unwrap();
        assert_eq!((found.data, found.code), ((100 << 20) + 1024 + 256, 128));
        assert_eq!((found.code_of(b"first"), found.code_of(b"second")), (6912, 256));
        assert_eq!((found.code_of(b"called"), found.all_code()), (0, 128 + 6912 + 256));
        assert!(!found.uses_heap);
    }

    #[test]
    fn a_cubin_that_links_malloc_uses_the_heap() {
        assert!(footprint(&cubin(&[("malloc", 0, 0)])).unwrap().uses_heap);
    }

    #[test]
    fn a_cubin_that_links_vprintf_may_print() {
        let may_print = |name| footprint(&cubin(&[(name, 0, 0)])).unwrap().may_print;
        assert!(may_print("vprintf") && may_print(".rel.text.vprintf") && !may_print("printf"));
    }

    #[test]
    fn damaged_files_have_no_footprint() {
        let whole = cubin(&[(".nv.global", ALLOC, 4096)]);
        for len in [0, 3, 40, 63, 64, whole.len() - 1] {
            assert_eq!(footprint(&whole[..len]), None, "{len}");
        }
        assert_eq!(footprint(&cubin(&[(".nv.global", ALLOC, u64::MAX)])), None);
    }
}
