//! Entry points for device memory.

use crate::capture;
use crate::context::{self, current};
use crate::driver::Driver;
use crate::entry::macros::PER_THREAD;
use crate::entry::memory::managed;
use crate::entry::streams::stream::stream_id;
use crate::error::{CuError, CuResult};
use crate::graph::Guest;
use crate::handles::Handle;
use crate::log::say;
use crate::memory::{Allocation, Kind};
use crate::shareable::reap;
use crate::windows;
use cuda_api::args::Out;
use cuda_api::graph::alloc;
use cuda_api::sys::CUstream;
use protocol::calls::{CuMemAllocV2, CuMemFreeAsync, CuMemFreeV2, CuMemGetInfoV2};

/// The alignment in bytes of rows in pitched memory.
const PITCH: usize = 512;

/// Adds memory that the worker has allocated on the current context's device to the map of the
/// program's memory.
pub fn note(driver: &Driver, address: u64, len: usize, kind: Kind) -> CuResult {
    note_on(driver, address, len, (kind, current()?.device))
}

/// Adds memory that the worker has allocated on the device `device` to the map of the program's
/// memory.
pub fn note_on(driver: &Driver, address: u64, len: usize, (kind, device): (Kind, i32)) -> CuResult {
    let context = current()?;
    windows::keep(address, len).map_err(|error| {
        say!(Error, "can't reserve the address {address:#x} of GPU memory: {error}");
        CuError::UNKNOWN
    })?;
    driver.memory.insert(Allocation {
        base: address,
        len: len as u64,
        kind,
        device_address: address,
        flags: 0,
        context: context.owner().handle(),
        device,
        id: 0,
        sync_memops: false,
    });
    Ok(())
}

fn allocate(bytes: usize) -> CuResult<u64> {
    if bytes == 0 {
        return Err(CuError::INVALID_VALUE);
    }
    let driver = context::driver()?;
    capture::forbid_unsafe()?;
    let call = CuMemAllocV2 { bytesize: bytes };
    let answer = match driver.session.call(&call) {
        Err(CuError::OUT_OF_MEMORY) if reap(driver) => driver.session.call(&call),
        answer => answer,
    };
    let address = answer?.dptr;
    note(driver, address, bytes, Kind::Device)?;
    Ok(address)
}

entries! {
    fn cuMemAlloc_v2(out: Out<u64>, bytes: usize) {
        out.check()?;
        out.set(allocate(bytes)?)
    }

    fn cuMemAllocPitch_v2(
        out: Out<u64>, pitch: Out<usize>, width: usize, height: usize, element: u32,
    ) {
        out.check()?;
        pitch.check()?;
        if !matches!(element, 4 | 8 | 16) || width == 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(PITCH).ok_or(CuError::INVALID_VALUE)?;
        let bytes = row.checked_mul(height).ok_or(CuError::INVALID_VALUE)?;
        out.set(allocate(bytes)?)?;
        pitch.set(row)
    }

    fn cuMemFree_v2(address: u64) {
        let driver = context::driver_unless_ended()?;
        if address == 0 {
            return Ok(());
        }
        capture::forbid_unsafe()?;
        if alloc::free::<Guest>(address, None)? {
            return Ok(());
        }
        let freeable = |kind: Kind| kind.is_allocated() || matches!(kind, Kind::Managed { .. });
        let removed = driver.memory.remove(address, |found| freeable(found.kind));
        let allocation = removed.ok_or(CuError::INVALID_VALUE)?;
        if let Kind::Managed { region } = allocation.kind {
            return managed::free(driver, &allocation, region);
        }
        let result = driver.session.call(&CuMemFreeV2 { dptr: address });
        if result.is_err() {
            driver.memory.insert(allocation);
        }
        result
    }

    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let info = context::driver()?.session.call(&CuMemGetInfoV2 {})?;
        free.set_if_wanted(info.free);
        total.set_if_wanted(info.total);
        Ok(())
    }

    fn cuMemGetAddressRange_v2(base: Out<u64>, size: Out<usize>, address: u64) {
        let driver = context::driver()?;
        let found = driver.memory.find(address);
        // The address may be that at which the GPU accesses registered host memory, which can
        // differ from the program's address.
        let alias = || driver.memory.find_device(address).map(|a| (a.device_address, a));
        let found = found.map(|a| (a.base, a)).or_else(alias);
        let (start, found) = found.ok_or(CuError::NOT_FOUND)?;
        base.set_if_wanted(start);
        size.set_if_wanted(found.len as usize);
        Ok(())
    }

    fn cuMemFreeAsync, fn cuMemFreeAsync_ptsz(address: u64, stream: Handle) |null| {
        if address == 0 {
            return Ok(());
        }
        let driver = context::driver()?;
        let h_stream = stream_id(driver, stream, null)?;
        if capture::captured(driver, stream, null)? {
            let captured = capture::describe(driver, stream, null)?;
            return alloc::captured_free::<Guest>(&captured, address);
        }
        if alloc::free::<Guest>(address, Some((stream as CUstream, null == PER_THREAD)))? {
            return Ok(());
        }
        let removed = driver.memory.remove(address, |found| found.kind.is_allocated());
        removed.ok_or(CuError::INVALID_VALUE)?;
        driver.session.post(&CuMemFreeAsync { dptr: address, h_stream })
    }
}
