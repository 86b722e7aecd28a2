//! Entry points that set device memory.

use crate::capture;
use crate::context;
use crate::entry::streams::stream::stream_id;
use crate::error::{CuError, CuResult};
use crate::graph::Op;
use crate::handles::Handle;
use crate::memory::Place;
use crate::transfer;
use protocol::calls::VcudaMemset;
use protocol::graph::MemsetStep;

/// A rectangle of elements to set.
struct Area {
    address: u64,
    pitch: usize,
    width: usize,
    height: usize,
}

fn row(address: u64, count: usize) -> Area {
    Area { address, pitch: 0, width: count, height: 1 }
}

fn area(address: u64, pitch: usize, width: usize, height: usize) -> Area {
    Area { address, pitch, width, height }
}

/// Sets elements in a stream, or in the default stream if `stream` is `None`. Like a copy, a call
/// without a stream waits if the program can access the memory.
fn set(area: Area, element: u32, value: u32, stream: Option<Handle>, null: usize) -> CuResult {
    let driver = context::driver()?;
    let blocking = stream.is_none();
    let stream = stream.unwrap_or(0);
    let h_stream = stream_id(driver, stream, null)?;
    let size = u64::from(element);
    if area.width == 0 || area.height == 0 {
        return Ok(());
    }
    let bytes = (area.width as u64).checked_mul(size).ok_or(CuError::INVALID_VALUE)?;
    if !area.address.is_multiple_of(size)
        || area.height > 1
            && ((area.pitch as u64) < bytes || !(area.pitch as u64).is_multiple_of(size))
    {
        return Err(CuError::INVALID_VALUE);
    }
    let rows = (area.pitch as u64).checked_mul(area.height as u64 - 1);
    let span = rows.and_then(|rows| rows.checked_add(bytes)).ok_or(CuError::INVALID_VALUE)?;
    let Place::Visible { address, host } = driver.memory.place(area.address, span)? else {
        return Err(CuError::INVALID_VALUE);
    };
    if capture::captured(driver, stream, null)? {
        let set = MemsetStep {
            dst: address,
            pitch: area.pitch as u64,
            element_size: element,
            value,
            width: area.width as u64,
            height: area.height as u64,
        };
        return capture::push(driver, stream, null, Op::Memset(set));
    }
    driver.session.post(&VcudaMemset {
        dst: address,
        pitch: area.pitch,
        element_size: element,
        value,
        width: area.width,
        height: area.height,
        h_stream,
    })?;
    if blocking && host.is_some() { transfer::synchronize(driver, h_stream) } else { Ok(()) }
}

entries! {
    fn cuMemsetD8_v2, fn cuMemsetD8_v2_ptds(at: u64, value: u8, count: usize) |null| {
        set(row(at, count), 1, value.into(), None, null)
    }
    fn cuMemsetD16_v2, fn cuMemsetD16_v2_ptds(at: u64, value: u16, count: usize) |null| {
        set(row(at, count), 2, value.into(), None, null)
    }
    fn cuMemsetD32_v2, fn cuMemsetD32_v2_ptds(at: u64, value: u32, count: usize) |null| {
        set(row(at, count), 4, value, None, null)
    }
    fn cuMemsetD8Async, fn cuMemsetD8Async_ptsz(
        at: u64, value: u8, count: usize, stream: Handle,
    ) |null| {
        set(row(at, count), 1, value.into(), Some(stream), null)
    }
    fn cuMemsetD16Async, fn cuMemsetD16Async_ptsz(
        at: u64, value: u16, count: usize, stream: Handle,
    ) |null| {
        set(row(at, count), 2, value.into(), Some(stream), null)
    }
    fn cuMemsetD32Async, fn cuMemsetD32Async_ptsz(
        at: u64, value: u32, count: usize, stream: Handle,
    ) |null| {
        set(row(at, count), 4, value, Some(stream), null)
    }
    fn cuMemsetD2D8_v2, fn cuMemsetD2D8_v2_ptds(
        at: u64, pitch: usize, value: u8, width: usize, height: usize,
    ) |null| {
        set(area(at, pitch, width, height), 1, value.into(), None, null)
    }
    fn cuMemsetD2D16_v2, fn cuMemsetD2D16_v2_ptds(
        at: u64, pitch: usize, value: u16, width: usize, height: usize,
    ) |null| {
        set(area(at, pitch, width, height), 2, value.into(), None, null)
    }
    fn cuMemsetD2D32_v2, fn cuMemsetD2D32_v2_ptds(
        at: u64, pitch: usize, value: u32, width: usize, height: usize,
    ) |null| {
        set(area(at, pitch, width, height), 4, value, None, null)
    }
    fn cuMemsetD2D8Async, fn cuMemsetD2D8Async_ptsz(
        at: u64, pitch: usize, value: u8, width: usize, height: usize, stream: Handle,
    ) |null| {
        set(area(at, pitch, width, height), 1, value.into(), Some(stream), null)
    }
    fn cuMemsetD2D16Async, fn cuMemsetD2D16Async_ptsz(
        at: u64, pitch: usize, value: u16, width: usize, height: usize, stream: Handle,
    ) |null| {
        set(area(at, pitch, width, height), 2, value.into(), Some(stream), null)
    }
    fn cuMemsetD2D32Async, fn cuMemsetD2D32Async_ptsz(
        at: u64, pitch: usize, value: u32, width: usize, height: usize, stream: Handle,
    ) |null| {
        set(area(at, pitch, width, height), 4, value, Some(stream), null)
    }
}
