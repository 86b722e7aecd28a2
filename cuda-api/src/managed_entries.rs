//! The entry points of managed memory.

use crate::args::{In, Out};
use crate::error::{CuError, CuResult};
use crate::managed::{Managed, Place};
use crate::managed_batch::{Places, Range, prefetches};
use crate::sys::{
    CUdeviceptr, CUmem_advise, CUmem_range_attribute, CUmemAttach_flags as Attach, CUstream,
};
use core::ffi::c_void;

/// The functions that a library provides for managed memory.
pub trait Library {
    /// Returns the number of devices.
    fn devices() -> CuResult<usize>;

    /// Fails if the calling thread has no usable context.
    fn ready() -> CuResult;

    /// Checks a stream's handle. Returns whether it means the legacy default stream.
    fn is_legacy(stream: CUstream, per_thread: bool) -> CuResult<bool>;

    /// Allocates managed memory, and begins to record its hints.
    fn allocate(bytes: usize) -> CuResult<CUdeviceptr>;

    /// Returns the address and the size of the managed allocation that contains an address.
    fn find(address: CUdeviceptr) -> Option<(CUdeviceptr, u64)>;

    /// Runs `then` on the hints of the allocation at this address.
    fn with_hints<T>(
        start: CUdeviceptr,
        then: impl FnOnce(&mut Managed) -> CuResult<T>,
    ) -> CuResult<T>;
}

/// Runs `then` on the hints of the managed allocation that contains all of a range, with the
/// range's offset in it.
fn with_range<L: Library, T>(
    address: u64,
    len: usize,
    then: impl FnOnce(&mut Managed, u64) -> CuResult<T>,
) -> CuResult<T> {
    let (start, size) = L::find(address).ok_or(CuError::INVALID_VALUE)?;
    let offset = address - start;
    if len == 0 || len as u64 > size - offset {
        return Err(CuError::INVALID_VALUE);
    }
    L::with_hints(start, |managed| then(managed, offset))
}

/// Implements `cuMemAllocManaged`.
pub fn allocate<L: Library>(out: Out<CUdeviceptr>, bytes: usize, flags: u32) -> CuResult {
    out.check()?;
    let known = [Attach::CU_MEM_ATTACH_GLOBAL, Attach::CU_MEM_ATTACH_HOST];
    if bytes == 0 || !known.contains(&Attach(flags)) {
        return Err(CuError::INVALID_VALUE);
    }
    out.set(L::allocate(bytes)?)
}

/// Implements `cuMemAdvise`. `place` converts the place that the program passed; its argument is
/// the number of devices.
pub fn advise<L: Library>(
    address: u64,
    len: usize,
    advice: CUmem_advise,
    place: impl FnOnce(usize) -> CuResult<Place>,
) -> CuResult {
    let devices = L::devices()?;
    with_range::<L, _>(address, len, |managed, offset| {
        managed.advise(offset, len as u64, advice, || place(devices))
    })
}

fn record<L: Library>(address: u64, len: usize, place: Place) -> CuResult {
    with_range::<L, _>(address, len, |managed, offset| {
        managed.prefetch(offset, len as u64, place);
        Ok(())
    })
}

/// Implements `cuMemPrefetchAsync`. `place` converts the place that the program passed; its
/// argument is the number of devices.
pub fn prefetch<L: Library>(
    address: u64,
    len: usize,
    place: impl FnOnce(usize) -> CuResult<Place>,
    stream: CUstream,
    per_thread: bool,
) -> CuResult {
    L::is_legacy(stream, per_thread)?;
    record::<L>(address, len, place(L::devices()?)?)
}

/// Implements `cuMemPrefetchBatchAsync` and `cuMemDiscardAndPrefetchBatchAsync`. CUDA allows the
/// contents of discarded memory to stay the same, so the two are equal.
///
/// # Safety
///
/// The pointers must be null, or point to arrays of as many elements as the counts say.
pub unsafe fn prefetch_batch<L: Library>(
    ranges: (In<CUdeviceptr>, In<usize>, usize),
    places: Places,
    flags: u64,
    stream: CUstream,
    per_thread: bool,
) -> CuResult {
    L::ready()?;
    // SAFETY: the caller promises that the arrays have as many elements as the counts say.
    let ranges = unsafe { prefetches(ranges, places, flags, L::devices()?) }?;
    batch::<L>(&ranges, stream, per_thread)
}

