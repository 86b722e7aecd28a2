//! Entry points for user objects.

use super::host_call::HostCall;
use super::ids::GraphId;
use super::library::Library;
use super::user_objects::UserId;
use crate::args::Out;
use crate::error::{CuError, CuResult};
use crate::sys::{CUgraph, CUhostFn, CUuserObject, CUuserObject_flags, CUuserObjectRetain_flags};
use std::ffi::c_void;

const INVALID: CuError = CuError::INVALID_VALUE;
const NO_SYNC: u32 = CUuserObject_flags::CU_USER_OBJECT_NO_DESTRUCTOR_SYNC.0;
const MOVE: u32 = CUuserObjectRetain_flags::CU_GRAPH_USER_OBJECT_MOVE.0;
/// The largest number of references that one call can add or release.
const MAX_COUNT: u32 = i32::MAX as u32;

fn check_count(count: u32) -> CuResult<u64> {
    if (1..=MAX_COUNT).contains(&count) { Ok(count.into()) } else { Err(INVALID) }
}

/// Implements `cuUserObjectCreate`.
///
/// # Safety
///
/// It must be safe to call the destructor with this argument from any thread.
pub unsafe fn create<L: Library>(
    to: Out<CUuserObject>,
    data: *mut c_void,
    destructor: CUhostFn,
    count: u32,
    flags: u32,
) -> CuResult {
    L::initialized()?;
    to.check()?;
    let count = check_count(count)?;
    let destructor = destructor.ok_or(INVALID)?;
    if flags != NO_SYNC {
        return Err(INVALID);
    }
    // SAFETY: the caller promises that the destructor can be called with this argument from any
    // thread.
    let destructor = unsafe { HostCall::new(destructor, data) };
    to.set(L::graphs().with(|table| table.create_user(destructor, count)) as CUuserObject)
}

/// Implements `cuUserObjectRetain`.
pub fn retain<L: Library>(object: CUuserObject, count: u32) -> CuResult {
    let count = check_count(count)?;
    L::graphs().with(|table| table.users.retain(object as UserId, count))
}

/// Implements `cuUserObjectRelease`.
pub fn release<L: Library>(object: CUuserObject, count: u32) -> CuResult {
    let count = check_count(count)?;
    L::graphs().with(|table| table.users.release(object as UserId, count))
}

/// Implements `cuGraphRetainUserObject`.
pub fn graph_retain<L: Library>(
    graph: CUgraph,
    object: CUuserObject,
    count: u32,
    flags: u32,
) -> CuResult {
    let count = check_count(count)?;
    if flags & !MOVE != 0 {
        return Err(INVALID);
    }
    L::graphs()
        .with(|table| table.retain_user(graph as GraphId, object as UserId, count, flags == MOVE))
}

/// Implements `cuGraphReleaseUserObject`.
pub fn graph_release<L: Library>(graph: CUgraph, object: CUuserObject, count: u32) -> CuResult {
    let count = check_count(count)?;
    L::graphs().with(|table| table.release_user(graph as GraphId, object as UserId, count))
}
