//! Descriptors of sets of SMs, and the entry points that split SMs.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::resource::{Part, Parts, Resource, Sms, Split};
use crate::args::{In, Out};
use crate::error::{CuError, CuResult};
use crate::sys::{
    CUdevResource, CUdevResourceDesc, CUdevResourceType, CUdevSmResourceSplit_flags as Flags,
    CUgreenCtx, CUgreenCtxCreate_flags,
};

/// Handles start above all addresses that a Linux process on x86-64 can map, and above the handles
/// of memory pools.
const FIRST_HANDLE: usize = 1 << 50;
const STEP: usize = 16;
/// A number of groups that exceeds the number of SMs of every GPU.
const GROUPS_MAX: u32 = 1024;
const SM: u32 = CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM.0;
const KNOWN_FLAGS: u32 = Flags::CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING.0
    | Flags::CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE.0;
const DEFAULT_STREAM: u32 = CUgreenCtxCreate_flags::CU_GREEN_CTX_DEFAULT_STREAM.0;
const INVALID: CuError = CuError::INVALID_VALUE;
const CONFIGURATION: CuError = CuError::INVALID_RESOURCE_CONFIGURATION;

/// The SMs that a green context gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provision {
    /// The ordinal of the device.
    pub device: i32,
    /// The library's id of the green context whose SMs were split, or 0 for the device's.
    pub source: u64,
    pub split: Split,
    /// The numbers of the parts ([`Part::number`]), without duplicates. [`Part::Whole`] is never
    /// combined with other parts.
    pub parts: Vec<u32>,
}

/// The descriptors that a program has made, by handle. CUDA has no function that destroys them.
#[derive(Default)]
pub struct Descriptors {
    all: Mutex<HashMap<usize, Provision>>,
}

impl Descriptors {
    fn lock(&self) -> MutexGuard<'_, HashMap<usize, Provision>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The functions that a libcuda provides to the entry points for green contexts.
pub trait Library: 'static {
    /// Returns all descriptors of the process.
    fn descriptors() -> &'static Descriptors;

    /// Fails unless `cuInit` was called and there is a device with this ordinal.
    fn check_device(device: i32) -> CuResult;

    /// Returns the SMs of a green context, or of the device if `source` is 0.
    fn sms(device: i32, source: u64) -> CuResult<Sms>;

    /// Splits the SMs of a green context, or of the device if `source` is 0.
    fn split(device: i32, source: u64, split: Split) -> CuResult<Parts>;

    /// Returns the device and the id of a green context.
    fn green(handle: CUgreenCtx) -> CuResult<(i32, u64)>;

    /// Returns the device of a context, and the id of the green context that was converted to it,
    /// or 0.
    fn context(handle: crate::sys::CUcontext) -> CuResult<(i32, u64)>;

    /// Creates a green context.
    fn create(provision: &Provision) -> CuResult<CUgreenCtx>;
}

/// Stores all SMs of a green context or device.
fn set_whole<L: Library>(
    to: Out<CUdevResource>,
    (device, source): (i32, u64),
    kind: u32,
) -> CuResult {
    to.check()?;
    if kind != SM {
        return Err(CuError::INVALID_RESOURCE_TYPE);
    }
    let sms = L::sms(device, source)?;
    to.set(Resource { device, source, split: Split::default(), part: Part::Whole, sms }.to_c())
}

/// Implements `cuDeviceGetDevResource`.
pub fn of_device<L: Library>(device: i32, to: Out<CUdevResource>, kind: u32) -> CuResult {
    L::check_device(device)?;
    set_whole::<L>(to, (device, 0), kind)
}

/// Implements `cuCtxGetDevResource`.
pub fn of_context<L: Library>(
    context: crate::sys::CUcontext,
    to: Out<CUdevResource>,
    kind: u32,
) -> CuResult {
    L::check_device(0)?;
    set_whole::<L>(to, L::context(context)?, kind)
}

/// Implements `cuGreenCtxGetDevResource`.
pub fn of_green<L: Library>(green: CUgreenCtx, to: Out<CUdevResource>, kind: u32) -> CuResult {
    L::check_device(0)?;
    set_whole::<L>(to, L::green(green)?, kind)
}

