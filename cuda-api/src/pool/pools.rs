//! The memory pools of a process by handle, and the entry points for pools.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::sharing::{Name, SharedPool, Sharing, WORDS, new_name};
use crate::args::{In, Out};
use crate::error::{CuError, CuResult};
use crate::sys::{
    CUdeviceptr, CUmemAccess_flags as Access, CUmemAccessDesc, CUmemAllocationHandleType,
    CUmemAllocationType, CUmemLocation, CUmemLocationType, CUmemPool_attribute as A,
    CUmemPoolProps, CUmemoryPool, CUstream,
};

/// Handles start above all addresses that a Linux process on x86-64 can map, and above the handles
/// of graphs.
const FIRST_HANDLE: usize = 1 << 49;
const STEP: usize = 16;
const INVALID: CuError = CuError::INVALID_VALUE;
const DEVICE: CUmemLocationType = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
const PINNED: CUmemAllocationType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
pub(super) const NO_HANDLES: CUmemAllocationHandleType =
    CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE;
pub(super) const FILE: CUmemAllocationHandleType =
    CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
/// The number of attributes that only say how the pool may reuse memory.
const REUSE_FLAGS: usize = 3;

/// A memory pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolInfo {
    /// The handle that the program uses.
    pub handle: usize,
    /// The library's id for the pool. An imported pool has none.
    pub id: u64,
    /// The ordinal of the device on which the pool allocates.
    pub device: i32,
    /// Whether this is the device's default pool.
    pub default: bool,
    /// How the pool is shared with other processes.
    pub sharing: Sharing,
    /// The attributes that say how the pool may reuse memory. They have no effect: memory is reused
    /// in another stream only after the GPU has finished the work before the free.
    reuse: [u32; REUSE_FLAGS],
    /// The other devices that have access, as a set of bits by ordinal.
    others: u64,
}

#[derive(Default)]
struct State {
    last: usize,
    pools: HashMap<usize, PoolInfo>,
    /// Each device's default pool.
    defaults: HashMap<i32, usize>,
    /// Each device's current pool, if that isn't the default one.
    current: HashMap<i32, usize>,
}

/// The purpose of a new pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// A device's default pool.
    Default,
    /// A pool whose memory this process alone uses.
    Private,
    /// A pool that other processes can import.
    Shareable,
}

/// All memory pools of a process.
#[derive(Default)]
pub struct Pools {
    state: Mutex<State>,
    /// The library's id for the pool of each device from which graphs allocate.
    pub(super) of_graphs: Mutex<HashMap<i32, u64>>,
}

/// The functions that a libcuda provides to the entry points for pools.
pub trait Library: 'static {
    /// Returns all pools of the process.
    fn pools() -> &'static Pools;

    /// Fails unless `cuInit` was called and there is a device with this ordinal.
    fn check_device(device: i32) -> CuResult;

    /// Returns whether a device can access the memory of another one, on which a pool allocates.
    fn can_access(device: i32, holder: i32) -> CuResult<bool>;

    /// Creates a pool with at most `max_size` bytes, or without a maximum if that is 0. Returns an
    /// id, with which the functions below identify the pool.
    fn create(device: i32, kind: PoolKind, max_size: usize) -> CuResult<u64>;

    /// Destroys a pool. Its allocations stay valid.
    fn destroy(id: u64) -> CuResult;

    /// Implements `cuMemPoolTrimTo`.
    fn trim(id: u64, keep: usize) -> CuResult;

    /// Sets the release threshold, or resets one of the two high-water marks.
    fn set(id: u64, attribute: A, value: u64) -> CuResult;

    /// Returns the release threshold, or an amount of memory.
    fn get(id: u64, attribute: A) -> CuResult<u64>;

    /// Returns the device of a stream. A null handle means the calling thread's default stream if
    /// `per_thread` is set, otherwise the legacy stream.
    fn device_of(stream: CUstream, per_thread: bool) -> CuResult<i32>;

    /// Allocates memory for work that follows the stream's present work.
    fn allocate(
        pool: &PoolInfo,
        bytes: usize,
        stream: CUstream,
        per_thread: bool,
    ) -> CuResult<CUdeviceptr>;

    /// Returns a new file descriptor that represents a pool.
    fn export(pool: SharedPool) -> CuResult<OwnedFd>;

    /// Returns the pool that one of the program's file descriptors represents.
    fn import(descriptor: c_int) -> CuResult<SharedPool>;

    /// Returns the handle of the pool from which the allocation at this address was made.
    fn pool_of(address: CUdeviceptr) -> Option<usize>;

    /// Exports an allocation of a pool, and returns its description.
    fn export_pointer(address: CUdeviceptr) -> CuResult<[u64; WORDS]>;

    /// Maps another process's allocation, as memory of an imported pool. A program can forge the
    /// description.
    fn import_pointer(pool: &PoolInfo, allocation: [u64; WORDS]) -> CuResult<CUdeviceptr>;
}

