//! Checks that loading a corrupted module either succeeds or fails with an error, and never panics.

use proptest::prelude::*;
use std::sync::Arc;

use softgpu::ptx::program::Program;
use softgpu::ptx::source::{self, Bases};

fn load(text: &str) {
    if let Ok(parsed) = source::parse(text) {
        let _ = Program::new(Arc::new(parsed), Bases { device: 0x1000, managed: 0x2000 }).check();
    }
}

fn kernels() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ptx");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files.iter().map(|p| std::fs::read_to_string(p).unwrap()).collect()
}

/// PTX fragments that the test inserts at random positions.
const PIECES: &[&str] = &[
    "%r1",
    "%rd1",
    "%p1",
    "%h1",
    "%f1",
    "%tid.x",
    "out",
    "0",
    "-1",
    "0x7fffffffffffffff",
    "0f7fc00000",
    "0d0000000000000000",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ".",
    "+",
    "-",
    "|",
    "!",
    "@",
    ":",
    "_",
    ".u8",
    ".s64",
    ".b128",
    ".f16x2",
    ".pred",
    ".v4",
    ".shared",
    ".global",
    ".param",
    ".sync",
    ".cc",
    "ld",
    "st",
    "mov",
    "cvt",
    "shfl",
    "bar",
    "call",
    "ret",
    "bra",
    "brx.idx",
    "atom",
    "lop3.b32",
    "bfi.b32",
    ".reg",
    ".local",
    ".align 1048576",
    ".entry",
    ".func",
    ".extern",
    "= {1, 2}",
    "generic(",
    "tile+4",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn test_damaged_kernels_do_not_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec(
            (any::<prop::sample::Index>(), 0usize..24, any::<prop::sample::Index>()),
            1..6,
        ),
    ) {
        let kernels = kernels();
        let mut text = which.get(&kernels).clone();
        for (at, cut, piece) in changes {
            let start = at.index(text.len());
            let end = (start + cut).min(text.len());
            text.replace_range(start..end, PIECES[piece.index(PIECES.len())]);
        }
        load(&text);
    }

    #[test]
    fn test_random_fragments_do_not_panic(
        pieces in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
    ) {
        let body: Vec<&str> = pieces.iter().map(|p| *p.get(PIECES)).collect();
        load(&format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.entry test(.param .u64 out)\n\
             {{\n.reg .b32 %r<9>;\n{};\nret;\n}}\n",
            body.join(" ")
        ));
        load(&body.join(" "));
    }
}
