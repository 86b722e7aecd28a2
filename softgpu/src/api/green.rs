//! The SMs of green contexts, and their creation. softgpu splits a device's SMs as an H200 does, but executes all work on all of the
//! host's processors.

use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use cuda_api::error::{CuError, CuResult};
use cuda_api::green::{Descriptors, Library, Part, Parts, Provision, Sms, Split};
use cuda_api::sys::{CUcontext, CUdevSmResourceSplit_flags, CUgreenCtx};

use super::context::retain;
use super::entry::EntryPoint;
use crate::state::context::{Context, by_handle};
use crate::state::device::driver;
use crate::state::graph::Software;
use crate::state::handles::{Kind, Table};
use crate::state::strict::{self, End};

cuda_api::green_entries!(Software, EntryPoint);

const IGNORE_COSCHEDULING: u32 =
    CUdevSmResourceSplit_flags::CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING.0;
/// Number of SMs that are always scheduled together on compute capability 9.0.
const TOGETHER: u32 = 8;
/// Size of the smallest group, in SMs, if the program ignores the coscheduling of SMs.
const APART: u32 = 2;

/// A green context, or `None` if it has been destroyed.
struct Slot(Mutex<Option<Arc<Context>>>);

/// The green contexts by handle. A handle stays in the table when its green context is destroyed.
static GREENS: Table<Slot> = Table::new(Kind::Green);
static DESCRIPTORS: LazyLock<Descriptors> = LazyLock::new(Descriptors::default);

/// Returns a green context that hasn't been destroyed.
pub(super) fn named(handle: CUgreenCtx) -> CuResult<Arc<Context>> {
    driver()?;
    let slot = GREENS.get(handle as usize).ok_or(CuError::INVALID_CONTEXT)?;
    let context = slot.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let context = context.filter(|context| context.active.load(Ordering::Acquire));
    context.ok_or_else(|| {
        strict::stale(Kind::Green, handle as usize, End::Destroyed);
        CuError::CONTEXT_IS_DESTROYED
    })
}

/// Marks a green context as destroyed, and returns its context.
pub(super) fn end(handle: CUgreenCtx) -> CuResult<Arc<Context>> {
    let context = named(handle)?;
    if let Some(slot) = GREENS.get(handle as usize) {
        *slot.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
    Ok(context)
}

/// Returns the number of SMs by which group sizes must be divisible. It's reduced on a device with
/// few SMs, so that the device can still be split into two groups.
fn unit(total: u32, flags: u32) -> u32 {
    let unit = if flags & IGNORE_COSCHEDULING != 0 { APART } else { TOGETHER };
    let fits = |unit: &u32| *unit == 1 || unit * 2 <= total;
    std::iter::successors(Some(unit), |unit| Some(unit / 2)).find(fits).unwrap_or(1)
}

fn sms(count: u32, flags: u32) -> Sms {
    let unit = unit(count, flags);
    Sms { smCount: count, minSmPartitionSize: unit, smCoscheduledAlignment: unit }
}

/// Splits `total` SMs into groups of equal size. The SMs that are left over form the rest.
fn parts(total: u32, Split { groups, flags, min_count }: Split) -> CuResult<Parts> {
    if min_count > total {
        return Err(CuError::INVALID_RESOURCE_CONFIGURATION);
    }
    let size = min_count.max(1).next_multiple_of(unit(total, flags)).min(total);
    let most = total / size;
    let made = if groups == 0 { most } else { groups.min(most) };
    Ok(Parts { made, group: sms(size, flags), rest: sms(total - made * size, flags) })
}

impl Library for Software {
    fn descriptors() -> &'static Descriptors {
        &DESCRIPTORS
    }

    fn check_device(device: i32) -> CuResult {
        driver()?.device(device).map(drop)
    }

    fn sms(device: i32, source: u64) -> CuResult<Sms> {
        if source != 0 {
            let context = named(source as CUgreenCtx)?;
            return context.green.as_ref().map(|green| green.sms).ok_or(CuError::INVALID_CONTEXT);
        }
        Ok(sms(driver()?.device(device)?.processors, 0))
    }

    fn split(device: i32, source: u64, split: Split) -> CuResult<Parts> {
        parts(<Self as Library>::sms(device, source)?.smCount, split)
    }

    fn green(handle: CUgreenCtx) -> CuResult<(i32, u64)> {
        Ok((named(handle)?.ordinal, handle as u64))
    }

    fn context(handle: CUcontext) -> CuResult<(i32, u64)> {
        let context = by_handle(handle as usize)?;
        Ok((context.ordinal, context.green.as_ref().map_or(0, |green| green.handle as u64)))
    }

    fn create(provision: &Provision) -> CuResult<CUgreenCtx> {
        let Provision { device, source, split, ref parts } = *provision;
        let made = match parts[..] {
            [part] if Part::from_number(part) == Part::Whole => None,
            _ => Some(<Self as Library>::split(device, source, split)?),
        };
        let mut count = 0;
        for part in parts {
            count += match (Part::from_number(*part), made) {
                (Part::Group(index), Some(made)) if index < made.made => made.group.smCount,
                (Part::Rest, Some(made)) => made.rest.smCount,
                (Part::Whole, None) => <Self as Library>::sms(device, source)?.smCount,
                _ => return Err(CuError::INVALID_RESOURCE_CONFIGURATION),
            };
        }
        let home = retain(device)?;
        let (handle, slot) = GREENS.insert_with(|_| Slot(Mutex::new(None)));
        let context = Context::new_green(&home, sms(count, split.flags), handle);
        *slot.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(context);
        Ok(handle as CUgreenCtx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sms_are_split_as_on_an_h200() {
        let made = |flags, min_count| {
            let parts = parts(132, Split { groups: 1, flags, min_count }).unwrap();
            (parts.made, parts.group.smCount, parts.rest.smCount)
        };
        for (min_count, size) in [
            (1, 8),
            (2, 8),
            (8, 8),
            (9, 16),
            (16, 16),
            (17, 24),
            (100, 104),
            (131, 132),
            (132, 132),
        ] {
            assert_eq!(made(0, min_count), (1, size, 132 - size), "{min_count}");
        }
        for (min_count, size) in [(1, 2), (2, 2), (3, 4), (16, 16)] {
            assert_eq!(made(IGNORE_COSCHEDULING, min_count), (1, size, 132 - size), "{min_count}");
        }
        let refused = parts(132, Split { groups: 1, flags: 0, min_count: 133 });
        assert_eq!(refused, Err(CuError::INVALID_RESOURCE_CONFIGURATION));
        let all = parts(132, Split { groups: 8, flags: 0, min_count: 16 }).unwrap();
        assert_eq!((all.made, all.group.smCount, all.rest.smCount), (8, 16, 4));
    }

    #[test]
    fn a_device_with_few_sms_can_be_split() {
        for total in 2..20 {
            let split = parts(total, Split { groups: 0, flags: 0, min_count: 1 }).unwrap();
            assert!(split.made >= 2, "{total} SMs");
        }
        assert_eq!(parts(1, Split { groups: 0, flags: 0, min_count: 1 }).unwrap().made, 1);
    }
}