/// Implements `cuDevSmResourceSplitByCount`. If `result` is null, only counts the groups. As in
/// NVIDIA's driver, unknown flags are ignored.
///
/// # Safety
///
/// If not null, `result` must have room for as many resources as `count` says.
pub unsafe fn split<L: Library>(
    result: Out<CUdevResource>,
    count: Out<u32>,
    input: In<CUdevResource>,
    remaining: Out<CUdevResource>,
    (flags, min_count): (u32, u32),
) -> CuResult {
    L::check_device(0)?;
    count.check()?;
    let input = Resource::from_c(&input.get()?)?;
    L::check_device(input.device).map_err(|_| CONFIGURATION)?;
    if input.part != Part::Whole {
        return Err(CONFIGURATION);
    }
    let wanted = match result.is_wanted() {
        true => count.read()?.min(GROUPS_MAX),
        false => 0,
    };
    if result.is_wanted() && wanted == 0 {
        return Err(INVALID);
    }
    let split = Split { groups: wanted, flags: flags & KNOWN_FLAGS, min_count };
    let Parts { made, group, rest } = L::split(input.device, input.source, split)?;
    let made = if result.is_wanted() { made.min(wanted) } else { made };
    let part = |part, sms| Resource { split, part, sms, ..input }.to_c();
    if result.is_wanted() {
        // SAFETY: the array has room for `wanted` resources, as the caller promises.
        let groups = unsafe { result.array(wanted as usize) };
        groups.set_all((0..made).map(|index| part(Part::Group(index), group)))?;
        remaining.set_if_wanted(part(Part::Rest, rest));
    }
    count.set(made)
}

/// Returns the SMs of a whole device.
fn whole(device: i32) -> Provision {
    Provision { device, source: 0, split: Split::default(), parts: vec![Part::Whole.number()] }
}

/// Returns the SMs that resources describe together.
fn provision(resources: &[Resource]) -> CuResult<Provision> {
    let first = resources.first().ok_or(INVALID)?;
    let Resource { device, source, split, .. } = *first;
    let same = |other: &Resource| {
        (other.device, other.source, other.split) == (device, source, split)
            && other.sms.smCount > 0
    };
    let parts: BTreeSet<u32> = resources.iter().map(|resource| resource.part.number()).collect();
    let is_whole = parts.contains(&Part::Whole.number());
    if !resources.iter().all(same) || parts.len() < resources.len() || is_whole && parts.len() > 1 {
        return Err(CONFIGURATION);
    }
    let split = if is_whole { Split::default() } else { split };
    Ok(Provision { device, source, split, parts: parts.into_iter().collect() })
}

/// Implements `cuDevResourceGenerateDesc`.
///
/// # Safety
///
/// If not null, the array must have `count` elements.
pub unsafe fn describe<L: Library>(
    to: Out<CUdevResourceDesc>,
    resources: In<CUdevResource>,
    count: u32,
) -> CuResult {
    L::check_device(0)?;
    to.check()?;
    if count == 0 || count > GROUPS_MAX {
        return Err(INVALID);
    }
    // SAFETY: the array has `count` elements, as the caller promises.
    let resources = unsafe { resources.array(count as usize) };
    let resources = (0..count as usize).map(|index| Resource::from_c(&resources.get(index)?));
    let provision = provision(&resources.collect::<CuResult<Vec<_>>>()?)?;
    L::check_device(provision.device).map_err(|_| CONFIGURATION)?;
    let mut all = L::descriptors().lock();
    let handle = FIRST_HANDLE + (all.len() + 1) * STEP;
    all.insert(handle, provision);
    to.set(handle as CUdevResourceDesc)
}

/// Implements `cuGreenCtxCreate`. A null descriptor means all SMs of the device.
pub fn create<L: Library>(
    to: Out<CUgreenCtx>,
    descriptor: CUdevResourceDesc,
    device: i32,
    flags: u32,
) -> CuResult {
    L::check_device(device)?;
    to.check()?;
    if flags != DEFAULT_STREAM {
        return Err(INVALID);
    }
    let provision = match descriptor as usize {
        0 => whole(device),
        handle => L::descriptors().lock().get(&handle).cloned().ok_or(INVALID)?,
    };
    if provision.device != device {
        return Err(INVALID);
    }
    to.set(L::create(&provision)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(part: Part) -> Resource {
        let split = Split { groups: 2, flags: 0, min_count: 8 };
        let sms = Sms { smCount: 8, minSmPartitionSize: 8, smCoscheduledAlignment: 8 };
        Resource { device: 0, source: 0, split, part, sms }
    }

    #[test]
    fn a_descriptor_contains_parts_of_one_split() {
        let (one, two, rest) =
            (resource(Part::Group(0)), resource(Part::Group(1)), resource(Part::Rest));
        let made = provision(&[rest, two, one]).unwrap();
        assert_eq!(made.parts, [0, 1, Part::Rest.number()]);
        assert_eq!(provision(&[]), Err(INVALID));
        assert_eq!(provision(&[one, one]), Err(CONFIGURATION), "twice the same");
        assert_eq!(provision(&[one, resource(Part::Whole)]), Err(CONFIGURATION));
        for other in [
            Resource { device: 1, ..two },
            Resource { source: 7, ..two },
            Resource { split: Split { groups: 3, ..two.split }, ..two },
        ] {
            assert_eq!(provision(&[one, other]), Err(CONFIGURATION));
        }
        let empty = Resource { sms: Sms::default(), ..rest };
        assert_eq!(provision(&[empty]), Err(CONFIGURATION), "no SMs");
    }
}
