use super::*;
use object::elf::{SHF_ALLOC, SHF_EXECINSTR, SHT_NOBITS, SHT_NOTE, SHT_PROGBITS, SHT_STRTAB};

const ALLOC: u64 = SHF_ALLOC as u64;
const CODE: u64 = ALLOC | SHF_EXECINSTR as u64;
const GIB: u64 = 1 << 30;
const COMMON: u16 = 0xfff2;
const ABSOLUTE: u16 = 0xfff1;

/// A section of a cubin for tests. It contains `data`, followed by zeros.
#[derive(Clone, Copy)]
pub(in crate::calls) struct Part {
    pub name: &'static str,
    pub kind: u32,
    pub flags: u64,
    pub size: u64,
    pub alignment: u64,
    pub data: &'static [u8],
    pub link: u32,
    pub info: u32,
}

/// A symbol of a cubin for tests. `section` is an index that counts from 1.
#[derive(Clone, Copy, Default)]
pub(in crate::calls) struct Symbol {
    pub name: &'static str,
    /// The offset in `name` at which the symbol's own name begins. It's not 0 for a symbol that
    /// shares the end of another name.
    pub tail: u32,
    pub section: u16,
    pub value: u64,
    pub size: u64,
}

pub(in crate::calls) fn part(name: &'static str, kind: u32, flags: u64, size: u64) -> Part {
    Part { name, kind, flags, size, alignment: 8, data: &[], link: 0, info: 0 }
}

/// Builds a cubin for tests. Each section has a name, flags and a size. The file contains the
/// contents of sections with code and with kernels' parameters, but not those of other sections.
pub(in crate::calls) fn cubin(sections: &[(&'static str, u64, u64)]) -> Vec<u8> {
    let stored = |name: &str| name.starts_with(".text") || name.starts_with(".nv.constant");
    let kind = |name| if stored(name) { SHT_PROGBITS } else { SHT_NOBITS };
    let parts = sections.iter().map(|&(name, flags, size)| part(name, kind(name), flags, size));
    build(&parts.collect::<Vec<_>>(), &[], &[])
}

/// Builds a cubin that refers to these functions of the driver.
pub(in crate::calls) fn importing(names: &[&'static str]) -> Vec<u8> {
    let import = |&name| Symbol { name, ..Symbol::default() };
    build(&[], &names.iter().map(import).collect::<Vec<_>>(), &[])
}

/// Builds a cubin of these sections and symbols. `segments` contains the number of bytes that each
/// segment takes.
pub(in crate::calls) fn build(parts: &[Part], symbols: &[Symbol], segments: &[u64]) -> Vec<u8> {
    let mut names = b"\0".to_vec();
    let mut name = |text: &str| {
        let at = names.len() as u32;
        names.extend(text.bytes().chain([0]));
        at
    };
    let mut table = vec![0u8; 24];
    for symbol in symbols {
        table.extend((name(symbol.name) + symbol.tail).to_le_bytes());
        table.extend([0x11, 0]);
        table.extend(symbol.section.to_le_bytes());
        table.extend(symbol.value.to_le_bytes());
        table.extend(symbol.size.to_le_bytes());
    }
    let count = parts.len() as u16 + 3;
    let strings = u32::from(count) - 1;
    let mut headers = vec![0u8; 64];
    let mut contents = table.clone();
    let mut head = |name: u32, kind: u32, words: [u64; 4], links: [u32; 2], rest: [u64; 2]| {
        headers.extend([name, kind].map(u32::to_le_bytes).concat());
        headers.extend(words.map(u64::to_le_bytes).concat());
        headers.extend(links.map(u32::to_le_bytes).concat());
        headers.extend(rest.map(u64::to_le_bytes).concat());
    };
    for part in parts {
        let at = 64 + contents.len() as u64;
        let (words, links) = ([part.flags, 0, at, part.size], [part.link, part.info]);
        head(name(part.name), part.kind, words, links, [part.alignment, 0]);
        if part.kind == SHT_PROGBITS || !part.data.is_empty() {
            contents.extend(part.data);
            contents.resize(
                contents.len() + (part.size as usize).next_multiple_of(8) - part.data.len(),
                0,
            );
        }
    }
    head(name(".symtab"), SHT_SYMTAB, [0, 0, 64, table.len() as u64], [strings, 0], [8, 24]);
    let at = 64 + contents.len() as u64;
    let own = name(".shstrtab");
    head(own, SHT_STRTAB, [0, 0, at, names.len() as u64], [0, 0], [1, 0]);
    contents.extend(&names);
    contents.resize(contents.len().next_multiple_of(8), 0);
    let sections_at = 64 + contents.len() as u64;
    let segments_at = sections_at + headers.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([2, 0, 190, 0, 1, 0, 0, 0]);
    let segments_at = if segments.is_empty() { 0 } else { segments_at };
    file.extend([0, segments_at, sections_at].map(u64::to_le_bytes).concat());
    file.extend(0u32.to_le_bytes());
    let halves = [64, 56, segments.len() as u16, 64, count, count - 1];
    file.extend(halves.map(u16::to_le_bytes).concat());
    let segments = segments.iter().flat_map(|size| {
        let head = [1u32, 4].map(u32::to_le_bytes).concat();
        [head, [0, 0, 0, 0, *size, 8].map(u64::to_le_bytes).concat()].concat()
    });
    [file, contents, headers, segments.collect()].concat()
}

/// Builds a cubin whose attribute FRAME_SIZE gives `bytes` for the kernel `empty`, although the
/// kernel doesn't need that much. softgpu loads the cubin as the PTX text `text`.
pub(in crate::calls) fn forged_frame(text: &str, bytes: u32) -> Vec<u8> {
    let texts = [(text.len() as u64).to_le_bytes().to_vec(), text.into()].concat();
    let texts: &'static [u8] = Vec::leak(texts);
    let notes = [[4, 0x11, 8, 0], 1u32.to_le_bytes(), bytes.to_le_bytes()].concat();
    let notes: &'static [u8] = Vec::leak(notes);
    let stored = |name, kind, data: &'static [u8], link| Part {
        data,
        link,
        ..part(name, kind, 0, data.len() as u64)
    };
    let parts = [
        part(".text.empty", SHT_PROGBITS, CODE, 128),
        part(".nv.constant0.empty", SHT_PROGBITS, ALLOC, 16),
        stored(".softgpu.ptx", SHT_NOTE, texts, 0),
        stored(".nv.info", 0x7000_0000, notes, 5),
    ];
    build(&parts, &[Symbol { name: "empty", section: 1, size: 128, ..Symbol::default() }], &[])
}

fn data(parts: &[Part]) -> u64 {
    footprint(&build(parts, &[], &[])).unwrap().data
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
        (".nv.shared.reserved.0", ALLOC, 1 << 10),
        (".text.first", CODE, 6912),
        (".text.second", CODE, 256),
        (".text.called", CODE, 128),
    ]))
    .unwrap();
    assert_eq!((found.data, found.code), ((100 << 20) + 1024 + 256, 128));
    assert_eq!((found.code_of(b"first"), found.code_of(b"second")), (6912, 256));
    assert_eq!((found.code_of(b"called"), found.all_code()), (0, 128 + 6912 + 256));
    assert!(!found.uses_heap && !found.may_print);
}

