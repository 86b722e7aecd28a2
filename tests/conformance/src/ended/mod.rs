//! The table of calls on objects whose owner has ended: for each kind of object, the ways in which
//! the owner ends, and the calls that follow.
//!
//! Each cell is one call on one object after its owner has ended in one way. [`Kind::run`] runs a
//! cell and describes its outcome. The outcome is the call's result. If correct calls after it
//! fail, the word "then" and their first error follow.

mod basic;
mod graphs;
mod images;
mod memory;
mod modules;
mod object;
mod pools;
mod shared;
mod virtual_memory;

use crate::cuda::{CallError, Called, Cuda, Failure, Outcome, cu};
use crate::table::{Cell, Table};
use cuda_api::error::CuError;
use cuda_api::sys::{CUcontext, CUdevice};
use object::{Call, Kind, output};
use std::ptr::null_mut;

pub use shared::ROLES;

/// The table of calls on objects whose owner has ended.
pub const TABLE: Table = Table {
    option: "--ended",
    native: include_str!("native.csv"),
    apart: false,
    kinds: || kinds().map(|kind| kind.name).collect(),
    cells: |cuda, kind| Kind::find(kind).and_then(|kind| kind.cells(cuda)),
    run: |cuda, kind, cell, before| Kind::find(kind)?.run(cuda, cell, before),
};

/// Returns all kinds of objects.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    [
        basic::KINDS,
        modules::KINDS,
        pools::KINDS,
        memory::KINDS,
        images::KINDS,
        graphs::KINDS,
        virtual_memory::KINDS,
        shared::KINDS,
    ]
    .into_iter()
    .flatten()
}

/// The ways to end the context that owns an object. They differ in which context is current
/// afterwards.
const CONTEXT_ENDS: &[&str] =
    &["destroy", "destroy-none", "reset", "reset-current", "release", "device-reset"];

/// Ends the context that owns the object. `own` is the context that was created for the cell, which
/// the two ways named `destroy…` destroy.
fn end_context(cuda: &Cuda, end: &str, device: CUdevice, own: CUcontext) -> Outcome {
    match end {
        "destroy" | "destroy-none" => {
            cu!(cuda, cuCtxDestroy_v2(own))?;
            match end {
                "destroy" => cuda.primary().map(drop),
                _ => Ok(cu!(cuda, cuCtxSetCurrent(null_mut()))?),
            }
        }
        "reset" => {
            cu!(cuda, cuDevicePrimaryCtxReset_v2(device))?;
            cuda.primary().map(drop)
        }
        "reset-current" => Ok(cu!(cuda, cuDevicePrimaryCtxReset_v2(device))?),
        "release" => {
            while cu!(cuda, cuDevicePrimaryCtxRelease_v2(device)).is_ok() {}
            cuda.primary().map(drop)
        }
        // Make the calls that cudaDeviceReset makes, and then those that CUDA's runtime makes for
        // the next call.
        "device-reset" => {
            let mut context = null_mut();
            cu!(cuda, cuDevicePrimaryCtxReset(device))?;
            cu!(cuda, cuCtxGetCurrent(&mut context))?;
            Ok(cu!(cuda, cuDevicePrimaryCtxRetain(&mut context, device))?)
        }
        _ => Err(Failure::new(format!("there is no end {end}"))),
    }
}

impl Kind {
    pub fn find(name: &str) -> Outcome<&'static Self> {
        let found = kinds().find(|kind| kind.name == name);
        found.ok_or_else(|| Failure::new(format!("there is no kind {name}")))
    }

    /// Returns the cells of this kind of object.
    pub fn cells(&self, cuda: &Cuda) -> Outcome<Vec<Cell>> {
        cuda.primary()?;
        let object = (self.create)(cuda)?;
        let own = object.ends.iter().map(|(name, _)| *name);
        let ends = CONTEXT_ENDS.iter().copied().chain(own);
        let calls = |end: &'static str| {
            object.calls.iter().map(move |(call, _)| (end.to_owned(), (*call).to_owned()))
        };
        Ok(ends.flat_map(calls).collect())
    }

    /// Creates an object, ends its owner in the way `end`, and makes the call `call` on the object.
    /// Returns the outcome. Calls `before_call` immediately before the call.
    pub fn run(
        &self,
        cuda: &Cuda,
        (end, call): (&str, &str),
        before_call: impl FnOnce(),
    ) -> Outcome<String> {
        let named = |list: &[(&str, Call)], name: &str| list.iter().position(|(n, _)| *n == name);
        let (device, _) = cuda.primary()?;
        let mut own = null_mut();
        if end.starts_with("destroy") && CONTEXT_ENDS.contains(&end) {
            cu!(cuda, cuCtxCreate_v2(&mut own, 0, device))?;
        }
        let object = (self.create)(cuda)?;
        cu!(cuda, cuCtxSynchronize())?;
        match named(&object.ends, end) {
            Some(at) => (object.ends[at].1)(cuda)?,
            None => end_context(cuda, end, device, own)?,
        }
        let Some(at) = named(&object.calls, call) else {
            return Err(Failure::new(format!("there is no call {call}")));
        };
        before_call();
        let called = code(&(object.calls[at].1)(cuda));
        cuda.primary()?;
        Ok(outcome(cuda, called))
    }
}

/// Returns the outcome of a call for the table: its result, `called`. If correct calls that follow
/// fail, the word "then" and the first error of these calls are added.
pub fn outcome(cuda: &Cuda, called: impl std::fmt::Display) -> String {
    match code(&works(cuda)) {
        0 => called.to_string(),
        then => format!("{called} then {then}"),
    }
}

fn code(called: &Called) -> u32 {
    called.as_ref().map_or_else(|failed| failed.error.0, |()| 0)
}

/// Checks that calls in the current context succeed, and that they don't return an error of an
/// earlier call.
pub fn works(cuda: &Cuda) -> Called {
    let (mut event, mut stream) = (null_mut(), null_mut());
    let (mut memory, mut words) = (0, [0u32; 16]);
    cu!(cuda, cuMemAlloc_v2(&mut memory, 64))?;
    cu!(cuda, cuMemsetD32_v2(memory, 3, 16))?;
    cu!(cuda, cuMemcpyDtoH_v2(output(&mut words), memory, 64))?;
    if words != [3; 16] {
        return Err(CallError { name: "cuMemsetD32_v2", error: CuError::UNKNOWN });
    }
    cu!(cuda, cuEventCreate(&mut event, 0))?;
    cu!(cuda, cuStreamCreate(&mut stream, 1))?;
    cu!(cuda, cuEventRecord(event, stream))?;
    cu!(cuda, cuEventSynchronize(event))?;
    cu!(cuda, cuStreamSynchronize(stream))?;
    cu!(cuda, cuStreamDestroy_v2(stream))?;
    cu!(cuda, cuEventDestroy_v2(event))?;
    cu!(cuda, cuMemFree_v2(memory))?;
    cu!(cuda, cuCtxSynchronize())
}