impl State {
    fn pool(&self, handle: usize) -> CuResult<&PoolInfo> {
        self.pools.get(&handle).ok_or(INVALID)
    }

    fn add(&mut self, id: u64, device: i32, default: bool, sharing: Sharing) -> usize {
        self.last += 1;
        let handle = FIRST_HANDLE + self.last * STEP;
        let (reuse, others) = ([1; REUSE_FLAGS], 0);
        let pool = PoolInfo { handle, id, device, default, sharing, reuse, others };
        self.pools.insert(handle, pool);
        handle
    }

    fn default_of<L: Library>(&mut self, device: i32) -> CuResult<usize> {
        L::check_device(device)?;
        if let Some(handle) = self.defaults.get(&device) {
            return Ok(*handle);
        }
        let id = L::create(device, PoolKind::Default, 0)?;
        let handle = self.add(id, device, true, Sharing::None);
        self.defaults.insert(device, handle);
        Ok(handle)
    }

    fn current_of<L: Library>(&mut self, device: i32) -> CuResult<usize> {
        L::check_device(device)?;
        match self.current.get(&device) {
            Some(handle) => Ok(*handle),
            None => self.default_of::<L>(device),
        }
    }
}

fn lock<L: Library>() -> MutexGuard<'static, State> {
    L::pools().state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a pool by handle.
pub(super) fn pool<L: Library>(handle: CUmemoryPool) -> CuResult<PoolInfo> {
    lock::<L>().pool(handle as usize).copied()
}

/// Records that a pool has been exported.
pub(super) fn set_exported<L: Library>(handle: CUmemoryPool, name: Name) {
    if let Some(pool) = lock::<L>().pools.get_mut(&(handle as usize)) {
        pool.sharing = Sharing::Exported(name);
    }
}

/// Adds a pool of another process, and returns its handle.
pub(super) fn add_imported<L: Library>(SharedPool { name, device }: SharedPool) -> CUmemoryPool {
    lock::<L>().add(0, device, false, Sharing::Imported(name)) as CUmemoryPool
}

impl PoolInfo {
    fn is_imported(&self) -> bool {
        matches!(self.sharing, Sharing::Imported(_))
    }

    /// Returns the library's id for the pool. The amounts and settings of another process's pool
    /// are unknown.
    fn own_id(&self) -> CuResult<u64> {
        if self.is_imported() { Err(CuError::NOT_SUPPORTED) } else { Ok(self.id) }
    }
}

/// Returns the device that a location means, for calls that select a device's pool.
fn device_at(location: In<CUmemLocation>, kind: CUmemAllocationType) -> CuResult<i32> {
    let CUmemLocation { type_, id } = location.get()?;
    match (type_, kind) {
        (DEVICE, PINNED) => Ok(id),
        _ => Err(CuError::NOT_SUPPORTED),
    }
}

/// Implements `cuDeviceGetDefaultMemPool`.
pub fn default<L: Library>(to: Out<CUmemoryPool>, device: i32) -> CuResult {
    to.check()?;
    to.set(lock::<L>().default_of::<L>(device)? as CUmemoryPool)
}

/// Implements `cuMemGetDefaultMemPool`.
pub fn default_at<L: Library>(
    to: Out<CUmemoryPool>,
    location: In<CUmemLocation>,
    kind: CUmemAllocationType,
) -> CuResult {
    default::<L>(to, device_at(location, kind)?)
}

/// Implements `cuDeviceGetMemPool`.
pub fn current<L: Library>(to: Out<CUmemoryPool>, device: i32) -> CuResult {
    to.check()?;
    check_device_of_current::<L>(device)?;
    to.set(lock::<L>().current_of::<L>(device)? as CUmemoryPool)
}

