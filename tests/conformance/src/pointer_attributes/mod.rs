//! The table of pointer attributes, for each kind of memory.
//!
//! Each row is an attribute. The columns are calls: `one` is `cuPointerGetAttribute`, and `all` is
//! `cuPointerGetAttributes`. An outcome is the call's error, or the number of bytes that the call
//! has written, and the value. Values that differ between runs are replaced by names, such as
//! `address`.

mod memory;

use crate::cuda::{Called, Cuda, Failure, Outcome, cu};
use crate::table::Table;
use cuda_api::description::enumeration;
use cuda_api::sys::CUpointer_attribute;

pub const TABLE: Table = Table {
    option: "--pointer-attributes",
    native: include_str!("native.csv"),
    apart: false,
    kinds: || memory::KINDS.iter().map(|(kind, _)| *kind).collect(),
    cells: |_, _| {
        let calls = |(name, _): (String, u32)| {
            CALLS.iter().map(move |(call, _)| (name.clone(), (*call).to_owned()))
        };
        Ok(attributes().flat_map(calls).collect())
    },
    run: outcome,
};

type Call = fn(&Cuda, &mut [u8; 64], CUpointer_attribute, u64) -> Called;

const CALLS: &[(&str, Call)] = &[
    ("one", |cuda, data, attribute, address| {
        cu!(cuda, cuPointerGetAttribute(data.as_mut_ptr().cast(), attribute, address))
    }),
    ("all", |cuda, data, attribute, address| {
        let (mut attributes, mut list) = ([attribute], [data.as_mut_ptr().cast()]);
        let (attributes, list) = (attributes.as_mut_ptr(), list.as_mut_ptr());
        cu!(cuda, cuPointerGetAttributes(1, attributes, list, address))
    }),
];

/// Returns the names and numbers of the attributes in the table.
fn attributes() -> impl Iterator<Item = (String, u32)> {
    // Leave out P2P_TOKENS, because it's a secret of NVIDIA's kernel driver that differs between
    // queries, not a property of the pointer.
    let other = ["P2P_TOKENS"];
    let all = enumeration("CUpointer_attribute").map(|found| found.members).unwrap_or_default();
    let named = all.iter().filter_map(|(name, number)| {
        Some((name.strip_prefix("CU_POINTER_ATTRIBUTE_")?.to_owned(), *number as u32))
    });
    named.filter(move |(name, _)| !other.contains(&name.as_str()))
}

fn outcome(
    cuda: &Cuda,
    kind: &str,
    (row, column): (&str, &str),
    before: &dyn Fn(),
) -> Outcome<String> {
    let found = memory::KINDS.iter().find(|(name, _)| *name == kind);
    let attribute = attributes().find(|(name, _)| name == row);
    let call = CALLS.iter().find(|(name, _)| *name == column);
    let (Some((_, create)), Some((_, attribute)), Some((_, call))) = (found, attribute, call)
    else {
        return Err(Failure::new(format!("there is no cell {kind}, {row}, {column}")));
    };
    cuda.primary()?;
    let pointer = create(cuda)?;
    before();
    // The two buffers have different initial contents. Therefore, bytes that are equal after the
    // two calls were written by them.
    let (mut data, mut other) = ([0x5a; 64], [0xa5; 64]);
    let called = call(cuda, &mut data, CUpointer_attribute(attribute), pointer.address);
    let _ = call(cuda, &mut other, CUpointer_attribute(attribute), pointer.address);
    let text = match called {
        Err(failed) => failed.error.0.to_string(),
        Ok(()) => {
            let written = data.iter().zip(other).take_while(|(a, b)| **a == *b).count();
            let mut word = [0; 8];
            let length = written.min(8);
            word[..length].copy_from_slice(&data[..length]);
            format!("{written} bytes: {}", pointer.name(row, u64::from_le_bytes(word)))
        }
    };
    pointer.free(cuda)?;
    Ok(text)
}