/// Checks a batch of hints and records its prefetches.
pub fn batch<L: Library>(ranges: &[Range], stream: CUstream, per_thread: bool) -> CuResult {
    if L::is_legacy(stream, per_thread)? {
        return Err(CuError::INVALID_VALUE);
    }
    for range in ranges {
        with_range::<L, _>(range.address, range.len, |_, _| Ok(()))?;
    }
    for Range { address, len, place } in ranges {
        if let Some(place) = *place {
            record::<L>(*address, *len, place)?;
        }
    }
    Ok(())
}

/// Implements `cuMemRangeGetAttribute`.
pub fn range_attribute<L: Library>(
    data: Out<c_void>,
    size: usize,
    attribute: CUmem_range_attribute,
    address: u64,
    len: usize,
) -> CuResult {
    data.check()?;
    L::ready()?;
    if size == 0 || !size.is_multiple_of(size_of::<i32>()) {
        return Err(CuError::INVALID_VALUE);
    }
    let count = size / size_of::<i32>();
    // Values beyond the number of devices are all CU_DEVICE_INVALID, so allocate no memory for
    // them.
    let known = count.min(L::devices()? + 1);
    let values = with_range::<L, _>(address, len, |managed, offset| {
        managed.attribute(offset, len as u64, attribute, known)
    })?;
    // SAFETY: the program's buffer has `size` bytes, and so at least `count` elements.
    let out = unsafe { data.cast::<i32>().array(count) };
    let last = values.last().copied().unwrap_or_default();
    out.set_all(values.into_iter().chain(std::iter::repeat(last)))
}

/// Implements `cuMemRangeGetAttributes`.
///
/// # Safety
///
/// The pointers must be null, or point to arrays of `count` elements.
pub unsafe fn range_attributes<L: Library>(
    (data, sizes, attributes): (In<Out<c_void>>, In<usize>, In<CUmem_range_attribute>),
    count: usize,
    address: u64,
    len: usize,
) -> CuResult {
    // SAFETY: the caller promises that the arrays have `count` elements.
    let (data, sizes, attributes) =
        unsafe { (data.array(count), sizes.array(count), attributes.array(count)) };
    (0..count).try_for_each(|index| {
        let (data, size) = (data.get(index)?, sizes.get(index)?);
        range_attribute::<L>(data, size, attributes.get(index)?, address, len)
    })
}

/// Implements `cuStreamAttachMemAsync`. Attaching only limits which streams may access the memory,
/// so it has no effect here.
pub fn attach<L: Library>(
    stream: CUstream,
    address: u64,
    len: usize,
    flags: u32,
    per_thread: bool,
) -> CuResult {
    L::is_legacy(stream, per_thread)?;
    let known =
        [Attach::CU_MEM_ATTACH_GLOBAL, Attach::CU_MEM_ATTACH_HOST, Attach::CU_MEM_ATTACH_SINGLE];
    let is_whole = |(start, size)| start == address && (len == 0 || len as u64 == size);
    if known.contains(&Attach(flags)) && L::find(address).is_some_and(is_whole) {
        Ok(())
    } else {
        Err(CuError::INVALID_VALUE)
    }
}

