//! Creates valid images, and damages them in many ways.

use crate::cuda::{Cuda, Outcome, cu};
use crate::kernels::FAT_BINARY;
use cuda_api::sys::CUjitInputType as Input;
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

/// A valid or damaged image, for a row of the table.
pub struct Image {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    /// The type of the image for `cuLinkAddData`.
    pub input: Input,
}

const PTX: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 step = 5;
.visible .entry twice(.param .u64 to) {
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [to];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.u32 %r1, [%rd2];
    add.u32 %r2, %r1, %r1;
    st.global.u32 [%rd2], %r2;
    ret;
}
";

/// The damaged PTX texts. Each has a name, the part of [`PTX`] that it replaces, and the
/// replacement.
const TEXTS: &[(&str, &str, &str)] = &[
    ("version 1.0", "7.0", "1.0"),
    ("version 99.0", "7.0", "99.0"),
    ("version is a word", "7.0", "seven"),
    ("no version", ".version 7.0", ""),
    ("version twice", ".version 7.0", ".version 7.0\n.version 7.0"),
    ("target sm_10", "sm_70", "sm_10"),
    ("target sm_20", "sm_70", "sm_20"),
    ("target sm_90 in version 7.0", "sm_70", "sm_90"),
    ("target sm_999", "sm_70", "sm_999"),
    ("target is unknown", "sm_70", "nothing"),
    ("no target", ".target sm_70", ""),
    ("address size 32", ".address_size 64", ".address_size 32"),
    ("address size 16", ".address_size 64", ".address_size 16"),
    ("no address size", ".address_size 64", ""),
    ("unknown instruction", "add.u32", "addd.u32"),
    ("unknown type", "add.u32", "add.u33"),
    ("instruction of sm_90", "ret;", "griddepcontrol.wait;\n ret;"),
    ("operand is missing", "%r2, %r1, %r1", "%r2, %r1"),
    ("operand of another type", "%r2, %r1, %r1", "%r2, %rd1, %r1"),
    ("unknown register", "%r2, %r1, %r1", "%r2, %r9, %r1"),
    ("unknown parameter", "[to]", "[from]"),
    ("unknown variable", "[to]", "[variable]"),
    ("unknown directive", ".reg .b64", ".register .b64"),
    ("unknown label", "ret;", "bra nowhere;\n ret;"),
    ("unknown function", "ret;", "call.uni nowhere;\n ret;"),
    ("declared function", ".visible .global", ".extern .func nowhere;\n.visible .global"),
    ("undefined variable", ".visible .global .align 4 .u32 step = 5", ".extern .global .u32 step"),
    (
        "two kernels with a name",
        ".visible .entry",
        ".visible .entry twice() { ret; }\n.visible .entry",
    ),
    ("value does not fit", "step = 5", "step = 99999999999"),
    ("no semicolon", "ret;", "ret"),
    ("no brace", "ret;\n}", "ret;\n"),
    ("two braces", "ret;\n}", "ret;\n}}"),
    ("comment does not end", "ret;", "/* ret;"),
    ("byte 1", "ret;", "\u{1} ret;"),
    ("byte 255", "ret;", "\u{ff} ret;"),
    ("another kernel", "entry twice", "entry thrice"),
];

pub fn of_ptx() -> Vec<Image> {
    let text = PTX.to_bytes();
    let image = |name, text: &[u8]| Image {
        name,
        bytes: [text, &[0]].concat(),
        input: Input::CU_JIT_INPUT_PTX,
    };
    let until = |part: &str| PTX.to_str().unwrap_or("").find(part).unwrap_or(0) + part.len();
    let mut all = vec![
        image("valid", text),
        image("empty", b""),
        image("spaces", b" \n "),
        image("a word", b"nonsense"),
        image("a comment", b"// nothing"),
        image("cut after .version", &text[..until(".version")]),
        image("cut after the version", &text[..until("7.0")]),
        image("cut after the target", &text[..until("sm_70")]),
        image("cut after the address size", &text[..until("64\n")]),
        image("cut in a declaration", &text[..until(".align")]),
        image("cut after a name", &text[..until("twice")]),
        image("cut in an instruction", &text[..until("add.u32 %r2")]),
        image("cut before the last brace", &text[..until("ret;")]),
    ];
    for (name, old, new) in TEXTS {
        let text = PTX.to_str().unwrap_or("");
        assert!(text.contains(old), "{name}");
        let mut text = text.replacen(old, new, 1).into_bytes();
        if *name == "byte 255" {
            // Make the text invalid UTF-8: replace the two-byte character in it with the byte 255.
            text.retain(|byte| *byte != 0xc3);
            text.iter_mut().filter(|byte| **byte == 0xbf).for_each(|byte| *byte = 255);
        }
        all.push(image(name, &text));
    }
    all
}

