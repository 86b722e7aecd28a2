//! Copies of contiguous bytes.

use crate::capture;
use crate::context;
use crate::entry::memory::box_copy::BoxCopy;
use crate::entry::memory::copy2d;
use crate::entry::streams::stream::{default_stream, stream_id};
use crate::error::CuResult;
use crate::handles::Handle;
use crate::transfer::{self, Copy, Sides};
use protocol::ids::StreamId;

pub const ANY: Sides = Sides { dst_on_device: false, src_on_device: false };
pub const TO_DEVICE: Sides = Sides { dst_on_device: true, ..ANY };
pub const FROM_DEVICE: Sides = Sides { src_on_device: true, ..ANY };
pub const WITHIN_DEVICE: Sides = Sides { dst_on_device: true, src_on_device: true };

/// Copies, and returns when the program may use both areas again.
///
/// # Safety
///
/// An address in pageable memory must be valid for `len` bytes.
pub unsafe fn blocking(sides: Sides, dst: u64, src: u64, len: usize, null: usize) -> CuResult {
    let driver = context::driver()?;
    capture::forbid_on(driver, 0, null)?;
    let stream = default_stream(StreamId(null as u64))?;
    let copy = Copy { dst, src, len, stream, blocking: true };
    // SAFETY: the caller promises that addresses in pageable memory are valid for the copy.
    unsafe { transfer::copy_between(driver, copy, sides) }
}

/// Queues a copy in a stream, and waits for it only in cases in which NVIDIA's driver waits, too.
///
/// # Safety
///
/// The requirements of [`blocking`] apply.
pub unsafe fn queued(
    sides: Sides,
    (dst, src): (u64, u64),
    len: usize,
    stream: Handle,
    null: usize,
) -> CuResult {
    let driver = context::driver()?;
    if len > 0 && capture::captured(driver, stream, null)? {
        sides.places(driver, dst, src, len)?;
        return copy2d::push_copy(driver, (stream, null), BoxCopy::linear(dst, src, len));
    }
    let stream = stream_id(driver, stream, null)?;
    // As with NVIDIA's driver, a copy waits if the host memory that the entry point's name refers
    // to is managed memory.
    let blocking = match (sides.dst_on_device, sides.src_on_device) {
        (true, false) => driver.memory.is_managed(src),
        (false, true) => driver.memory.is_managed(dst),
        _ => false,
    };
    // SAFETY: the caller promises that addresses in pageable memory are valid for the copy.
    unsafe {
        let copy = Copy { dst, src, len, stream, blocking };
        transfer::copy_between(driver, copy, sides)
    }
}
