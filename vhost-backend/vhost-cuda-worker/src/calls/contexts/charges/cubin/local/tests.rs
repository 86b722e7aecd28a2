use super::super::footprint;
use super::super::tests::{Part, Symbol, build, part};
use super::*;
use object::elf::{SHF_ALLOC, SHF_EXECINSTR, SHT_NOBITS, SHT_PROGBITS};

const ALLOC: u64 = SHF_ALLOC as u64;
const CODE: u64 = ALLOC | SHF_EXECINSTR as u64;
/// Sections with the code and the parameters of two kernels, `a` and `b`, and with the code of a
/// function, `f`.
const CODES: [(&str, u64); 5] = [
    (".text.a", CODE),
    (".nv.constant0.a", ALLOC),
    (".text.b", CODE),
    (".nv.constant0.b", ALLOC),
    (".text.f", CODE),
];
/// Symbols: the functions, a label within the first kernel's code, and a second name for the second
/// kernel's code.
const SYMBOLS: [(&str, u16); 5] = [("a", 1), ("b", 3), ("f", 5), ("$a$part", 1), ("alias", 3)];
const A: u32 = 1;
const B: u32 = 2;
const F: u32 = 3;
const PART: u32 = 4;

/// Encodes an attribute that gives `bytes` as a size for the function that `symbol` names.
fn of(attribute: u8, symbol: u32, bytes: u32) -> Vec<u8> {
    [vec![4, attribute, 8, 0], symbol.to_le_bytes().to_vec(), bytes.to_le_bytes().to_vec()].concat()
}