#[test]
fn sections_are_counted_whatever_their_names_and_flags() {
    for name in [".nv.global", ".nv.local.k", "junk", ".debug_info", ".nv.constant0.k", ".text.k"] {
        assert_eq!(data(&[part(name, SHT_NOBITS, 0, 50 * GIB)]), 50 * GIB, "{name}");
    }
    for name in [".nv.global", ".text.k", ".nv.local.k"] {
        assert_eq!(data(&[part(name, SHT_NOTE, 0, 64)]), 128, "{name}");
    }
    assert_eq!(data(&[part("some", SHT_NOTE, ALLOC, 64)]), 128);
    // Notes of this type contain information for tools and for the driver's loader, and take no
    // device memory.
    assert_eq!(data(&[part(".note.nv.tkinfo", SHT_NOTE, 0, 64)]), 0);
    // A section for code whose contents aren't in the file is charged when the file is loaded, not
    // at the kernel's first use.
    let found = footprint(&build(
        &[part(".text.k", SHT_NOBITS, CODE, GIB), part(".nv.constant0.k", SHT_PROGBITS, ALLOC, 16)],
        &[],
        &[],
    ));
    assert_eq!(found.map(|found| (found.data, found.kernels)), Ok((GIB, vec![])));
}

#[test]
fn shared_memory_that_no_kernel_can_have_is_counted() {
    let code = part(".text.k", SHT_PROGBITS, CODE, 128);
    let shared = |size| part(".nv.shared.k", SHT_NOBITS, ALLOC, size);
    assert_eq!(data(&[code, shared(227 << 10)]), 0);
    assert_eq!(data(&[code, shared(GIB)]), GIB, "more than a block can have");
    assert_eq!(data(&[shared(1 << 10)]), 1 << 10, "without a kernel");
    assert_eq!(data(&[code, shared(1 << 10), shared(1 << 10)]), 1 << 10, "twice");
}

