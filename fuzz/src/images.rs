//! Generates cubins and fatbins that softgpu can load, and computes the minimum amount of memory
//! that a cubin's sections need.

use crate::input::Input;
use crate::ptx;

const PROGBITS: u32 = 1;
const SYMTAB: u32 = 2;
const STRTAB: u32 = 3;
const NOBITS: u32 = 8;
/// A section type that only CUDA uses, for variables without initial values.
const CUDA_GLOBAL: u32 = 0x7000_0007;
const ALLOC: u64 = 2;
const EXEC: u64 = 4;

const HEADER: usize = 64;
const SYMBOL: usize = 24;

/// The section from which softgpu takes a module's text.
const TEXTS: &str = ".softgpu.ptx";
const TEXT: &str = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k0() { ret; }\n";

/// Names of sections. Those in the first four rows contain variables and constants.
const NAMES: [&str; 18] = [
    ".nv.global",
    ".nv.global.init",
    ".nv.constant3",
    ".nv.constant2.k0",
    "a",
    "",
    ".text.k0",
    ".text",
    ".text.f",
    ".nv.constant0.k0",
    ".nv.constant0.",
    ".nv.shared.k0",
    ".nv.shared.reserved.0",
    ".nv.local.k0",
    ".nv.info",
    ".debug_line",
    ".nv.capmerc.text.k0",
    "malloc",
];
/// Prefixes of the names of sections for which no device memory is allocated when a cubin is
/// loaded. For code, it is allocated when a kernel is first used, for parameters with each launch,
/// and for shared memory never.
const LATER: [&[u8]; 4] = [b".text", b".nv.capmerc.text", b".nv.constant0.", b".nv.shared."];
const SIZES: [u64; 11] =
    [0, 1, 127, 4096, 65536, 65537, 1 << 18, (1 << 18) + 1, 1 << 20, (8 << 20) + 1, 1 << 26];

/// The header of a section.
#[derive(Default)]
struct Section {
    name: u32,
    kind: u32,
    flags: u64,
    at: u64,
    size: u64,
    link: u32,
    alignment: u64,
    entry: u64,
}

impl Section {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = [self.name.to_le_bytes(), self.kind.to_le_bytes()].concat();
        for word in [self.flags, 0, self.at, self.size] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend([self.link.to_le_bytes(), [0; 4]].concat());
        bytes.extend(self.alignment.to_le_bytes());
        bytes.extend(self.entry.to_le_bytes());
        bytes
    }
}

/// Returns a cubin. Its sections, symbols and segments are arbitrary, except that softgpu finds a
/// kernel in it.
pub fn cubin(input: &mut Input<'_>) -> Vec<u8> {
    let mut names = b"\0".to_vec();
    let mut name = |text: &str| {
        let at = names.len() as u32;
        names.extend([text.as_bytes(), b"\0"].concat());
        at
    };
    let mut contents = vec![0; HEADER];
    contents.extend((TEXT.len() as u64).to_le_bytes());
    contents.extend(TEXT.bytes());
    let texts = Section {
        name: name(TEXTS),
        kind: PROGBITS,
        at: HEADER as u64,
        size: (8 + TEXT.len()) as u64,
        alignment: 8,
        ..Default::default()
    };
    let mut sections = vec![Section::default(), texts];
    for _ in 0..input.below(6) {
        let kind = input.pick(&[
            NOBITS,
            NOBITS,
            NOBITS,
            NOBITS,
            PROGBITS,
            CUDA_GLOBAL,
            0x7000_0000,
            STRTAB,
        ]);
        let stored = kind != NOBITS && kind != CUDA_GLOBAL;
        sections.push(Section {
            name: name(input.pick(&NAMES)),
            kind,
            flags: input.pick(&[ALLOC, ALLOC, ALLOC | EXEC, ALLOC | 1, 0, u64::MAX]),
            at: if stored { HEADER as u64 } else { 0 },
            size: if stored { input.below(TEXT.len()) as u64 } else { size(input) },
            alignment: if input.one_in(32) { 3 } else { 1 << input.below(13) },
            ..Default::default()
        });
    }
    let symbols_at = contents.len();
    contents.extend([0; SYMBOL]);
    let symbols = input.below(5);
    for _ in 0..symbols {
        contents.extend(name(input.pick(&["v", "malloc", "vprintf", "__nv_malloc"])).to_le_bytes());
        // The symbol's section: an index, or SHN_UNDEF, SHN_ABS, or SHN_COMMON.
        let section = input.pick(&[1, 2, 3, 0, 0xfff1, 0xfff2]) as u16;
        contents.extend([input.pick(&[0x11, 0x12, 0x01]), 0]);
        contents.extend(section.to_le_bytes());
        contents.extend(if input.one_in(16) { u64::MAX } else { 64 }.to_le_bytes());
        contents.extend(size(input).to_le_bytes());
    }
    let strings = sections.len() as u32 + 1;
    sections.push(Section {
        name: name(".symtab"),
        kind: SYMTAB,
        at: symbols_at as u64,
        size: ((symbols + 1) * SYMBOL) as u64,
        link: strings,
        entry: SYMBOL as u64,
        alignment: 8,
        ..Default::default()
    });
    let own_name = name(".shstrtab");
    sections.push(Section {
        name: own_name,
        kind: STRTAB,
        at: contents.len() as u64,
        size: names.len() as u64,
        alignment: 1,
        ..Default::default()
    });
    contents.extend(&names);

    let segments_at = contents.len();
    let segments = input.below(3) as u16;
    for _ in 0..segments {
        contents.extend(input.pick(&[1u32, 1, 6]).to_le_bytes());
        contents.extend(5u32.to_le_bytes());
        for word in [0, 0, 0, 0, size(input), 8] {
            contents.extend(word.to_le_bytes());
        }
    }
    let table = contents.len();
    contents.extend(sections.iter().flat_map(Section::bytes));

    let mut header = b"\x7fELF\x02\x01\x01".to_vec();
    header.resize(16, 0);
    header.extend([2u16.to_le_bytes(), 190u16.to_le_bytes()].concat());
    header.extend(1u32.to_le_bytes());
    for word in [0, if segments > 0 { segments_at as u64 } else { 0 }, table as u64] {
        header.extend(word.to_le_bytes());
    }
    header.extend(75u32.to_le_bytes());
    let count = sections.len() as u16;
    for half in [HEADER as u16, 56, segments, 64, count, count - 1] {
        header.extend(half.to_le_bytes());
    }
    contents[..HEADER].copy_from_slice(&header);
    contents
}