/// Implements `cuMemGetMemPool`.
pub fn current_at<L: Library>(
    to: Out<CUmemoryPool>,
    location: In<CUmemLocation>,
    kind: CUmemAllocationType,
) -> CuResult {
    current::<L>(to, device_at(location, kind)?)
}

/// Fails with the error of the functions for a device's current pool, which differs from that of
/// the function for the default pool.
fn check_device_of_current<L: Library>(device: i32) -> CuResult {
    L::check_device(device).map_err(|error| match error {
        CuError::INVALID_DEVICE => INVALID,
        other => other,
    })
}

/// Implements `cuDeviceSetMemPool`.
pub fn set_current<L: Library>(device: i32, handle: CUmemoryPool) -> CuResult {
    check_device_of_current::<L>(device)?;
    let mut state = lock::<L>();
    let pool = state.pool(handle as usize)?;
    if pool.device != device || pool.is_imported() {
        return Err(INVALID);
    }
    state.current.insert(device, handle as usize);
    Ok(())
}

/// Implements `cuMemSetMemPool`.
pub fn set_current_at<L: Library>(
    location: In<CUmemLocation>,
    kind: CUmemAllocationType,
    handle: CUmemoryPool,
) -> CuResult {
    set_current::<L>(device_at(location, kind)?, handle)
}

/// Implements `cuMemPoolCreate`.
pub fn create<L: Library>(to: Out<CUmemoryPool>, properties: In<CUmemPoolProps>) -> CuResult {
    to.check()?;
    let properties = properties.get()?;
    let CUmemLocation { type_: place, id: device } = properties.location;
    match properties.allocType {
        PINNED => {}
        CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED => return Err(CuError::NOT_SUPPORTED),
        _ => return Err(INVALID),
    }
    if place == CUmemLocationType::CU_MEM_LOCATION_TYPE_INVALID {
        return Err(INVALID);
    }
    let (kind, sharing) = match properties.handleTypes {
        NO_HANDLES => (PoolKind::Private, Sharing::None),
        FILE => (PoolKind::Shareable, Sharing::Exportable(new_name()?)),
        _ => return Err(CuError::NOT_SUPPORTED),
    };
    if place != DEVICE || properties.usage != 0 {
        return Err(CuError::NOT_SUPPORTED);
    }
    L::check_device(device)?;
    let id = L::create(device, kind, properties.maxSize)?;
    to.set(lock::<L>().add(id, device, false, sharing) as CUmemoryPool)
}

/// Implements `cuMemPoolDestroy`. Allocations that were imported with the pool stay valid, too.
pub fn destroy<L: Library>(handle: CUmemoryPool) -> CuResult {
    let pool = {
        let mut state = lock::<L>();
        let pool = *state.pool(handle as usize)?;
        if pool.default {
            return Err(INVALID);
        }
        state.pools.remove(&pool.handle);
        // Without an entry in this map, a device's current pool is its default pool again.
        state.current.retain(|_, current| *current != pool.handle);
        pool
    };
    if pool.is_imported() { Ok(()) } else { L::destroy(pool.id) }
}

/// Implements `cuMemPoolTrimTo`. An imported pool has no memory that isn't in use.
pub fn trim<L: Library>(handle: CUmemoryPool, keep: usize) -> CuResult {
    let pool = pool::<L>(handle)?;
    if pool.is_imported() { Ok(()) } else { L::trim(pool.id, keep) }
}

/// Returns the index of an attribute that says how the pool may reuse memory.
fn reuse_flag(attribute: A) -> Option<usize> {
    match attribute {
        A::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES => Some(0),
        A::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC => Some(1),
        A::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES => Some(2),
        _ => None,
    }
}

/// Implements `cuMemPoolSetAttribute`.
pub fn set_attribute<L: Library>(
    handle: CUmemoryPool,
    attribute: A,
    value: Out<c_void>,
) -> CuResult {
    let found = pool::<L>(handle)?;
    if let Some(flag) = reuse_flag(attribute) {
        // SAFETY: the program passes a pointer to the attribute's type, an int.
        let value = unsafe { value.cast::<u32>() }.read()?;
        if let Some(pool) = lock::<L>().pools.get_mut(&found.handle) {
            pool.reuse[flag] = value;
        }
        return Ok(());
    }
    // SAFETY: the program passes a pointer to the attribute's type, a cuuint64_t.
    let value = unsafe { value.cast::<u64>() }.read()?;
    match attribute {
        A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => {}
        A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH | A::CU_MEMPOOL_ATTR_USED_MEM_HIGH if value == 0 => {}
        _ => return Err(INVALID),
    }
    L::set(found.own_id()?, attribute, value)
}