#[test]
fn symbols_are_within_their_sections_except_in_shared_memory() {
    let global = part(".nv.global", SHT_NOBITS, ALLOC, 128);
    let whole = Symbol { name: "v", section: 1, value: 64, size: 64, ..Symbol::default() };
    assert_eq!(footprint(&build(&[global], &[whole], &[])).unwrap().data, 128);
    for (name, kind) in [
        (".nv.shared.k", SHT_NOBITS),
        (".nv.shared.k", 0x7000_000a),
        // A section that libcudadevrt contains for sm_110.
        (".nv.shared.reserved.0", 0x7000_0015),
        (".nv_debug.shared", SHT_NOBITS),
    ] {
        let shared = part(name, kind, ALLOC, 128);
        let large = Symbol { size: GIB, ..whole };
        assert_eq!(footprint(&build(&[shared], &[large], &[])).unwrap().data, GIB + 128);
        let stored = part(name, SHT_PROGBITS, ALLOC, 128);
        assert!(footprint(&build(&[stored], &[large], &[])).is_err());
    }
    let common = Symbol { section: COMMON, size: GIB, ..whole };
    assert_eq!(footprint(&build(&[global], &[common], &[])).unwrap().data, GIB + 128);
    let file = Symbol { section: ABSOLUTE, value: 0, size: 0, ..whole };
    assert_eq!(footprint(&build(&[global], &[file], &[])).unwrap().data, 128);
    for wrong in [
        Symbol { size: 65, ..whole },
        Symbol { value: 1 << 40, size: 0, ..whole },
        Symbol { section: ABSOLUTE, ..whole },
        Symbol { section: ABSOLUTE, value: 0x7fff_0000_0000, size: 0, ..whole },
        Symbol { section: 77, ..whole },
        Symbol { value: u64::MAX, ..whole },
        Symbol { tail: 1 << 20, ..whole },
    ] {
        assert!(footprint(&build(&[global], &[wrong], &[])).is_err());
    }
}

#[test]
fn segments_are_counted_beyond_the_sections() {
    let global = part(".nv.global", SHT_NOBITS, ALLOC, 128);
    let found = |segments: &[u64]| footprint(&build(&[global], &[], segments)).unwrap().data;
    assert_eq!(found(&[56 + 128]), 128);
    assert_eq!(found(&[56 + 128 + GIB]), 128 + GIB);
}

#[test]
fn alignment_can_take_memory() {
    let aligned = Part { alignment: GIB, ..part(".nv.global", SHT_NOBITS, ALLOC, 128) };
    assert_eq!(data(&[aligned]), GIB);
    assert!(footprint(&build(&[Part { alignment: 3, ..aligned }], &[], &[])).is_err());
}

#[test]
fn a_kernel_with_two_sections_counts_both() {
    let code = part(".text.k", SHT_PROGBITS, CODE, 128);
    let parameters = part(".nv.constant0.k", SHT_PROGBITS, ALLOC, 16);
    let portable = part(".nv.capmerc.text.k", 0x7000_0016, 0, 256);
    let found = footprint(&build(&[code, code, parameters, portable], &[], &[])).unwrap();
    assert_eq!((found.data, found.code, found.code_of(b"k")), (0, 0, 512));
}

#[test]
fn a_cubin_that_needs_malloc_uses_the_heap() {
    let uses_heap = |names: &[&'static str]| footprint(&importing(names)).unwrap().uses_heap;
    assert!(uses_heap(&["malloc"]) && uses_heap(&["__nv_aligned_device_malloc"]));
    assert!(!uses_heap(&["vprintf", "free"]));
    // A symbol's name can be the end of another name in the string table.
    let shared = Symbol { name: "xmalloc", tail: 1, ..Symbol::default() };
    assert!(footprint(&build(&[], &[shared], &[])).unwrap().uses_heap);
    let code = part(".text.k", SHT_PROGBITS, CODE, 128);
    let own = |name| Symbol { name, section: 1, size: 16, ..Symbol::default() };
    let defines = |name| footprint(&build(&[code], &[own(name)], &[])).unwrap().uses_heap;
    assert!(defines("malloc") && !defines("my_malloc"));
}

#[test]
fn a_cubin_that_links_vprintf_may_print() {
    let may_print = |name| footprint(&importing(&[name])).unwrap().may_print;
    assert!(may_print("vprintf") && may_print("_vprintf") && !may_print("printf"));
}

#[test]
fn damaged_files_are_refused() {
    let whole = cubin(&[(".nv.global", ALLOC, 4096), (".text.k", CODE, 128)]);
    assert!(footprint(&whole).is_ok());
    for len in 0..whole.len() {
        assert!(footprint(&whole[..len]).is_err(), "{len}");
    }
    assert!(footprint(&cubin(&[(".nv.global", ALLOC, u64::MAX)])).is_err());
    for (at, value) in [(18, 62), (0x3e, 77), (0x3a, 63), (4, 1)] {
        let mut other = whole.clone();
        other[at] = value;
        assert!(footprint(&other).is_err(), "{at:#x}");
    }
    let past = Part { kind: SHT_NOTE, ..part(".note", SHT_NOTE, 0, 1 << 20) };
    assert!(footprint(&build(&[past], &[], &[])).is_err());
}
