//! The hints that programs give for managed memory: `cuMemAdvise` and `cuMemPrefetchAsync`.
//!
//! Neither guest-libcuda nor softgpu migrates managed memory, so hints have no effect. They are
//! recorded because `cuMemRangeGetAttribute` returns them.

use crate::error::{CuError, CuResult};
use crate::sys::{CUmem_advise as Advice, CUmem_range_attribute as Attribute, CUmemLocationType};
use std::collections::{BTreeMap, BTreeSet};

/// The unit of hints, in bytes.
const PAGE: u64 = 4096;
/// CU_DEVICE_CPU in cuda.h.
const CPU: i32 = -1;
/// CU_DEVICE_INVALID in cuda.h.
const INVALID: i32 = -2;

/// A place to which memory can be moved: a device, or the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Device(i32),
    Host,
}

impl Place {
    /// Converts a CUdevice, where CU_DEVICE_CPU means the host. `count` is the number of devices.
    pub fn of_device(device: i32, count: usize) -> CuResult<Self> {
        match device {
            CPU => Ok(Self::Host),
            _ if usize::try_from(device).is_ok_and(|device| device < count) => {
                Ok(Self::Device(device))
            }
            _ => Err(CuError::INVALID_DEVICE),
        }
    }

    /// Converts a CUmemLocation. All NUMA nodes of the host count as one place.
    pub fn of_location(kind: CUmemLocationType, id: i32, count: usize) -> CuResult<Self> {
        match kind {
            CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE if id != CPU => {
                Self::of_device(id, count)
            }
            CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST
            | CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA
            | CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => Ok(Self::Host),
            CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE => Err(CuError::INVALID_DEVICE),
            _ => Err(CuError::INVALID_VALUE),
        }
    }

    fn device(self) -> i32 {
        match self {
            Self::Device(device) => device,
            Self::Host => CPU,
        }
    }
}

/// The hints for one page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Hints {
    read_mostly: bool,
    preferred: Option<Place>,
    accessed_by: BTreeSet<Place>,
    prefetched: Option<Place>,
}

/// The hints of one managed allocation.
#[derive(Debug, Default)]
pub struct Managed {
    /// The hints of each range of pages that has any, by the number of its first page.
    pages: BTreeMap<u64, Hints>,
    count: u64,
}

impl Managed {
    /// Creates the record of an allocation of `len` bytes, without hints.
    pub fn new(len: u64) -> Self {
        let count = len.div_ceil(PAGE);
        Self { pages: BTreeMap::from([(0, Hints::default()), (count, Hints::default())]), count }
    }

    /// Changes the hints of all pages that contain a byte of a range, which must lie in the
    /// allocation.
    fn change(&mut self, offset: u64, len: u64, change: impl Fn(&mut Hints)) {
        let (first, end) = (offset / PAGE, (offset + len).div_ceil(PAGE).min(self.count));
        for edge in [first, end] {
            let before = self.pages.range(..=edge).next_back();
            let hints = before.map(|(_, hints)| hints.clone()).unwrap_or_default();
            self.pages.insert(edge, hints);
        }
        self.pages.range_mut(first..end).for_each(|(_, hints)| change(hints));
        // Join neighbors with equal hints, so that the map stays as small as it can be.
        let mut last = None;
        let count = self.count;
        self.pages.retain(|page, hints| {
            let keep = *page == count || last.as_ref() != Some(hints);
            last = Some(hints.clone());
            keep
        });
    }

    /// Records `cuMemAdvise` for a range in the allocation.
    pub fn advise(
        &mut self,
        offset: u64,
        len: u64,
        advice: Advice,
        place: impl FnOnce() -> CuResult<Place>,
    ) -> CuResult {
        match advice {
            Advice::CU_MEM_ADVISE_SET_READ_MOSTLY => {
                self.change(offset, len, |h| h.read_mostly = true)
            }
            Advice::CU_MEM_ADVISE_UNSET_READ_MOSTLY => {
                self.change(offset, len, |h| h.read_mostly = false);
            }
            Advice::CU_MEM_ADVISE_SET_PREFERRED_LOCATION => {
                let place = place()?;
                self.change(offset, len, |h| h.preferred = Some(place));
            }
            Advice::CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION => {
                self.change(offset, len, |h| h.preferred = None);
            }
            Advice::CU_MEM_ADVISE_SET_ACCESSED_BY => {
                let place = place()?;
                self.change(offset, len, |h| {
                    h.accessed_by.insert(place);
                });
            }
            Advice::CU_MEM_ADVISE_UNSET_ACCESSED_BY => {
                let place = place()?;
                self.change(offset, len, |h| {
                    h.accessed_by.remove(&place);
                });
            }
            _ => return Err(CuError::INVALID_VALUE),
        }
        Ok(())
    }

    /// Records `cuMemPrefetchAsync` for a range in the allocation.
    pub fn prefetch(&mut self, offset: u64, len: u64, place: Place) {
        self.change(offset, len, |hints| hints.prefetched = Some(place));
    }