/// Builds a cubin with attributes. `notes` contains the name, type and contents of each section
/// with attributes.
fn with(notes: &[(&'static str, u32, Vec<u8>)], more: &[Part]) -> Vec<u8> {
    let codes = CODES.iter().map(|&(name, flags)| part(name, SHT_PROGBITS, flags, 128));
    let mut parts: Vec<_> = codes.chain(more.iter().copied()).collect();
    let link = (parts.len() + notes.len() + 1) as u32;
    for (name, kind, data) in notes {
        let data: &'static [u8] = Vec::leak(data.clone());
        parts.push(Part { data, link, ..part(name, *kind, 0, data.len() as u64) });
    }
    let symbol = |&(name, section)| Symbol { name, section, size: 16, ..Symbol::default() };
    build(&parts, &SYMBOLS.iter().map(symbol).collect::<Vec<_>>(), &[])
}

/// Returns the local memory of the kernels `a` and `b`.
fn locals(cubin: &[u8]) -> Result<[u64; 2], Damaged> {
    let found = footprint(cubin)?;
    Ok(["a", "b"].map(|name| found.local_of(name_hash(name.as_bytes()))))
}

#[track_caller]
fn needs(notes: &[(&'static str, Vec<u8>)], expected: [u64; 2]) {
    let notes: Vec<_> = notes.iter().map(|(name, data)| (*name, NOTES, data.clone())).collect();
    assert_eq!(locals(&with(&notes, &[])), Ok(expected));
}

#[test]
fn each_attribute_with_a_size_counts_for_its_kernel() {
    for attribute in [FRAME, MIN_STACK, MAX_STACK, REGION_STACK] {
        for name in [".nv.info", ".nv.info.a", ".nv.info.b"] {
            let own = if name == ".nv.info.b" { [64 << 10; 2] } else { [64 << 10, 0] };
            needs(&[(name, of(attribute, A, 64 << 10))], own);
        }
        needs(&[(".nv.info", of(attribute, PART, 64 << 10))], [64 << 10, 0]);
        needs(
            &[(".nv.info.a", [&[4, attribute, 4, 0][..], &[0, 0, 1, 0]].concat())],
            [64 << 10; 2],
        );
        needs(&[(".nv.info", vec![3, attribute, 0, 0x40])], [16 << 10; 2]);
    }
}

#[test]
fn the_largest_of_several_attributes_counts() {
    let all = [of(FRAME, A, 9000), of(MIN_STACK, A, 256), of(FRAME, A, 40), of(FRAME, B, 2048)];
    needs(&[(".nv.info", all.concat())], [9000, 2048]);
    needs(&[(".nv.info", of(FRAME, A, 2000)), (".nv.info.a", of(FRAME, A, 3000))], [3000, 0]);
    // Every context has room for a frame of 1024 bytes, so it isn't charged.
    needs(&[(".nv.info", of(FRAME, A, 1024))], [0, 0]);
}

#[test]
fn other_functions_count_for_all_kernels() {
    needs(&[(".nv.info", of(FRAME, F, 5000))], [5000, 5000]);
    // Symbol 0 has no section, so its attribute counts for all kernels.
    needs(&[(".nv.info", of(FRAME, 0, 5000))], [5000, 5000]);
    let local = part(".nv.local.a", SHT_NOBITS, ALLOC, 70_000);
    assert_eq!(locals(&with(&[], &[local])), Ok([70_000, 0]));
    let local = part(".nv.local.f", SHT_NOBITS, ALLOC, 70_000);
    assert_eq!(locals(&with(&[], &[local])), Ok([70_000, 70_000]));
}

#[test]
fn a_kernel_with_several_names_needs_the_same_under_each() {
    let found = footprint(&with(&[(".nv.info", NOTES, of(FRAME, B, 5000))], &[])).unwrap();
    assert_eq!(found.local_of(name_hash(b"alias")), 5000);
    assert_eq!(found.local_of(name_hash(b"a")), 0);
}

#[test]
fn stacks_of_unknown_size_are_left_to_the_limit() {
    let unknown = [of(MIN_STACK, A, u32::MAX), of(MAX_STACK, A, u32::MAX)];
    needs(&[(".nv.info", unknown.concat())], [0, 0]);
    needs(&[(".nv.info.a", vec![4, CALL_STACK, 4, 0, 255, 255, 255, 255])], [0, 0]);
    needs(&[(".nv.info", of(FRAME, A, u32::MAX))], [u32::MAX.into(), 0]);
}

#[test]
fn a_stack_for_returns_counts_in_addition() {
    let call = vec![4, CALL_STACK, 4, 0, 0, 16, 0, 0];
    needs(&[(".nv.info.a", call), (".nv.info", of(FRAME, A, 8192))], [8192 + 4096, 1024 + 4096]);
}

#[test]
fn frames_of_code_that_is_not_linked_are_added_up() {
    let frames = [of(FRAME, A, 1000), of(FRAME, F, 3000), of(FRAME, B, 10)].concat();
    let mut cubin = with(&[(".nv.info", NOTES, frames)], &[]);
    cubin[16] = 1;
    assert_eq!(locals(&cubin), Ok([4000, 3010]));
}

/// In some of cuBLAS's cubins, the links of sections with attributes are 0, or refer to sections
/// other than the symbol table.
#[test]
fn attributes_refer_to_the_only_table_of_symbols_whatever_their_link() {
    let mut cubin = with(&[(".nv.info", NOTES, of(FRAME, A, 64 << 10))], &[]);
    let headers = u64::from_le_bytes(*cubin[0x28..].first_chunk().unwrap()) as usize;
    cubin[headers + 64 * (CODES.len() + 1) + 40] = 0;
    assert_eq!(locals(&cubin), Ok([64 << 10, 0]));
    // Attributes for other GPUs of a family (`MERC_NOTES`) have a symbol table of their own.
    let symbol = [&[0; 4][..], &[0x12, 0, 1, 0], &[0; 8], &16u64.to_le_bytes()].concat();
    let data: &'static [u8] = Vec::leak([vec![0; 24], symbol].concat());
    let notes = [(".nv.merc.nv.info", MERC_NOTES, of(FRAME, 1, 64 << 10))];
    // The symbol table must link to the section with the symbols' names, which is the last section.
    let link = (CODES.len() + 1 + notes.len() + 2) as u32;
    let table = part(".nv.merc.symtab", MERC_SYMTAB, 0, data.len() as u64);
    let cubin = with(&notes, &[Part { data, link, ..table }]);
    assert_eq!(locals(&cubin), Ok([64 << 10, 0]));
}

#[test]
fn attributes_that_cannot_be_read_are_refused() {
    let good = of(FRAME, A, 64);
    for bad in [
        good[..11].to_vec(),
        good[..3].to_vec(),
        [&good[..], &[4]].concat(),
        vec![0, FRAME, 0, 0],
        vec![5, 0x17, 0, 0],
        vec![1, FRAME, 0, 0],
        [&[4, FRAME, 12, 0][..], &[0; 12]].concat(),
        [&[4, FRAME, 2, 0][..], &[0; 2]].concat(),
        [&[4, 0x17, 0, 1][..], &[0; 12]].concat(),
        of(FRAME, 6, 64),
        of(FRAME, u32::MAX, 64),
    ] {
        for name in [".nv.info", ".nv.info.a", ".nv.merc.nv.info", "other"] {
            let cubin = with(&[(name, NOTES, bad.clone())], &[]);
            assert!(locals(&cubin).is_err(), "{name} {bad:x?}");
        }
    }
    // A file without a symbol table for attributes of the type `MERC_NOTES` is refused.
    let merc = with(&[(".nv.merc.nv.info", MERC_NOTES, good.clone())], &[]);
    assert!(locals(&merc).is_err());
    assert!(locals(&with(&[(".nv.info", SHT_NOBITS, good)], &[])).is_err());
}