/// Implements `cuMemPoolGetAttribute`.
pub fn attribute<L: Library>(handle: CUmemoryPool, attribute: A, value: Out<c_void>) -> CuResult {
    value.check()?;
    let found = pool::<L>(handle)?;
    if let Some(flag) = reuse_flag(attribute) {
        // SAFETY: the program passes a pointer to the attribute's type, an int.
        return unsafe { value.cast::<u32>() }.set(found.reuse[flag]);
    }
    match attribute {
        A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        | A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
        | A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH
        | A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT
        | A::CU_MEMPOOL_ATTR_USED_MEM_HIGH => {
            // SAFETY: the program passes a pointer to the attribute's type, a cuuint64_t.
            unsafe { value.cast::<u64>() }.set(L::get(found.own_id()?, attribute)?)
        }
        _ => Err(INVALID),
    }
}

/// Returns the bit of a device in [`PoolInfo::others`].
fn bit(device: i32) -> Option<u64> {
    u32::try_from(device).ok().and_then(|device| 1u64.checked_shl(device))
}

/// Implements `cuMemPoolSetAccess`. A pool's own device always has access. The libraries map memory
/// so that all devices that can access it have access, so this only records what the program asked
/// for.
///
/// # Safety
///
/// If not null, the array must have `count` elements.
pub unsafe fn set_access<L: Library>(
    handle: CUmemoryPool,
    map: In<CUmemAccessDesc>,
    count: usize,
) -> CuResult {
    let pool = pool::<L>(handle)?;
    // SAFETY: the array has `count` elements, as the caller promises.
    let map = unsafe { map.array(count) };
    let mut others = pool.others;
    for index in 0..count {
        let CUmemAccessDesc { location: CUmemLocation { type_, id }, flags } = map.get(index)?;
        if type_ != DEVICE {
            return Err(CuError::NOT_SUPPORTED);
        }
        L::check_device(id).map_err(|_| CuError::INVALID_DEVICE)?;
        let bit = bit(id).ok_or(CuError::INVALID_DEVICE)?;
        match flags {
            Access::CU_MEM_ACCESS_FLAGS_PROT_READWRITE if id == pool.device => {}
            Access::CU_MEM_ACCESS_FLAGS_PROT_READWRITE => {
                if !L::can_access(id, pool.device)? {
                    return Err(CuError::INVALID_DEVICE);
                }
                others |= bit;
            }
            Access::CU_MEM_ACCESS_FLAGS_PROT_NONE if id == pool.device => {
                return Err(CuError::INVALID_DEVICE);
            }
            Access::CU_MEM_ACCESS_FLAGS_PROT_NONE => others &= !bit,
            Access::CU_MEM_ACCESS_FLAGS_PROT_READ => return Err(CuError::NOT_SUPPORTED),
            _ => return Err(INVALID),
        }
    }
    lock::<L>().pools.get_mut(&pool.handle).ok_or(INVALID)?.others = others;
    Ok(())
}

/// Implements `cuMemPoolGetAccess`.
pub fn access<L: Library>(
    flags: Out<Access>,
    handle: CUmemoryPool,
    location: In<CUmemLocation>,
) -> CuResult {
    flags.check()?;
    let pool = pool::<L>(handle)?;
    let CUmemLocation { type_, id } = location.get()?;
    if type_ != DEVICE {
        return Err(INVALID);
    }
    L::check_device(id).map_err(|_| INVALID)?;
    let has_access = id == pool.device || bit(id).is_some_and(|bit| pool.others & bit != 0);
    flags.set(match has_access {
        true => Access::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        false => Access::CU_MEM_ACCESS_FLAGS_PROT_NONE,
    })
}

