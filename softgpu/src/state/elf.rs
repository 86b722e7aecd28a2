//! Reads and writes ELF files: the images that the linker produces, and host objects.

use crate::ptx::source::Source;

/// Name of the section that contains the PTX texts in a linked image.
const TEXTS: &str = ".softgpu.ptx";
const MACHINE_CUDA: u16 = 190;
const PROGBITS: u32 = 1;
const SYMTAB: u32 = 2;
const STRTAB: u32 = 3;
const NOTE: u32 = 7;
const NOBITS: u32 = 8;
const ALLOC: u64 = 2;
const EXEC: u64 = 4;
/// Size of a symbol table entry in bytes.
const SYMBOL: usize = 24;
/// Maximum number of kernels with a section of their own.
const MAX_KERNELS: usize = 1 << 14;

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn half(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u16::from_le_bytes(field(bytes, at)?).into())
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(field(bytes, at)?) as usize)
}

fn long(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(field(bytes, at)?)).ok()
}

/// A section of an ELF file that was read.
struct Found<'a> {
    name: &'a [u8],
    kind: usize,
    /// The index of another section that this section refers to (`sh_link`).
    link: usize,
    /// The contents, which are empty if the section has none in the file.
    contents: &'a [u8],
}

/// Returns the sections of a 64-bit ELF file, without the null section at index 0. Returns `None`
/// if the file is damaged.
fn found(file: &[u8]) -> Option<Vec<Found<'_>>> {
    const CLASS_64: u8 = 2;
    if !file.starts_with(b"\x7fELF") || *file.get(4)? != CLASS_64 {
        return None;
    }
    let (table, size) = (long(file, 40)?, half(file, 58)?);
    let (count, names) = (half(file, 60)?, half(file, 62)?);
    let header = |index: usize| {
        let at = table.checked_add(index.checked_mul(size)?)?;
        Some((word(file, at)?, word(file, at + 4)?, long(file, at + 24)?, long(file, at + 32)?))
    };
    let contents = |at: usize, len: usize| file.get(at..at.checked_add(len)?);
    contents(table, size.checked_mul(count)?)?;
    let (_, kind, at, len) = header(names)?;
    if kind != STRTAB as usize {
        return None;
    }
    let strings = contents(at, len)?;
    let mut found = Vec::new();
    for index in 1..count {
        let (name, kind, at, len) = header(index)?;
        let name = text_at(strings, name)?;
        let link = word(file, table + index * size + 40)?;
        let contents = if kind == NOBITS as usize { &[] } else { contents(at, len)? };
        found.push(Found { name, kind, link, contents });
    }
    Some(found)
}

fn text_at(strings: &[u8], at: usize) -> Option<&[u8]> {
    strings.get(at..)?.split(|b| *b == 0).next()
}

/// Returns the name and the contents of each section that has contents in a 64-bit ELF file.
/// Returns `None` if the file is damaged.
pub(crate) fn sections(file: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let stored = found(file)?.into_iter().filter(|section| section.kind != NOBITS as usize);
    Some(stored.map(|section| (section.name, section.contents)).collect())
}

/// Returns the names of functions in a cubin, with the bytes of local memory that the attribute
/// FRAME_SIZE specifies. As in NVIDIA's driver, a launch reserves that much local memory, even if
/// the function doesn't need it.
pub(crate) fn frames(file: &[u8]) -> Option<Vec<(String, u64)>> {
    const FRAME_SIZE: [u8; 4] = [4, 0x11, 8, 0];
    let sections = found(file)?;
    let notes = sections.iter().find(|section| section.name == b".nv.info")?;
    let symbols = sections.iter().find(|section| section.kind == SYMTAB as usize)?;
    let strings = sections.get(symbols.link.checked_sub(1)?)?.contents;
    let (mut rest, mut frames) = (notes.contents, Vec::new());
    while let Some(head) = rest.first_chunk::<4>() {
        let len = if head[0] == 4 { 4 + half(rest, 2)? } else { 4 };
        if *head == FRAME_SIZE {
            let name = word(symbols.contents, word(rest, 4)?.checked_mul(SYMBOL)?)?;
            let name = String::from_utf8_lossy(text_at(strings, name)?).into_owned();
            frames.push((name, word(rest, 8)? as u64));
        }
        rest = rest.get(len..)?;
    }
    Some(frames)
}

/// Returns the PTX texts in an image that softgpu's linker produced.
pub(crate) fn texts(file: &[u8]) -> Option<Vec<String>> {
    let sections = sections(file)?;
    let (_, mut rest) = *sections.iter().find(|(name, _)| *name == TEXTS.as_bytes())?;
    let mut texts = Vec::new();
    while !rest.is_empty() {
        let len = long(rest, 0)?;
        let text = rest.get(8..len.checked_add(8)?)?;
        texts.push(std::str::from_utf8(text).ok()?.to_owned());
        rest = &rest[8 + len..];
    }
    Some(texts)
}

