//! The arguments of `cuMemPrefetchBatchAsync`, `cuMemDiscardBatchAsync`, and
//! `cuMemDiscardAndPrefetchBatchAsync`.
//!
//! Managed memory keeps its contents when it is discarded, which CUDA allows.

use crate::args::In;
use crate::error::{CuError, CuResult};
use crate::managed::Place;
use crate::sys::{CUdeviceptr, CUmemLocation};

/// A range of managed memory, and the place to which it is prefetched, or `None` if it's only
/// discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub address: CUdeviceptr,
    pub len: usize,
    pub place: Option<Place>,
}

/// Reads the ranges of a batch, without places.
///
/// # Safety
///
/// The pointers must be null, or point to arrays of `count` elements.
pub unsafe fn ranges(
    addresses: In<CUdeviceptr>,
    lens: In<usize>,
    count: usize,
    flags: u64,
) -> CuResult<Vec<Range>> {
    if count == 0 || flags != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    // SAFETY: the caller promises that the arrays have `count` elements.
    let (addresses, lens) = unsafe { (addresses.array(count), lens.array(count)) };
    let range =
        |index| Ok(Range { address: addresses.get(index)?, len: lens.get(index)?, place: None });
    (0..count).map(range).collect()
}

/// The places of a batch of prefetches, as a program passes them. A place applies to the range with
/// its index in `firsts`, and to all later ranges up to the next place.
pub struct Places {
    pub places: In<CUmemLocation>,
    pub firsts: In<usize>,
    pub count: usize,
}

/// Reads the ranges of a batch of prefetches. `devices` is the number of devices.
///
/// # Safety
///
/// The pointers must be null, or point to arrays of as many elements as the counts say.
pub unsafe fn prefetches(
    (addresses, lens, count): (In<CUdeviceptr>, In<usize>, usize),
    places: Places,
    flags: u64,
    devices: usize,
) -> CuResult<Vec<Range>> {
    // SAFETY: the caller promises that the arrays have `count` elements.
    let mut ranges = unsafe { ranges(addresses, lens, count, flags) }?;
    let Places { places, firsts, count } = places;
    if count == 0 || count > ranges.len() {
        return Err(CuError::INVALID_VALUE);
    }
    // SAFETY: the caller promises that the arrays have as many elements as `places.count` says.
    let (places, firsts) =
        unsafe { (places.array(count).to_vec()?, firsts.array(count).to_vec()?) };
    if firsts[0] != 0 || !firsts.is_sorted_by(|a, b| a < b) || firsts[count - 1] >= ranges.len() {
        return Err(CuError::INVALID_VALUE);
    }
    for (location, first) in places.iter().zip(firsts) {
        let place = Place::of_location(location.type_, location.id, devices)?;
        ranges[first..].iter_mut().for_each(|range| range.place = Some(place));
    }
    Ok(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::CUmemLocationType;

    #[test]
    fn a_place_applies_from_its_index_on() {
        let (addresses, lens) = ([1u64, 2, 3], [4usize; 3]);
        // SAFETY: each array has as many elements as the count that is passed with it.
        unsafe {
            let list = |array: &[u64]| In::from_address(array.as_ptr() as usize);
            let sizes = In::from_address(lens.as_ptr() as usize);
            let location = |kind, id| CUmemLocation { type_: kind, id };
            let places = [
                location(CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST, 0),
                location(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, 0),
            ];
            let read = |firsts: &[usize]| {
                let places = Places {
                    places: In::from_address(places.as_ptr() as usize),
                    firsts: In::from_address(firsts.as_ptr() as usize),
                    count: firsts.len(),
                };
                let batch = prefetches((list(&addresses), sizes, 3), places, 0, 1)?;
                Ok(batch.iter().map(|range| range.place.unwrap()).collect::<Vec<_>>())
            };
            assert_eq!(read(&[0, 2]), Ok(vec![Place::Host, Place::Host, Place::Device(0)]));
            for wrong in [&[][..], &[1], &[0, 0], &[0, 3], &[0, 1, 2, 3]] {
                assert_eq!(read(wrong), Err(CuError::INVALID_VALUE), "{wrong:?}");
            }
            assert_eq!(ranges(list(&addresses), sizes, 0, 0), Err(CuError::INVALID_VALUE));
            assert_eq!(ranges(list(&addresses), sizes, 3, 1), Err(CuError::INVALID_VALUE));
            assert_eq!(ranges(In::null(), sizes, 3, 0), Err(CuError::INVALID_VALUE));
        }
    }
}
