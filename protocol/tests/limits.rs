//! Compares the limits and windows in docs/device.md with those in the code.

use virtio_cuda_protocol::{limits, options, windows};

const PAGE: &str = include_str!("../../docs/device.md");

/// Returns the cells of all rows of the table whose header begins with `head`.
fn rows(head: &str) -> Vec<Vec<&'static str>> {
    let lines = PAGE.lines().skip_while(|line| !line.starts_with(&format!("| {head} |")));
    lines
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

fn hex(cell: &str) -> u64 {
    u64::from_str_radix(&cell.trim_start_matches("0x").replace('_', ""), 16).unwrap()
}

#[test]
fn the_page_has_the_windows_of_the_code() {
    let code = [
        ("DEVICE", windows::DEVICE),
        ("PINNED", windows::PINNED),
        ("USER", windows::PAGE_BYTES..windows::USER_END),
        ("FILES", windows::FILES),
    ];
    let page: Vec<_> =
        rows("window").iter().map(|row| (row[0], hex(row[1])..hex(row[2]) + 1)).collect();
    assert_eq!(page, code);
}

#[test]
fn the_page_has_the_limits_of_the_code() {
    let mut code = vec![("PAGE_BYTES", windows::PAGE_BYTES)];
    macro_rules! limits { ($($name:ident)*) => { $(
        code.push((stringify!($name), limits::$name as u64));
    )* } }
    limits! {
        INLINE_COPY_MAX INLINE_IMAGE_MAX BLOB_PIECE_MAX BLOB_BYTES_MAX BLOBS_MAX OUTPUT_MAX
        JIT_LOG_MAX JIT_OPTIONS_MAX LAUNCH_ATTRIBUTES_MAX MEMORY_OPERATIONS_MAX PARAMETERS_MAX
        PARAMETER_BYTES_MAX KERNEL_NAMES_MAX KERNEL_NAME_BYTES_MAX MORE_KERNELS_MAX
        MORE_KERNEL_NAME_BYTES_MAX FUNCTION_ATTRIBUTES_MAX TPCS_MAX SM_GROUPS_MAX
        GRAPH_NODES_MAX GRAPH_VALUES_MAX GRAPH_DEPTH_MAX DEVICES_MAX LINKS_MAX LINK_BYTES_MAX LINK_PIECE_MAX
        HANDLES_MAX
    }
    let page: Vec<_> =
        rows("limit").iter().map(|row| (row[0], row[1].parse::<u64>().unwrap())).collect();
    assert_eq!(page, code);
}

#[test]
fn every_limit_is_compared() {
    let source = include_str!("../src/limits.rs");
    let defined = source.lines().filter(|line| line.starts_with("pub const ")).count();
    assert_eq!(defined + 1, rows("limit").len());
}

/// Returns the numbers in a text. "7 to 16" means all numbers in that range.
fn numbers(text: &str) -> Vec<u32> {
    let mut all: Vec<u32> = Vec::new();
    let words = text.split([' ', ',']).filter(|word| !word.is_empty());
    let mut through = false;
    for word in words {
        match word.parse::<u32>() {
            Ok(end) if std::mem::take(&mut through) => all.extend(all[all.len() - 1] + 1..=end),
            Ok(number) => all.push(number),
            Err(_) => through = word == "to",
        }
    }
    all
}

#[test]
fn the_page_has_the_options_of_the_code() {
    let line = PAGE.lines().find(|line| line.starts_with("Option lists carry")).unwrap();
    let between = |start: &str, end: &str| {
        let rest = &line[line.find(start).unwrap() + start.len()..];
        numbers(&rest[..rest.find(end).unwrap()])
    };
    assert_eq!(between("launch attributes", "("), options::LAUNCH_ATTRIBUTES);
    assert_eq!(between("options of the JIT", "("), options::JIT_OPTIONS);
    let flags = between("flags", "of a graph");
    assert_eq!(u64::from(flags.iter().sum::<u32>()), options::GRAPH_INSTANTIATE_FLAGS);
}
