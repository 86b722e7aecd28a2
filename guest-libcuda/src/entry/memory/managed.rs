//! Managed memory. It's pinned memory of the guest, at the same address for the GPU, so both sides
//! always see each other's writes, and nothing migrates. Hints about its location are recorded and
//! have no effect.

use crate::context;
use crate::driver::{Driver, driver};
use crate::entry::macros::LEGACY;
use crate::entry::memory::host_memory::{pin, unpin};
use crate::entry::streams::stream::stream_id;
use crate::error::{CuError, CuResult};
use crate::handles::Handle;
use crate::memory::{Allocation, Kind};
use cuda_api::args::{In, Out};
use cuda_api::managed::{Managed, Place};
use cuda_api::managed_batch::{self, Places, Range};
use cuda_api::sys::{
    CUmem_advise, CUmem_range_attribute, CUmemAttach_flags as Attach, CUmemLocation,
};
use protocol::ids::StreamId;
use std::ffi::c_void;

/// Frees managed memory. Like `cuMemFree`, waits for work that uses it.
pub fn free(driver: &Driver, allocation: &Allocation, region: u32) -> CuResult {
    driver.memory.managed.lock().remove(&allocation.base);
    unpin(driver, allocation, region)
}

/// Runs `then` on the hints of the managed allocation that contains all of a range, with the
/// range's offset in it.
fn with_hints<T>(
    driver: &Driver,
    address: u64,
    len: usize,
    then: impl FnOnce(&mut Managed, u64) -> CuResult<T>,
) -> CuResult<T> {
    let found = driver.memory.find(address).ok_or(CuError::INVALID_VALUE)?;
    let offset = address - found.base;
    if !found.kind.is_managed() || len == 0 || len as u64 > found.len - offset {
        return Err(CuError::INVALID_VALUE);
    }
    let mut all = driver.memory.managed.lock();
    then(all.get_mut(&found.base).ok_or(CuError::INVALID_VALUE)?, offset)
}

fn prefetch(
    address: u64,
    len: usize,
    place: impl FnOnce(usize) -> CuResult<Place>,
    stream: Handle,
    null: usize,
) -> CuResult {
    let driver = context::driver()?;
    stream_id(driver, stream, null)?;
    let place = place(driver.devices.len())?;
    with_hints(driver, address, len, |managed, offset| {
        managed.prefetch(offset, len as u64, place);
        Ok(())
    })
}

/// Checks a batch of hints and records its prefetches.
fn batch(ranges: &[Range], (stream, null): (Handle, usize)) -> CuResult {
    let driver = context::driver()?;
    if stream_id(driver, stream, null)? == StreamId::LEGACY || stream == 0 && null == LEGACY {
        return Err(CuError::INVALID_VALUE);
    }
    for range in ranges {
        with_hints(driver, range.address, range.len, |_, _| Ok(()))?;
    }
    for Range { address, len, place } in ranges {
        let Some(place) = *place else { continue };
        with_hints(driver, *address, *len, |managed, offset| {
            managed.prefetch(offset, *len as u64, place);
            Ok(())
        })?;
    }
    Ok(())
}

fn range_attribute(
    data: Out<c_void>,
    size: usize,
    attribute: CUmem_range_attribute,
    address: u64,
    len: usize,
) -> CuResult {
    data.check()?;
    let driver = context::driver()?;
    if size == 0 || !size.is_multiple_of(size_of::<i32>()) {
        return Err(CuError::INVALID_VALUE);
    }
    let count = size / size_of::<i32>();
    // Values beyond the number of devices are all CU_DEVICE_INVALID, so allocate no memory for
    // them.
    let known = count.min(driver.devices.len() + 1);
    let values = with_hints(driver, address, len, |managed, offset| {
        managed.attribute(offset, len as u64, attribute, known)
    })?;
    // SAFETY: the program's buffer has `size` bytes.
    let out = unsafe { data.cast::<i32>().array(count) };
    let last = values.last().copied().unwrap_or_default();
    out.set_all(values.into_iter().chain(std::iter::repeat(last)))
}

/// Reads the arguments of a batch of prefetches.
///
/// # Safety
///
/// The pointers must be null, or point to arrays of as many elements as the counts say.
unsafe fn prefetches(
    ranges: (In<u64>, In<usize>, usize),
    places: Places,
    flags: u64,
) -> CuResult<Vec<Range>> {
    let devices = context::driver()?.devices.len();
    // SAFETY: the caller promises arrays of these lengths.
    unsafe { managed_batch::prefetches(ranges, places, flags, devices) }
}

