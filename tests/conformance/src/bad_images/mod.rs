//! The table of damaged images, and of the calls that load or link them.
//!
//! Each row is an image, and each column a call, or two calls one after the other, such as
//! `load-data function`. An outcome is the result of the call. For two calls, it is the result of
//! the first one that fails.

mod damage;
mod load;

use crate::cuda::{Cuda, Failure, Outcome};
use crate::ended;
use crate::table::Table;
use damage::{Image, of_cubin, of_fatbin, of_ptx};

/// The table of damaged images.
pub const TABLE: Table = Table {
    option: "--bad-images",
    native: include_str!("native.csv"),
    apart: true,
    kinds: || KINDS.iter().map(|(kind, _)| *kind).collect(),
    cells: |cuda, kind| {
        let columns = |image: Image| {
            load::CALLS.iter().map(move |(call, _)| (image.name.to_owned(), (*call).to_owned()))
        };
        Ok(images(cuda, kind)?.into_iter().flat_map(columns).collect())
    },
    run: outcome,
};

/// A function that returns the images of a kind.
type Images = fn(&Cuda) -> Outcome<Vec<Image>>;

const KINDS: &[(&str, Images)] =
    &[("ptx", |_| Ok(of_ptx())), ("cubin", of_cubin), ("fatbin", |_| Ok(of_fatbin()))];

fn images(cuda: &Cuda, kind: &str) -> Outcome<Vec<Image>> {
    let found = KINDS.iter().find(|(name, _)| *name == kind);
    let (_, images) = found.ok_or_else(|| Failure::new(format!("there is no kind {kind}")))?;
    cuda.primary()?;
    images(cuda)
}

fn outcome(
    cuda: &Cuda,
    kind: &str,
    (row, column): (&str, &str),
    before: &dyn Fn(),
) -> Outcome<String> {
    let image = images(cuda, kind)?.into_iter().find(|image| image.name == row);
    let call = load::CALLS.iter().find(|(name, _)| *name == column);
    let (Some(image), Some((_, call))) = (image, call) else {
        return Err(Failure::new(format!("there is no cell {kind}, {row}, {column}")));
    };
    before();
    let called = call(cuda, &image)?.map_or_else(|failed| failed.error.0, |()| 0);
    Ok(ended::outcome(cuda, called))
}
