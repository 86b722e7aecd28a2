//! Sets device memory. cuda-api has the entry points.

use crate::capture;
use crate::context;
use crate::entry::macros::EntryPoint;
use crate::entry::streams::stream::stream_id;
use crate::error::{CuError, CuResult};
use crate::graph::Op;
use crate::handles::Handle;
use crate::memory::Place;
use crate::transfer;
use cuda_api::fills::Fill;
use protocol::calls::VcudaMemset;
use protocol::graph::MemsetStep;

cuda_api::fill_entries!(EntryPoint, set);

/// Sets all elements of an area. A call without a stream waits if the program can access the
/// memory, as a copy does.
fn set(area: Fill, null: usize) -> CuResult {
    let driver = context::driver()?;
    let blocking = area.stream.is_none();
    let stream = area.stream.map_or(0, |stream| stream as Handle);
    let h_stream = stream_id(driver, stream, null)?;
    let size = u64::from(area.size);
    if area.width == 0 || area.height == 0 {
        return Ok(());
    }
    let bytes = (area.width as u64).checked_mul(size).ok_or(CuError::INVALID_VALUE)?;
    if !area.to.is_multiple_of(size)
        || area.height > 1
            && ((area.pitch as u64) < bytes || !(area.pitch as u64).is_multiple_of(size))
    {
        return Err(CuError::INVALID_VALUE);
    }
    let rows = (area.pitch as u64).checked_mul(area.height as u64 - 1);
    let span = rows.and_then(|rows| rows.checked_add(bytes)).ok_or(CuError::INVALID_VALUE)?;
    let Place::Visible { address, host } = driver.memory.place(area.to, span)? else {
        return Err(CuError::INVALID_VALUE);
    };
    if capture::captured(driver, stream, null)? {
        let set = MemsetStep {
            dst: address,
            pitch: area.pitch as u64,
            element_size: area.size,
            value: area.value,
            width: area.width as u64,
            height: area.height as u64,
        };
        return capture::push(driver, stream, null, Op::Memset(set));
    }
    driver.session.post(&VcudaMemset {
        dst: address,
        pitch: area.pitch,
        element_size: area.size,
        value: area.value,
        width: area.width,
        height: area.height,
        h_stream,
    })?;
    if blocking && host.is_some() { transfer::synchronize(driver, h_stream) } else { Ok(()) }
}
