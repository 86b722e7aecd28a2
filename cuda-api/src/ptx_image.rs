//! ELF files that contain PTX. Compilers return them to programs in the place of cubins (see
//! `export_tables/instead.rs`).
//!
//! nvJitLink compiles each of its inputs to a relocatable file and links these files, if there are
//! several inputs or if none is in the format for link-time optimization. It copies the values of
//! variables to the result, so the PTX text is stored as the value of a variable.

/// The first bytes of the value of a variable that contains PTX. Eight bytes with the length of the
/// text follow, and then the text.
const MAGIC: [u8; 16] = *b"\x89virtio-cudaPTX\n";

const HEADER: usize = 64;
const SECTION_HEADER: u16 = 64;
const SYMBOL: u64 = 24;
/// The names of the sections. The constants below contain each section's index and the offset of
/// its name in this string.
const SECTION_NAMES: &[u8] = b"\0.shstrtab\0.strtab\0.symtab\0.nv.global.init\0";
const SHSTRTAB: (u16, u32) = (1, 1);
const STRTAB: (u16, u32) = (2, 11);
const SYMTAB: (u16, u32) = (3, 19);
const VARIABLES: (u16, u32) = (4, 27);

/// Whether a file is an input of nvJitLink's linker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linking {
    Input,
    Complete,
}

/// Returns a file with a PTX text for a compute capability such as 90.
pub fn wrap(text: &[u8], capability: u32, linking: Linking) -> Vec<u8> {
    let value = [&MAGIC[..], &(text.len() as u64).to_le_bytes(), text].concat();
    // The linker refuses two variables with the same name, so the variable's name contains a hash
    // of its value.
    let hash = value.iter().fold(0xCBF2_9CE4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    });
    let strings = format!("\0__virtio_cuda_ptx_{hash:016x}\0").into_bytes();
    // The symbol table starts with an empty symbol. The symbol of the section follows, and then
    // that of the variable: a global symbol of the type that CUDA uses for objects.
    let mut symbols = vec![0; 24];
    for (name, info, other, size) in [(0u32, 3u8, 0u8, 0u64), (1, 0x1d, 0x20, value.len() as u64)] {
        symbols.extend(name.to_le_bytes());
        symbols.extend([info, other]);
        symbols.extend(VARIABLES.0.to_le_bytes());
        symbols.extend(0u64.to_le_bytes());
        symbols.extend(size.to_le_bytes());
    }
    let kind: u16 = if linking == Linking::Input { 1 } else { 2 };
    // The ELF flags in the format of CUDA 12, which later versions of nvJitLink accept, too.
    let flags = capability << 16 | 0x500 | capability;
    let mut file = b"\x7fELF\x02\x01\x01\x33\x07".to_vec();
    file.resize(16, 0);
    file.extend(kind.to_le_bytes());
    file.extend(b"\xbe\0\x01\0\0\0");
    file.resize(HEADER, 0);
    let mut headers = vec![0; SECTION_HEADER.into()];
    // Each header has the type, flags, link, info, and alignment of a section, and the size of its
    // entries.
    for (section, contents, header) in [
        (SHSTRTAB, SECTION_NAMES, [3, 0, 0, 0, 1, 0]),
        (STRTAB, &strings[..], [3, 0, 0, 0, 1, 0]),
        (SYMTAB, &symbols[..], [2, 0, STRTAB.0.into(), 2, 8, SYMBOL]),
        (VARIABLES, &value[..], [0x7000_0008, 3, 0, 0, 16, 0]),
    ] {
        let [kind, flags, link, info, align, entry] = header;
        file.resize(file.len().next_multiple_of(16), 0);
        headers.extend(section.1.to_le_bytes());
        headers.extend((kind as u32).to_le_bytes());
        for word in [flags, 0, file.len() as u64, contents.len() as u64] {
            headers.extend(word.to_le_bytes());
        }
        headers.extend((link as u32).to_le_bytes());
        headers.extend((info as u32).to_le_bytes());
        headers.extend(align.to_le_bytes());
        headers.extend(entry.to_le_bytes());
        file.extend(contents);
    }
    file.resize(file.len().next_multiple_of(16), 0);
    let table = file.len() as u64;
    file[40..48].copy_from_slice(&table.to_le_bytes());
    file[48..52].copy_from_slice(&flags.to_le_bytes());
    let sizes = [HEADER as u16, 56, 0, SECTION_HEADER, VARIABLES.0 + 1, SHSTRTAB.0];
    for (at, half) in (52..).step_by(2).zip(sizes) {
        file[at..at + 2].copy_from_slice(&half.to_le_bytes());
    }
    file.extend(headers);
    file
}

/// Returns the PTX texts in an ELF file: the text of a file from [`wrap`], or the texts of the
/// files that nvJitLink linked to this one. Returns nothing for any other image.
pub fn texts(image: &[u8]) -> Vec<&[u8]> {
    let mut texts = Vec::new();
    if !image.starts_with(&crate::fatbin::ELF_MAGIC) {
        return texts;
    }
    let mut rest = image;
    while let Some(at) = rest.windows(MAGIC.len()).position(|window| window == MAGIC) {
        rest = &rest[at + MAGIC.len()..];
        let Some((len, text)) = rest.split_first_chunk() else { break };
        let len = usize::try_from(u64::from_le_bytes(*len));
        let Some(text) = len.ok().and_then(|len| text.get(..len)) else { break };
        texts.push(text);
        rest = &rest[8 + text.len()..];
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_text_and_a_length() {
        for (len, linking) in (0..20).flat_map(|n| [(n, Linking::Input), (n, Linking::Complete)]) {
            let text = &b".version 8.0 .target"[..len];
            let file = wrap(text, 90, linking);
            assert_eq!(texts(&file), [text]);
            let longer = [&file[..], b"rest"].concat();
            assert_eq!(crate::fatbin::prefix(&longer).unwrap(), file);
        }
    }

    #[test]
    fn a_file_has_the_texts_of_all_inputs() {
        let [mut first, second] = [&b"one"[..], b"two"].map(|t| wrap(t, 90, Linking::Input));
        first.extend(second);
        assert_eq!(texts(&first), [b"one", b"two"]);
    }

    #[test]
    fn damaged_files_have_no_text() {
        let file = wrap(b".version 8.0", 90, Linking::Complete);
        let end = file.windows(12).position(|window| window == b".version 8.0").unwrap() + 12;
        for len in 0..end {
            assert!(texts(&file[..len]).is_empty(), "{len} bytes");
        }
        let mut longest = file[..end].to_vec();
        longest[end - 20..end - 12].fill(0xff);
        assert!(texts(&longest).is_empty());
        assert!(texts(&file[1..]).is_empty(), "not an ELF file");
    }
}