/// Implements `cuMemAllocFromPoolAsync`, or `cuMemAllocAsync` if `from` is `None`.
pub fn allocate<L: Library>(
    to: Out<CUdeviceptr>,
    bytes: usize,
    from: Option<CUmemoryPool>,
    stream: CUstream,
    per_thread: bool,
) -> CuResult {
    to.check()?;
    let device = L::device_of(stream, per_thread)?;
    let pool = {
        let mut state = lock::<L>();
        let handle = match from {
            Some(handle) => handle as usize,
            None => state.current_of::<L>(device)?,
        };
        *state.pool(handle)?
    };
    if pool.is_imported() {
        return Err(INVALID);
    }
    if bytes == 0 {
        return to.set(0);
    }
    to.set(L::allocate(&pool, bytes, stream, per_thread)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Arg;
    use std::sync::LazyLock;

    static POOLS: LazyLock<Pools> = LazyLock::new(Pools::default);

    /// A library with two devices.
    struct Fake;

    impl Library for Fake {
        fn pools() -> &'static Pools {
            &POOLS
        }
        fn check_device(device: i32) -> CuResult {
            if (0..2).contains(&device) { Ok(()) } else { Err(CuError::INVALID_DEVICE) }
        }
        fn can_access(_: i32, _: i32) -> CuResult<bool> {
            Ok(true)
        }
        fn create(device: i32, kind: PoolKind, _: usize) -> CuResult<u64> {
            Ok(if kind == PoolKind::Default { device as u64 } else { 100 })
        }
        fn destroy(_: u64) -> CuResult {
            Ok(())
        }
        fn trim(_: u64, _: usize) -> CuResult {
            Ok(())
        }
        fn set(_: u64, _: A, _: u64) -> CuResult {
            Ok(())
        }
        fn get(_: u64, _: A) -> CuResult<u64> {
            Ok(0)
        }
        fn device_of(_: CUstream, _: bool) -> CuResult<i32> {
            Ok(1)
        }
        fn allocate(pool: &PoolInfo, _: usize, _: CUstream, _: bool) -> CuResult<CUdeviceptr> {
            Ok(pool.id)
        }
        fn export(_: SharedPool) -> CuResult<OwnedFd> {
            Err(INVALID)
        }
        fn import(_: c_int) -> CuResult<SharedPool> {
            Err(INVALID)
        }
        fn pool_of(_: CUdeviceptr) -> Option<usize> {
            None
        }
        fn export_pointer(_: CUdeviceptr) -> CuResult<[u64; WORDS]> {
            Err(INVALID)
        }
        fn import_pointer(_: &PoolInfo, _: [u64; WORDS]) -> CuResult<CUdeviceptr> {
            Err(INVALID)
        }
    }

    fn returned<T: Copy>(value: T, call: impl FnOnce(Out<T>) -> CuResult) -> CuResult<T> {
        let mut value = value;
        // SAFETY: the pointer is to a local variable.
        call(unsafe { Out::from_c(&mut value) })?;
        Ok(value)
    }

    #[test]
    fn destroying_the_current_pool_makes_the_default_one_current() {
        let null: CUmemoryPool = std::ptr::null_mut();
        let default_pool = returned(null, |to| default::<Fake>(to, 1)).unwrap();
        let properties = CUmemPoolProps {
            allocType: PINNED,
            handleTypes: NO_HANDLES,
            location: CUmemLocation { type_: DEVICE, id: 1 },
            win32SecurityAttributes: std::ptr::null_mut(),
            maxSize: 0,
            usage: 0,
            reserved: [0; 54],
        };
        // SAFETY: the pointer is to a local variable.
        let given = unsafe { In::from_c(&raw const properties) };
        let own = returned(null, |to| create::<Fake>(to, given)).unwrap();
        assert_eq!(set_current::<Fake>(0, own), Err(INVALID), "it is on the other device");
        set_current::<Fake>(1, own).unwrap();
        let allocated = || returned(7, |to| allocate::<Fake>(to, 8, None, null.cast(), false));
        assert_eq!((returned(null, |to| current::<Fake>(to, 1)), allocated()), (Ok(own), Ok(100)));
        destroy::<Fake>(own).unwrap();
        let current_pool = returned(null, |to| current::<Fake>(to, 1));
        assert_eq!((current_pool, allocated()), (Ok(default_pool), Ok(1)));
        assert!(destroy::<Fake>(own).is_err() && destroy::<Fake>(default_pool).is_err());
    }
}