/// Exports the entry points of managed memory for a [`Library`]. The second argument is the
/// library's [`EntryPoint`](crate::entries::EntryPoint), and the third a function that says whether
/// a null stream means the thread's default stream.
#[macro_export]
macro_rules! managed_entries {
    ($library:ty, $entry_point:ty, $is_per_thread:path) => {
        use $crate::args::{In, Out};
        use $crate::managed::Place;
        use $crate::managed_batch::{self, Places};
        use $crate::managed_entries::{self, Library};
        use $crate::sys::*;

        $crate::entries! { $entry_point;
            fn cuMemAllocManaged(out: Out<CUdeviceptr>, bytes: usize, flags: u32) {
                managed_entries::allocate::<$library>(out, bytes, flags)
            }
            fn cuMemAdvise(address: CUdeviceptr, len: usize, advice: CUmem_advise, device: i32) {
                let place = |count| Place::of_device(device, count);
                managed_entries::advise::<$library>(address, len, advice, place)
            }
            fn cuMemAdvise_v2(
                address: CUdeviceptr, len: usize, advice: CUmem_advise, location: CUmemLocation,
            ) {
                let place = |count| Place::of_location(location.type_, location.id, count);
                managed_entries::advise::<$library>(address, len, advice, place)
            }
            fn cuMemPrefetchAsync, fn cuMemPrefetchAsync_ptsz(
                address: CUdeviceptr, len: usize, device: i32, stream: CUstream,
            ) |null| {
                let place = |count| Place::of_device(device, count);
                let per_thread = $is_per_thread(null);
                managed_entries::prefetch::<$library>(address, len, place, stream, per_thread)
            }
            fn cuMemPrefetchAsync_v2, fn cuMemPrefetchAsync_v2_ptsz(
                address: CUdeviceptr, len: usize, location: CUmemLocation, flags: u32,
                stream: CUstream,
            ) |null| {
                if flags != 0 {
                    return Err($crate::error::CuError::INVALID_VALUE);
                }
                let place = |count| Place::of_location(location.type_, location.id, count);
                let per_thread = $is_per_thread(null);
                managed_entries::prefetch::<$library>(address, len, place, stream, per_thread)
            }
            fn cuMemRangeGetAttribute(
                data: Out<std::ffi::c_void>, size: usize, attribute: CUmem_range_attribute,
                address: CUdeviceptr, len: usize,
            ) {
                managed_entries::range_attribute::<$library>(data, size, attribute, address, len)
            }
            fn cuMemRangeGetAttributes(
                data: In<Out<std::ffi::c_void>>, sizes: In<usize>,
                attributes: In<CUmem_range_attribute>, count: usize, address: CUdeviceptr,
                len: usize,
            ) {
                let arrays = (data, sizes, attributes);
                // SAFETY: the program passes arrays of `count` elements.
                unsafe { managed_entries::range_attributes::<$library>(arrays, count, address, len) }
            }
            fn cuStreamAttachMemAsync, fn cuStreamAttachMemAsync_ptsz(
                stream: CUstream, address: CUdeviceptr, len: usize, flags: u32,
            ) |null| {
                let per_thread = $is_per_thread(null);
                managed_entries::attach::<$library>(stream, address, len, flags, per_thread)
            }
            fn cuMemPrefetchBatchAsync, fn cuMemPrefetchBatchAsync_ptsz(
                addresses: In<u64>, lens: In<usize>, count: usize, places: In<CUmemLocation>,
                firsts: In<usize>, place_count: usize, flags: u64, stream: CUstream,
            ) |null| {
                let places = Places { places, firsts, count: place_count };
                let (ranges, per_thread) = ((addresses, lens, count), $is_per_thread(null));
                // SAFETY: the program passes arrays of `count` and of `place_count` elements.
                unsafe {
                    managed_entries::prefetch_batch::<$library>(
                        ranges, places, flags, stream, per_thread,
                    )
                }
            }
            fn cuMemDiscardBatchAsync, fn cuMemDiscardBatchAsync_ptsz(
                addresses: In<u64>, lens: In<usize>, count: usize, flags: u64, stream: CUstream,
            ) |null| {
                <$library>::ready()?;
                // SAFETY: the program passes arrays of `count` elements.
                let ranges = unsafe { managed_batch::ranges(addresses, lens, count, flags) }?;
                managed_entries::batch::<$library>(&ranges, stream, $is_per_thread(null))
            }
            fn cuMemDiscardAndPrefetchBatchAsync, fn cuMemDiscardAndPrefetchBatchAsync_ptsz(
                addresses: In<u64>, lens: In<usize>, count: usize, places: In<CUmemLocation>,
                firsts: In<usize>, place_count: usize, flags: u64, stream: CUstream,
            ) |null| {
                let places = Places { places, firsts, count: place_count };
                let (ranges, per_thread) = ((addresses, lens, count), $is_per_thread(null));
                // SAFETY: the program passes arrays of `count` and of `place_count` elements.
                unsafe {
                    managed_entries::prefetch_batch::<$library>(
                        ranges, places, flags, stream, per_thread,
                    )
                }
            }
        }
    };
}
