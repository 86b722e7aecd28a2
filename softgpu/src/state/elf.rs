//! Reads and writes ELF files: the images that the linker produces, and host objects.

use crate::ptx::source::Source;

/// Section that contains the texts in a linked image.
const TEXTS: &str = ".softgpu.ptx";
const MACHINE_CUDA: u16 = 190;
const PROGBITS: u32 = 1;
const STRTAB: u32 = 3;
const NOBITS: u32 = 8;
const ALLOC: u64 = 2;
const EXEC: u64 = 4;
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

/// Returns the name and contents of each section with contents in a 64-bit ELF file. Returns `None`
/// if the file is damaged.
pub(crate) fn sections(file: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
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
    let (_, _, at, len) = header(names)?;
    let strings = contents(at, len)?;
    let mut found = Vec::new();
    for index in 1..count {
        let (name, kind, at, len) = header(index)?;
        if kind == NOBITS as usize {
            continue;
        }
        let name = strings.get(name..)?.split(|b| *b == 0).next()?;
        found.push((name, contents(at, len)?));
    }
    Some(found)
}

/// Returns the texts in an image that the linker produced.
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

/// Creates the image of a linked module. Like a cubin, the file describes the size of the module's
/// variables and of each kernel's code.
pub(crate) fn image(source: &Source, capability: u32) -> Vec<u8> {
    let mut contents = Vec::new();
    for unit in &source.units {
        contents.extend((unit.text.len() as u64).to_le_bytes());
        contents.extend(unit.text.bytes());
    }
    const HEADER: usize = 64;
    // Each section's name, type, flags, position in the file, and size.
    let mut sections = vec![
        (TEXTS.to_owned(), PROGBITS, 0, HEADER, contents.len()),
        (".nv.global".to_owned(), NOBITS, ALLOC, 0, source.size),
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
            sections.push((format!(".text.{name}"), NOBITS, ALLOC | EXEC, 0, size));
            sections.push((format!(".nv.constant0.{name}"), NOBITS, ALLOC, 0, 0));
            rest = rest.saturating_sub(size);
        }
    }
    sections.push((".text".to_owned(), NOBITS, ALLOC | EXEC, 0, rest));
    if source.allocates() {
        sections.push(("malloc".to_owned(), NOBITS, 0, 0, 0));
    }
    let names_at = HEADER + contents.len();
    let names_len = sections.iter().map(|s| s.0.len() + 1).sum::<usize>() + 1 + ".shstrtab\0".len();
    sections.push((".shstrtab".to_owned(), STRTAB, 0, names_at, names_len));

    let mut names = b"\0".to_vec();
    let mut headers = vec![0u8; 64];
    for (name, kind, flags, at, size) in &sections {
        headers.extend((names.len() as u32).to_le_bytes());
        headers.extend(kind.to_le_bytes());
        for word in [*flags, 0, *at as u64, *size as u64, 0, 8, 0] {
            headers.extend(word.to_le_bytes());
        }
        names.extend(name.bytes());
        names.push(0);
    }
    let count = sections.len() as u16 + 1;
    let table = (names_at + names_len).next_multiple_of(8);

    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    // An executable file, version 1, without an entry point or program headers.
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
