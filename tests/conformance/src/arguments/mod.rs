//! The table of calls with null pointers and unknown flags, for all entry points.
//!
//! Each row is an entry point. As far as this module can create them, its arguments are valid,
//! except for the one that the column changes. The columns are `valid`, in which nothing is
//! changed; `null NAME` for each parameter that is a pointer, a handle, or a function; and `flag
//! NAME` for each parameter with flags, in which the highest bit, an unknown flag, is set. An
//! outcome is the call's result. If correct calls after it fail, the word "then" and their first
//! error follow.

pub mod call;
mod code;
mod graphs;
mod images;
mod memory;
pub mod objects;
mod pointers;
mod structures;
mod values;

use crate::cuda::{Cuda, Failure, Outcome, cu};
use crate::ended;
use crate::table::{Cell, Table};
use call::Argument;
use cuda_api::description::{PROTOTYPES, Prototype, prototype};
use cuda_api::symbols;
use objects::Objects;
use std::ptr::null_mut;

pub const TABLE: Table = Table {
    option: "--arguments",
    native: include_str!("native.csv"),
    apart: true,
    kinds: || KINDS.iter().map(|(kind, _)| *kind).collect(),
    cells: |_, kind| Ok(entry_points(kind).flat_map(cells).collect()),
    run: |cuda, _, cell, before| run(cuda, cell, before),
};

/// The kinds of entry points, each with the prefixes of their names. An entry point belongs to the
/// first kind with a prefix that matches.
const KINDS: &[(&str, &[&str])] = &[
    ("graphics", &["cuEGL", "cuGL", "cuGraphics", "cuVDPAU"]),
    ("graph-exec", &["cuGraphExec"]),
    ("graph-add", &["cuGraphAdd"]),
    ("graph", &["cuGraph", "cuUserObject"]),
    ("copy", &["cuMemcpy"]),
    ("fill", &["cuMemset"]),
    ("pool", &["cuMemPool"]),
    ("memory", &["cuMem", "cuMulticast", "cuPointer", "cuIpc"]),
    ("image", &["cuArray", "cuMipmapped", "cuSurf", "cuTensor", "cuTex"]),
    ("stream", &["cuEvent", "cuStream"]),
    ("launch", &["cuFunc", "cuLaunch", "cuOccupancy", "cuParam"]),
    ("code", &["cuKernel", "cuLibrary", "cuLink", "cuModule"]),
    ("context", &["cuCtx", "cuGreen"]),
    ("device", &["cuDev"]),
    ("other", &["cu"]),
];

/// The types of handles that must not be null. Stream handles may be null, because a null stream is
/// the default stream.
const HANDLES: &[&str] = &[
    "CUarray",
    "CUcontext",
    "CUdevResourceDesc",
    "CUevent",
    "CUexternalMemory",
    "CUexternalSemaphore",
    "CUfunction",
    "CUgraph",
    "CUgraphExec",
    "CUgraphNode",
    "CUgraphicsResource",
    "CUgreenCtx",
    "CUkernel",
    "CUlibrary",
    "CUlinkState",
    "CUmemoryPool",
    "CUmipmappedArray",
    "CUmodule",
    "CUsurfref",
    "CUtexref",
    "CUuserObject",
];

/// Returns the entry points of a kind, without the variants for per-thread default streams. If the
/// cases run with per-thread default streams, `Cuda::variant` selects those variants.
fn entry_points(kind: &str) -> impl Iterator<Item = &'static Prototype> {
    let fits = |name: &str, beginnings: &[&str]| beginnings.iter().any(|b| name.starts_with(b));
    let of = move |name: &str| KINDS.iter().find(|(_, beginnings)| fits(name, beginnings));
    PROTOTYPES.iter().filter(move |prototype| {
        let per_thread = symbols::by_name(prototype.name).is_some_and(|symbol| symbol.per_thread);
        !per_thread && of(prototype.name).is_some_and(|(found, _)| *found == kind)
    })
}

/// Returns whether a type is a pointer in C. Handles are pointers, too.
fn is_pointer(type_: &str) -> bool {
    type_.starts_with('*') || call::is_function(type_) || HANDLES.contains(&type_)
}

fn is_flags(name: &str, type_: &str) -> bool {
    matches!(name, "flags" | "Flags" | "useFlags") && matches!(type_, "u32" | "u64" | "i32")
}

fn cells(entry_point: &'static Prototype) -> Vec<Cell> {
    let mut columns = vec!["valid".to_owned()];
    for (name, type_) in entry_point.parameters {
        if is_pointer(type_) {
            columns.push(format!("null {name}"));
        } else if is_flags(name, type_) {
            columns.push(format!("flag {name}"));
        }
    }
    columns.into_iter().map(|column| (entry_point.name.to_owned(), column)).collect()
}

fn run(cuda: &Cuda, (name, column): (&str, &str), before: &dyn Fn()) -> Outcome<String> {
    let Some(entry_point) = prototype(name) else {
        return Err(Failure::new(format!("there is no entry point {name}")));
    };
    let (_, primary) = cuda.primary()?;
    let mut objects = Objects::new(cuda, entry_point.name);
    let mut arguments = Vec::new();
    for (name, type_) in entry_point.parameters {
        let mut argument = objects.argument(name, type_)?;
        match (column.split_once(' '), &mut argument) {
            (Some(("null", chosen)), Argument::Word(word)) if chosen == *name => *word = 0,
            (Some(("flag", chosen)), Argument::Word(word)) if chosen == *name => {
                *word |= if *type_ == "u64" { 1 << 63 } else { 1 << 31 };
            }
            _ => {}
        }
        arguments.push(argument);
    }
    if !objects.named("Capture") {
        cu!(cuda, cuCtxSynchronize())?;
    }
    before();
    let called = call::call(cuda, entry_point.name, &arguments);
    objects.end_captures();
    let mut current = null_mut();
    cu!(cuda, cuCtxGetCurrent(&mut current))?;
    if name.starts_with("cuCtxCreate") && current != primary {
        cu!(cuda, cuCtxDestroy_v2(current))?;
    }
    cuda.primary()?;
    Ok(ended::outcome(cuda, called))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_point_has_a_row_and_every_row_an_outcome() {
        let cells: Vec<String> = KINDS
            .iter()
            .flat_map(|(kind, _)| entry_points(kind).flat_map(cells).map(move |cell| (kind, cell)))
            .map(|(kind, (row, column))| format!("{kind},{row},{column}"))
            .collect();
        let rows: Vec<&str> = TABLE
            .native
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.rsplit_once(',').map(|(cell, _)| cell))
            .collect();
        assert_eq!(cells, rows);
    }
}