    /// Returns an attribute of a range in the allocation, as `count` integers: a list of devices
    /// for ACCESSED_BY, and a single number for every other attribute.
    pub fn attribute(
        &self,
        offset: u64,
        len: u64,
        attribute: Attribute,
        count: usize,
    ) -> CuResult<Vec<i32>> {
        let (first, end) = (offset / PAGE, (offset + len).div_ceil(PAGE).min(self.count));
        let before = self.pages.range(..=first).next_back().into_iter();
        let within = self.pages.range(first + 1..end.max(first + 1));
        let all: Vec<&Hints> = before.chain(within).map(|(_, hints)| hints).collect();
        let common = |of: fn(&Hints) -> Option<Place>| {
            let place = all.first().and_then(|hints| of(hints));
            place.filter(|_| all.iter().all(|hints| of(hints) == place))
        };
        let preferred = || common(|hints| hints.preferred);
        let prefetched = || common(|hints| hints.prefetched);
        let device = |place: Option<Place>| place.map_or(INVALID, Place::device);
        let kind = |place: Option<Place>| {
            let kind = match place {
                Some(Place::Device(_)) => CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                Some(Place::Host) => CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST,
                None => CUmemLocationType::CU_MEM_LOCATION_TYPE_INVALID,
            };
            kind.0 as i32
        };
        let value = match attribute {
            Attribute::CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY => {
                i32::from(all.iter().all(|hints| hints.read_mostly))
            }
            Attribute::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION
            | Attribute::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID => device(preferred()),
            Attribute::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION
            | Attribute::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID => device(prefetched()),
            Attribute::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE => kind(preferred()),
            Attribute::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE => kind(prefetched()),
            Attribute::CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY => {
                let mut places =
                    all.first().map(|hints| hints.accessed_by.clone()).unwrap_or_default();
                places.retain(|place| all.iter().all(|hints| hints.accessed_by.contains(place)));
                let devices = places.into_iter().map(Place::device);
                return Ok(devices.chain(std::iter::repeat(INVALID)).take(count).collect());
            }
            _ => return Err(CuError::INVALID_VALUE),
        };
        if count == 1 { Ok(vec![value]) } else { Err(CuError::INVALID_VALUE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_a_hint_if_all_its_pages_have_it() {
        let mut memory = Managed::new(10 * PAGE);
        let device = || Ok(Place::Device(0));
        memory.advise(PAGE, 4 * PAGE, Advice::CU_MEM_ADVISE_SET_READ_MOSTLY, device).unwrap();
        memory.advise(0, 3 * PAGE, Advice::CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device).unwrap();
        memory.prefetch(0, 10 * PAGE, Place::Host);
        let get = |memory: &Managed, first: u64, pages: u64, attribute| {
            memory.attribute(first * PAGE, pages * PAGE, attribute, 1).unwrap()[0]
        };
        let read_mostly = Attribute::CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
        assert_eq!(get(&memory, 1, 4, read_mostly), 1);
        assert_eq!(get(&memory, 2, 1, read_mostly), 1);
        assert_eq!(get(&memory, 0, 2, read_mostly), 0);
        assert_eq!(get(&memory, 4, 2, read_mostly), 0);
        let preferred = Attribute::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION;
        assert_eq!((get(&memory, 0, 3, preferred), get(&memory, 2, 2, preferred)), (0, INVALID));
        let prefetched = Attribute::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION;
        assert_eq!(get(&memory, 0, 10, prefetched), CPU);
        memory.prefetch(9 * PAGE, 1, Place::Device(0));
        assert_eq!(get(&memory, 0, 10, prefetched), INVALID);
        assert_eq!(get(&memory, 9, 1, prefetched), 0);
    }

    #[test]
    fn the_devices_that_access_a_range_are_listed() {
        let mut memory = Managed::new(3 * PAGE);
        let accessed = Attribute::CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
        for device in [1, 0] {
            let set = Advice::CU_MEM_ADVISE_SET_ACCESSED_BY;
            memory.advise(0, 3 * PAGE, set, || Ok(Place::Device(device))).unwrap();
        }
        assert_eq!(memory.attribute(0, 3 * PAGE, accessed, 3), Ok(vec![0, 1, INVALID]));
        let unset = Advice::CU_MEM_ADVISE_UNSET_ACCESSED_BY;
        memory.advise(PAGE, 1, unset, || Ok(Place::Device(1))).unwrap();
        assert_eq!(memory.attribute(0, 3 * PAGE, accessed, 2), Ok(vec![0, INVALID]));
        assert_eq!(memory.attribute(0, 1, accessed, 2), Ok(vec![0, 1]));
    }

    #[test]
    fn hints_take_little_memory() {
        let mut memory = Managed::new(1 << 40);
        for page in 0..1000 {
            memory.prefetch(page * PAGE, PAGE, Place::Host);
        }
        assert_eq!(memory.pages.len(), 3);
    }

    #[test]
    fn invalid_hints_are_refused() {
        let mut memory = Managed::new(PAGE);
        assert_eq!(Place::of_device(2, 2), Err(CuError::INVALID_DEVICE));
        assert_eq!(Place::of_device(CPU, 2), Ok(Place::Host));
        let place = || Ok(Place::Host);
        assert_eq!(memory.advise(0, 1, Advice(99), place), Err(CuError::INVALID_VALUE));
        assert_eq!(memory.attribute(0, 1, Attribute(99), 1), Err(CuError::INVALID_VALUE));
        let read_mostly = Attribute::CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
        assert_eq!(memory.attribute(0, 1, read_mostly, 2), Err(CuError::INVALID_VALUE));
    }
}