/// A change of one number in an image: the name of the row, the number's offset, its size in bytes,
/// and its new value.
type Change = (&'static str, usize, usize, u64);

/// Damages an image: truncates it at several lengths, and changes numbers in it.
fn damage(
    bytes: &[u8],
    cuts: &[(&'static str, usize)],
    changes: &[Change],
    input: Input,
) -> Vec<Image> {
    let image = |name, bytes| Image { name, bytes, input };
    let cut = cuts.iter().map(|(name, length)| image(*name, bytes[..*length].to_vec()));
    let change = changes.iter().map(|(name, at, size, value)| {
        let mut bytes = bytes.to_vec();
        bytes[*at..][..*size].copy_from_slice(&value.to_le_bytes()[..*size]);
        image(*name, bytes)
    });
    [image("valid", bytes.to_vec())].into_iter().chain(cut).chain(change).collect()
}

pub fn of_cubin(cuda: &Cuda) -> Outcome<Vec<Image>> {
    let (mut link, none) = (null_mut(), null_mut());
    cu!(cuda, cuLinkCreate_v2(0, null_mut(), null_mut(), &mut link))?;
    let (data, bytes) = (PTX.as_ptr().cast_mut().cast::<c_void>(), PTX.count_bytes() + 1);
    let (kind, name) = (Input::CU_JIT_INPUT_PTX, c"a".as_ptr());
    cu!(cuda, cuLinkAddData_v2(link, kind, data, bytes, name, 0, null_mut(), none))?;
    let (mut image, mut size) = (null_mut(), 0);
    cu!(cuda, cuLinkComplete(link, &mut image, &mut size))?;
    // SAFETY: the library keeps the image until the link is destroyed.
    let cubin = unsafe { std::slice::from_raw_parts(image.cast::<u8>(), size) }.to_vec();
    cu!(cuda, cuLinkDestroy(link))?;
    let cuts = [
        ("empty", 0),
        ("1 byte", 1),
        ("the magic number", 4),
        ("16 bytes", 16),
        ("63 bytes", 63),
        ("64 bytes", 64),
        ("half", cubin.len() / 2),
        ("all but 1 byte", cubin.len() - 1),
    ];
    // The flags contain the target: in their second byte if the ABI version is 8, otherwise in
    // their first byte.
    let target = if cubin.get(8) == Some(&8) { 49 } else { 48 };
    let changes = [
        ("magic number", 0, 1, 0x7e),
        ("class 32", 4, 1, 1),
        ("class 9", 4, 1, 9),
        ("big endian", 5, 1, 2),
        ("ELF version in the first bytes", 6, 1, 9),
        ("ABI", 7, 1, 9),
        ("ABI version", 8, 1, 99),
        ("type 0", 16, 2, 0),
        ("machine x86-64", 18, 2, 62),
        ("ELF version", 20, 4, 9),
        ("no section headers", 40, 8, 0),
        ("section headers beyond the end", 40, 8, 1 << 30),
        ("section headers overflow", 40, 8, u64::MAX - 63),
        ("no flags", 48, 4, 0),
        ("target sm_75", target, 1, 75),
        ("target sm_121", target, 1, 121),
        ("header size 0", 52, 2, 0),
        ("section header size 0", 58, 2, 0),
        ("section header size 1", 58, 2, 1),
        ("no sections", 60, 2, 0),
        ("60000 sections", 60, 2, 60_000),
        ("names in section 0", 62, 2, 0),
        ("names in section 60000", 62, 2, 60_000),
    ];
    Ok(damage(&cubin, &cuts, &changes, Input::CU_JIT_INPUT_CUBIN))
}

/// Returns a fat binary that contains only the first entry of `fatbin`, which is PTX.
fn first_entry(fatbin: &[u8]) -> Vec<u8> {
    let number = |at: usize| usize::from(fatbin[at]) | usize::from(fatbin[at + 1]) << 8;
    let mut only = fatbin[..16 + number(20) + number(24)].to_vec();
    let rest = only.len() as u64 - 16;
    only[8..16].copy_from_slice(&rest.to_le_bytes());
    only
}

pub fn of_fatbin() -> Vec<Image> {
    let fatbin = &first_entry(FAT_BINARY)[..];
    let cuts = [
        ("empty", 0),
        ("1 byte", 1),
        ("the magic number", 4),
        ("15 bytes", 15),
        ("the header", 16),
        ("half an entry's header", 40),
        ("an entry's header", 80),
        ("half", fatbin.len() / 2),
        ("all but 1 byte", fatbin.len() - 1),
    ];
    // The first changes are in the header, which contains a magic number, the version, the header's
    // size, and the size of the rest. The others are in the header of the first entry, which is
    // PTX. It contains the kind, the version, the header's size, the size of the text, and more.
    let changes = [
        ("magic number", 0, 1, 0x51),
        ("version 0", 4, 2, 0),
        ("version 2", 4, 2, 2),
        ("header size 0", 6, 2, 0),
        ("header size 8", 6, 2, 8),
        ("header size 60000", 6, 2, 60_000),
        ("size 0", 8, 8, 0),
        ("size 8", 8, 8, 8),
        ("size less 1", 8, 8, fatbin.len() as u64 - 17),
        ("size plus 8", 8, 8, fatbin.len() as u64 - 8),
        ("size overflows", 8, 8, u64::MAX),
        ("entry of kind 0", 16, 2, 0),
        ("entry of kind 99", 16, 2, 99),
        ("entry is said to be a cubin", 16, 2, 2),
        ("entry version 0", 18, 2, 0),
        ("entry header size 0", 20, 4, 0),
        ("entry header size 8", 20, 4, 8),
        ("entry header size 2^31", 20, 4, 1 << 31),
        ("entry size 0", 24, 8, 0),
        ("entry size 8", 24, 8, 8),
        ("entry size 2^30", 24, 8, 1 << 30),
        ("entry size overflows", 24, 8, u64::MAX - 100),
        ("target 0", 44, 4, 0),
        ("target 121", 44, 4, 121),
        ("compressed with LZ4", 56, 8, 0x2011),
        ("compressed with Zstandard", 56, 8, 0x8011),
        ("compressed with both", 56, 8, 0xa011),
        ("unknown flags", 56, 8, 1 << 63 | 0x11),
        ("text is damaged", 104, 4, 0x01_01_01_01),
    ];
    damage(fatbin, &cuts, &changes, Input::CU_JIT_INPUT_FATBINARY)
}