/// A section of an ELF file that [`image`] creates.
struct Section {
    name: String,
    kind: u32,
    flags: u64,
    /// The offset of the section's contents in the file.
    at: usize,
    size: usize,
    /// For a symbol table, the index of the section with its strings, and the size of an entry.
    table: (u32, u64),
}

impl Section {
    fn new(name: impl Into<String>, kind: u32, flags: u64, at: usize, size: usize) -> Self {
        Self { name: name.into(), kind, flags, at, size, table: (0, 0) }
    }
}

/// Creates the ELF file for a linked module. Like a cubin, the file describes the sizes of the
/// module's variables and of each kernel's code, and names the external functions that the module
/// needs. The PTX texts serve as the contents of the code sections.
pub(crate) fn image(source: &Source, capability: u32) -> Vec<u8> {
    let mut contents = Vec::new();
    for unit in &source.units {
        contents.extend((unit.text.len() as u64).to_le_bytes());
        contents.extend(unit.text.bytes());
    }
    const HEADER: usize = 64;
    let mut sections = vec![
        Section::new(TEXTS, NOTE, 0, HEADER, contents.len()),
        Section::new(".nv.global", NOBITS, ALLOC, 0, source.size),
    ];
    let kernels: Vec<_> = source.kernels().collect();
    let size_of = |index: u32| {
        let body = source.function(index).and_then(|(f, _)| f.body.clone());
        body.map_or(0, |body| body.len())
    };
    let mut rest = contents.len();
    if kernels.len() <= MAX_KERNELS {
        for (name, index) in &kernels {
            let size = size_of(*index);
            let code = format!(".text.{name}");
            sections.push(Section::new(code, PROGBITS, ALLOC | EXEC, HEADER, size));
            let parameters = format!(".nv.constant0.{name}");
            sections.push(Section::new(parameters, PROGBITS, ALLOC, HEADER, 0));
            rest = rest.saturating_sub(size);
        }
    }
    sections.push(Section::new(".text", PROGBITS, ALLOC | EXEC, HEADER, rest));
    let symbols_at = (HEADER + contents.len()).next_multiple_of(8);
    let mut names = b"\0".to_vec();
    let mut symbols = vec![0u8; SYMBOL];
    if source.allocates() {
        // The bytes of a symbol table entry that mark a global function which is undefined in this
        // file.
        const FUNCTION: [u8; 4] = [0x12, 0, 0, 0];
        symbols.extend((names.len() as u32).to_le_bytes());
        symbols.extend(FUNCTION);
        symbols.resize(2 * SYMBOL, 0);
        names.extend(b"malloc\0");
    }
    let strings = sections.len() as u32 + 2;
    let table = (strings, SYMBOL as u64);
    let symtab = Section::new(".symtab", SYMTAB, 0, symbols_at, symbols.len());
    sections.push(Section { table, ..symtab });
    let names_at = symbols_at + symbols.len();
    let names_len = names.len()
        + sections.iter().map(|s| s.name.len() + 1).sum::<usize>()
        + ".shstrtab\0".len();
    sections.push(Section::new(".shstrtab", STRTAB, 0, names_at, names_len));

    let mut headers = vec![0u8; 64];
    for section in &sections {
        headers.extend((names.len() as u32).to_le_bytes());
        headers.extend(section.kind.to_le_bytes());
        for word in [section.flags, 0, section.at as u64, section.size as u64] {
            headers.extend(word.to_le_bytes());
        }
        headers.extend(section.table.0.to_le_bytes());
        headers.extend([0; 4]);
        headers.extend(8u64.to_le_bytes());
        headers.extend(section.table.1.to_le_bytes());
        names.extend(section.name.bytes());
        names.push(0);
    }
    let count = sections.len() as u16 + 1;
    let table = (names_at + names_len).next_multiple_of(8);

    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    // The ELF header: an executable file, version 1, without an entry point or program headers.
    file.extend(2u16.to_le_bytes());
    file.extend(MACHINE_CUDA.to_le_bytes());
    file.extend(1u32.to_le_bytes());
    for word in [0, 0, table as u64] {
        file.extend(word.to_le_bytes());
    }
    file.extend(capability.to_le_bytes());
    for half in [HEADER as u16, 56, 0, 64, count, count - 1] {
        file.extend(half.to_le_bytes());
    }
    file.extend(contents);
    file.resize(symbols_at, 0);
    file.extend(symbols);
    file.extend(names);
    file.resize(table, 0);
    file.extend(headers);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_linked_images_contain_their_texts() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { ret; }";
        let source = crate::ptx::source::parse(text).unwrap();
        let file = image(&source, 90);
        assert_eq!(texts(&file).unwrap(), [text]);
        assert_eq!(cuda_api::fatbin::prefix(&file).unwrap().len(), file.len());
        for len in 0..file.len() {
            assert_eq!(texts(&file[..len]), None, "{len}");
        }
    }
}