fn size(input: &mut Input<'_>) -> u64 {
    if input.one_in(32) { input.long() } else { input.pick(&SIZES) }
}

/// Returns a fatbin, and true if all of its entries are PTX.
pub fn fatbin(input: &mut Input<'_>) -> (Vec<u8>, bool) {
    let (mut entries, mut is_ptx) = (vec![], true);
    for _ in 0..=input.below(3) {
        let cubin = input.one_in(4);
        is_ptx &= !cubin;
        let payload = if cubin { self::cubin(input) } else { ptx::text(input).into_bytes() };
        let len = payload.len().next_multiple_of(8);
        let mut entry = vec![0; HEADER];
        entry[..2].copy_from_slice(&(1 + u16::from(cubin)).to_le_bytes());
        entry[4..8].copy_from_slice(&(HEADER as u32).to_le_bytes());
        entry[8..16].copy_from_slice(&(len as u64).to_le_bytes());
        entry[28..32].copy_from_slice(&input.pick(&[75u32, 75, 80, 90, 0]).to_le_bytes());
        entry.extend(payload);
        entry.resize(HEADER + len, 0);
        entries.extend(entry);
    }
    let mut fatbin = cuda_api::fatbin::FATBIN_MAGIC.to_le_bytes().to_vec();
    fatbin.extend([1u16.to_le_bytes(), 16u16.to_le_bytes()].concat());
    fatbin.extend((entries.len() as u64).to_le_bytes());
    fatbin.extend(entries);
    (fatbin, is_ptx)
}

/// Returns the minimum number of bytes of device memory that loading a cubin takes: the total size
/// of the sections with the ELF flag SHF_ALLOC, except those for which memory is allocated later
/// (`LATER`). Returns 0 if the file's tables aren't complete.
pub fn least(file: &[u8]) -> u64 {
    sections(file).unwrap_or_default()
}

fn sections(file: &[u8]) -> Option<u64> {
    let number = |at: u64, len: usize| {
        let at = usize::try_from(at).ok()?;
        let bytes = file.get(at..at.checked_add(len)?)?;
        Some(bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    let (table, count, names) = (number(40, 8)?, number(60, 2)?, number(62, 2)?);
    let header = |index: u64| table.checked_add(index * 64);
    let names = number(header(names)?.checked_add(24)?, 8)?;
    let mut least = 0u64;
    for index in 1..count {
        let at = header(index)?;
        let field = |offset: u64, len| number(at.checked_add(offset)?, len);
        let name = usize::try_from(names.checked_add(field(0, 4)?)?).ok()?;
        let (kind, flags, size) = (field(4, 4)? as u32, field(8, 8)?, field(32, 8)?);
        let name = file.get(name..)?;
        let is_later = LATER.iter().any(|prefix| name.starts_with(prefix));
        let is_loaded = [PROGBITS, NOBITS, CUDA_GLOBAL].contains(&kind) && flags & ALLOC != 0;
        if is_loaded && !is_later {
            least = least.checked_add(size)?;
        }
    }
    Some(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_that_are_allocated_count() {
        let file = include_bytes!("../corpus/cubin/linked");
        // The file's only section that counts is .nv.global, with 4096 bytes.
        assert_eq!(least(file), 4096);
        assert_eq!(least(&file[..file.len() / 2]), 0);
    }
}
