//! Managed memory. Kernels run in the program's process, so it is ordinary memory. Hints about its
//! location are recorded and have no effect.

use std::ffi::{c_int, c_uint, c_void};

use cuda_api::args::{In, Out};
use cuda_api::error::{CuError, CuResult};
use cuda_api::managed::{Managed, Place};
use cuda_api::managed_batch::{self, Places, Range};
use cuda_api::sys::{
    CUdeviceptr, CUmem_advise, CUmem_range_attribute, CUmemAttach_flags as Attach, CUmemLocation,
    CUstream,
};

use super::capture;
use super::entry::entries;
use crate::state::context::current;
use crate::state::device::driver;
use crate::state::hints;
use crate::state::memory::{self, Allocation, Memory};
use crate::state::stream::lookup;

/// Runs `then` on the hints of the managed allocation that contains all of a range, with the
/// range's offset in it.
fn with_hints<T>(
    address: u64,
    len: usize,
    then: impl FnOnce(&mut Managed, u64) -> CuResult<T>,
) -> CuResult<T> {
    let found = memory::find(address).filter(Allocation::managed);
    let found = found.ok_or(CuError::INVALID_VALUE)?;
    let offset = address - found.start;
    if len == 0 || len as u64 > found.size - offset {
        return Err(CuError::INVALID_VALUE);
    }
    hints::with(found.start, |managed| then(managed, offset))
}

fn devices() -> CuResult<usize> {
    Ok(driver()?.devices.len())
}

fn prefetch(address: u64, len: usize, place: Place) -> CuResult {
    with_hints(address, len, |managed, offset| {
        managed.prefetch(offset, len as u64, place);
        Ok(())
    })
}

/// Checks a batch of hints and records its prefetches.
fn batch(ranges: &[Range], (stream, per_thread): (CUstream, bool)) -> CuResult {
    if lookup(stream, per_thread)?.legacy {
        return Err(CuError::INVALID_VALUE);
    }
    for range in ranges {
        with_hints(range.address, range.len, |_, _| Ok(()))?;
    }
    for Range { address, len, place } in ranges {
        if let Some(place) = *place {
            prefetch(*address, *len, place)?;
        }
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
    current()?;
    if size == 0 || !size.is_multiple_of(size_of::<i32>()) {
        return Err(CuError::INVALID_VALUE);
    }
    let count = size / size_of::<i32>();
    // Values beyond the number of devices are all CU_DEVICE_INVALID, so allocate no memory for
    // them.
    let known = count.min(devices()? + 1);
    let values = with_hints(address, len, |managed, offset| {
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
    let devices = devices()?;
    // SAFETY: the caller promises arrays of these lengths.
    unsafe { managed_batch::prefetches(ranges, places, flags, devices) }
}

entries! {
    fn cuMemAllocManaged(to: Out<CUdeviceptr>, size: usize, flags: c_uint) {
        to.check()?;
        let global = Attach::CU_MEM_ATTACH_GLOBAL.0;
        if size == 0 || flags != global && flags != Attach::CU_MEM_ATTACH_HOST.0 {
            return Err(CuError::INVALID_VALUE);
        }
        let context = current()?;
        capture::forbid_unsafe()?;
        to.set(memory::allocate_as(&context, size as u64, Memory::Managed)?)
    }

    fn cuMemAdvise(address: CUdeviceptr, len: usize, advice: CUmem_advise, device: c_int) {
        let count = devices()?;
        with_hints(address, len, |managed, offset| {
            managed.advise(offset, len as u64, advice, || Place::of_device(device, count))
        })
    }

    fn cuMemAdvise_v2(
        address: CUdeviceptr, len: usize, advice: CUmem_advise, location: CUmemLocation,
    ) {
        let count = devices()?;
        with_hints(address, len, |managed, offset| {
            let place = || Place::of_location(location.type_, location.id, count);
            managed.advise(offset, len as u64, advice, place)
        })
    }

    fn cuMemPrefetchAsync, fn cuMemPrefetchAsync_ptsz(
        address: CUdeviceptr, len: usize, device: c_int, stream: CUstream,
    ) |per_thread| {
        lookup(stream, per_thread)?;
        prefetch(address, len, Place::of_device(device, devices()?)?)
    }

    fn cuMemPrefetchAsync_v2, fn cuMemPrefetchAsync_v2_ptsz(
        address: CUdeviceptr, len: usize, location: CUmemLocation, flags: c_uint, stream: CUstream,
    ) |per_thread| {
        lookup(stream, per_thread)?;
        if flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        prefetch(address, len, Place::of_location(location.type_, location.id, devices()?)?)
    }

    fn cuMemRangeGetAttribute(
        data: Out<c_void>, size: usize, attribute: CUmem_range_attribute, address: CUdeviceptr,
        len: usize,
    ) {
        range_attribute(data, size, attribute, address, len)
    }

    fn cuMemRangeGetAttributes(
        data: In<Out<c_void>>, sizes: In<usize>, attributes: In<CUmem_range_attribute>,
        count: usize, address: CUdeviceptr, len: usize,
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
        stream: CUstream, address: CUdeviceptr, len: usize, flags: c_uint,
    ) |per_thread| {
        lookup(stream, per_thread)?;
        let known = [
            Attach::CU_MEM_ATTACH_GLOBAL, Attach::CU_MEM_ATTACH_HOST, Attach::CU_MEM_ATTACH_SINGLE,
        ];
        if !known.contains(&Attach(flags)) {
            return Err(CuError::INVALID_VALUE);
        }
        // Attaching only limits who may access the memory, so there's nothing to do.
        let found = memory::at(address).filter(|found| {
            found.managed() && (len == 0 || len as u64 == found.size)
        });
        found.map(drop).ok_or(CuError::INVALID_VALUE)
    }

    fn cuMemPrefetchBatchAsync, fn cuMemPrefetchBatchAsync_ptsz(
        addresses: In<u64>, lens: In<usize>, count: usize, places: In<CUmemLocation>,
        firsts: In<usize>, place_count: usize, flags: u64, stream: CUstream,
    ) |per_thread| {
        let places = Places { places, firsts, count: place_count };
        // SAFETY: the program passes arrays of `count` and of `place_count` elements.
        let ranges = unsafe { prefetches((addresses, lens, count), places, flags) }?;
        batch(&ranges, (stream, per_thread))
    }

    fn cuMemDiscardBatchAsync, fn cuMemDiscardBatchAsync_ptsz(
        addresses: In<u64>, lens: In<usize>, count: usize, flags: u64, stream: CUstream,
    ) |per_thread| {
        current()?;
        // SAFETY: the program passes arrays of `count` elements.
        let ranges = unsafe { managed_batch::ranges(addresses, lens, count, flags) }?;
        batch(&ranges, (stream, per_thread))
    }

    fn cuMemDiscardAndPrefetchBatchAsync, fn cuMemDiscardAndPrefetchBatchAsync_ptsz(
        addresses: In<u64>, lens: In<usize>, count: usize, places: In<CUmemLocation>,
        firsts: In<usize>, place_count: usize, flags: u64, stream: CUstream,
    ) |per_thread| {
        let places = Places { places, firsts, count: place_count };
        // SAFETY: the program passes arrays of `count` and of `place_count` elements.
        let ranges = unsafe { prefetches((addresses, lens, count), places, flags) }?;
        batch(&ranges, (stream, per_thread))
    }
}