entries! {
    fn cuMemAllocManaged(out: Out<u64>, bytes: usize, flags: u32) {
        out.check()?;
        let global = Attach::CU_MEM_ATTACH_GLOBAL.0;
        if bytes == 0 || flags != global && flags != Attach::CU_MEM_ATTACH_HOST.0 {
            return Err(CuError::INVALID_VALUE);
        }
        let driver = context::driver()?;
        crate::capture::forbid_unsafe()?;
        let at = pin(driver, bytes, 0, |region| Kind::Managed { region })? as u64;
        driver.memory.managed.lock().insert(at, Managed::new(bytes as u64));
        out.set(at)
    }

    fn cuMemAdvise(address: u64, len: usize, advice: CUmem_advise, device: i32) {
        let driver = driver()?;
        with_hints(driver, address, len, |managed, offset| {
            let place = || Place::of_device(device, driver.devices.len());
            managed.advise(offset, len as u64, advice, place)
        })
    }

    fn cuMemAdvise_v2(address: u64, len: usize, advice: CUmem_advise, location: CUmemLocation) {
        let driver = driver()?;
        with_hints(driver, address, len, |managed, offset| {
            let place = || Place::of_location(location.type_, location.id, driver.devices.len());
            managed.advise(offset, len as u64, advice, place)
        })
    }

    fn cuMemPrefetchAsync, fn cuMemPrefetchAsync_ptsz(
        address: u64, len: usize, device: i32, stream: Handle,
    ) |null| {
        prefetch(address, len, |count| Place::of_device(device, count), stream, null)
    }

    fn cuMemPrefetchAsync_v2, fn cuMemPrefetchAsync_v2_ptsz(
        address: u64, len: usize, location: CUmemLocation, flags: u32, stream: Handle,
    ) |null| {
        if flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let place = |count| Place::of_location(location.type_, location.id, count);
        prefetch(address, len, place, stream, null)
    }

    fn cuMemRangeGetAttribute(
        data: Out<c_void>, size: usize, attribute: CUmem_range_attribute, address: u64, len: usize,
    ) {
        range_attribute(data, size, attribute, address, len)
    }

    fn cuMemRangeGetAttributes(
        data: In<Out<c_void>>, sizes: In<usize>, attributes: In<CUmem_range_attribute>,
        count: usize, address: u64, len: usize,
    ) {
        // SAFETY: the program passes arrays of `count` elements.
        let (data, sizes, attributes) =
            unsafe { (data.array(count), sizes.array(count), attributes.array(count)) };
        (0..count).try_for_each(|index| {
            let (data, size) = (data.get(index)?, sizes.get(index)?);
            range_attribute(data, size, attributes.get(index)?, address, len)
        })
    }

    fn cuStreamAttachMemAsync, fn cuStreamAttachMemAsync_ptsz(
        stream: Handle, address: u64, len: usize, flags: u32,
    ) |null| {
        let driver = context::driver()?;
        stream_id(driver, stream, null)?;
        let known = [
            Attach::CU_MEM_ATTACH_GLOBAL, Attach::CU_MEM_ATTACH_HOST, Attach::CU_MEM_ATTACH_SINGLE,
        ];
        if !known.contains(&Attach(flags)) {
            return Err(CuError::INVALID_VALUE);
        }
        // Attaching only limits who may access the memory, so there's nothing to do.
        let found = driver.memory.find(address).filter(|found| {
            let whole = len == 0 || len as u64 == found.len;
            found.kind.is_managed() && found.base == address && whole
        });
        found.map(drop).ok_or(CuError::INVALID_VALUE)
    }

    fn cuMemPrefetchBatchAsync, fn cuMemPrefetchBatchAsync_ptsz(
        addresses: In<u64>, lens: In<usize>, count: usize, places: In<CUmemLocation>,
        firsts: In<usize>, place_count: usize, flags: u64, stream: Handle,
    ) |null| {
        let places = Places { places, firsts, count: place_count };
        // SAFETY: the program passes arrays of `count` and of `place_count` elements.
        let ranges = unsafe { prefetches((addresses, lens, count), places, flags) }?;
        batch(&ranges, (stream, null))
    }

    fn cuMemDiscardBatchAsync, fn cuMemDiscardBatchAsync_ptsz(
        addresses: In<u64>, lens: In<usize>, count: usize, flags: u64, stream: Handle,
    ) |null| {
        context::driver()?;
        // SAFETY: the program passes arrays of `count` elements.
        let ranges = unsafe { managed_batch::ranges(addresses, lens, count, flags) }?;
        batch(&ranges, (stream, null))
    }

    fn cuMemDiscardAndPrefetchBatchAsync, fn cuMemDiscardAndPrefetchBatchAsync_ptsz(
        addresses: In<u64>, lens: In<usize>, count: usize, places: In<CUmemLocation>,
        firsts: In<usize>, place_count: usize, flags: u64, stream: Handle,
    ) |null| {
        let places = Places { places, firsts, count: place_count };
        // SAFETY: the program passes arrays of `count` and of `place_count` elements.
        let ranges = unsafe { prefetches((addresses, lens, count), places, flags) }?;
        batch(&ranges, (stream, null))
    }
}
