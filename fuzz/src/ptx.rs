//! Generates PTX text with variables and kernels. Most of the text isn't what compilers would
//! write, but the grammar permits it.

use std::fmt::Write;

use crate::input::Input;

const TYPES: &[&str] = &[".b8", ".u32", ".b64", ".f64", ".u16", ".f32", ".b128"];
const SPACES: &[&str] = &[".global", ".global", ".global", ".const", ".shared", ".local"];
const LINKAGES: &[&str] = &["", "", ".visible ", ".weak ", ".extern ", ".common "];
const GAPS: &[&str] = &[
    " ",
    " ",
    " ",
    "\n",
    "\t",
    " /* .global .b8 c[100000]; */ ",
    " // \" \n",
    "/**/",
    "\r\n",
    "\x0b",
    "\x0c",
];
const LINES: &[&str] = &[
    ".file 1 \"a\\\"; .global .b8 \"",
    ".file 1 \"b.cu\"",
    ".section .debug_str { .b8 1,2,3 }",
    "@ .pragma \"nounroll\";",
    ".pragma \"a\\\\\";",
    "/* unclosed",
    "// line",
    "\"",
    "}",
];

/// Returns PTX text.
pub fn text(input: &mut Input<'_>) -> String {
    let mut text = String::from(".version 8.0\n.target sm_75\n.address_size 64\n");
    for number in 0..input.below(6) {
        match input.below(8) {
            0..=4 => variable(&mut text, input, number),
            5 => kernel(&mut text, input, number),
            6 => text.push_str(input.pick(LINES)),
            _ => text.push_str(&String::from_utf8_lossy(input.bytes(24))),
        }
        text.push('\n');
    }
    kernel(&mut text, input, 0);
    text
}

fn variable(text: &mut String, input: &mut Input<'_>, number: usize) {
    text.push_str(input.pick(LINKAGES));
    let part = |text: &mut String, input: &mut Input<'_>, part: &str| {
        text.push_str(part);
        text.push_str(input.pick(GAPS));
    };
    let space = input.pick(SPACES);
    part(text, input, space);
    match input.below(4) {
        0 => part(text, input, ".align 16"),
        1 => part(text, input, ".attribute(.managed)"),
        2 => part(text, input, ".v4"),
        _ => {}
    }
    let kind = input.pick(TYPES);
    part(text, input, kind);
    for also in 0..=input.below(3) {
        let separator = if also > 0 { ", " } else { "" };
        let _ = write!(text, "{separator}v{number}_{also}");
        for _ in 0..input.below(3) {
            let gap = input.pick(GAPS);
            let size = size(input);
            let _ = write!(text, "{gap}[{size}]");
        }
        match input.below(8) {
            0 => text.push_str(" = {1, 2, 3}"),
            1 => text.push_str(" = 7"),
            2 => text.push_str("[] = {{1, 2}, {3, 4}}"),
            3 => text.push_str(" = \"a,b\""),
            _ => {}
        }
    }
    text.push_str(";\n");
}

/// Returns an array's dimension as text.
fn size(input: &mut Input<'_>) -> String {
    let number = input.pick(&[1u64, 3, 100, 4096, 1 << 20, 3 << 20, 1 << 33]);
    match input.below(10) {
        0 => format!("{number:#x}"),
        1 => format!("0{number:o}"),
        2 => format!("0b{number:b}"),
        3 => format!("{number}U"),
        4 => format!("{number}+1"),
        5 => format!("({number})"),
        6 => format!("0X{number:X}U"),
        7 => format!("{number}*2"),
        _ => number.to_string(),
    }
}

fn kernel(text: &mut String, input: &mut Input<'_>, number: usize) {
    let _ = writeln!(text, ".visible .entry k{number}(.param .u64 p)\n{{\n.reg .b64 %d<4>;");
    for inner in 0..input.below(3) {
        match input.below(4) {
            0 => variable(text, input, 10 + inner),
            1 => {
                let size = size(input);
                let _ = writeln!(text, ".local .align 4 .b8 l{inner}[{size}];");
            }
            2 => text.push_str("ld.param.u64 %d1, [p];\nst.global.u32 [%d1], 1;\n"),
            _ => text.push_str("{ .param .b64 r; call.uni (r), malloc, (r); }\n"),
        }
    }
    text.push_str("ret;\n}\n");
}
