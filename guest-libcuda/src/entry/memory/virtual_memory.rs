//! Entry points for virtual memory management: the program reserves addresses, creates physical
//! memory, and maps it itself. The worker keeps the state. The map of the program's memory contains
//! the mappings, so that copies and queries find them.

use crate::device::Device;
use crate::driver::{Driver, driver};
use crate::error::{CuError, CuResult};
use crate::memory::{Allocation, Kind};
use crate::remembered::once;
use crate::shareable::reap;
use cuda_api::args::{In, Out};
use cuda_api::sys::{
    CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationHandleType, CUmemAllocationProp,
    CUmemAllocationProp_st__bindgen_ty_1, CUmemAllocationType, CUmemLocation,
    CUmemLocationType as Place,
};
use protocol::calls::{
    CuMemAddressFree, CuMemRelease, CuMemUnmap, VcudaMemAddressReserve, VcudaMemCreate,
    VcudaMemGetAccess, VcudaMemGrantAccess, VcudaMemGranularity, VcudaMemMap, VcudaMemProperties,
    VcudaMemRestrictAccess, VcudaMemRetainHandle,
};
use protocol::limits::DEVICES_MAX;
use protocol::options::MEMORY_HANDLE_TYPES;
use protocol::structs::MemoryAccess;

/// Returns the device with this location. Fails for host memory, which isn't supported.
fn device_at(driver: &Driver, location: CUmemLocation) -> CuResult<&Device> {
    match location.type_ {
        Place::CU_MEM_LOCATION_TYPE_DEVICE => driver.device(location.id),
        Place::CU_MEM_LOCATION_TYPE_HOST
        | Place::CU_MEM_LOCATION_TYPE_HOST_NUMA
        | Place::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => Err(CuError::NOT_SUPPORTED),
        _ => Err(CuError::INVALID_VALUE),
    }
}

/// Checks that memory with these properties can be created, and returns its device.
fn device_for<'a>(driver: &'a Driver, prop: &CUmemAllocationProp) -> CuResult<&'a Device> {
    if prop.type_ != CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED {
        return Err(CuError::INVALID_VALUE);
    }
    let device = device_at(driver, prop.location)?;
    let flags = &prop.allocFlags;
    if !MEMORY_HANDLE_TYPES.contains(&prop.requestedHandleTypes.0)
        || flags.gpuDirectRDMACapable != 0
        || flags.usage != 0
    {
        return Err(CuError::NOT_SUPPORTED);
    }
    Ok(device)
}

/// Returns the program's ordinal of the device with the worker's ordinal `number`.
fn ordinal(driver: &Driver, number: i32) -> CuResult<i32> {
    let seen_as = driver.devices.iter().position(|device| device.number == number);
    seen_as.map(|ordinal| ordinal as i32).ok_or(CuError::UNKNOWN)
}

entries! {
    fn cuMemGetAllocationGranularity(
        granularity: Out<usize>, prop: In<CUmemAllocationProp>, option: u32,
    ) {
        let driver = driver()?;
        granularity.check()?;
        let prop = prop.get()?;
        // Accept host memory here, although it can't be created: NVIDIA's driver returns the same
        // granularity for it as for device memory.
        let device = match device_for(driver, &prop) {
            Err(CuError::NOT_SUPPORTED) => driver.device(0)?,
            device => device?,
        };
        let known = device.granularities.get(option as usize).ok_or(CuError::INVALID_VALUE)?;
        let call = VcudaMemGranularity { device: device.number, option };
        granularity.set(once(known, || Ok(driver.session.call(&call)?.granularity))?)
    }

    fn cuMemAddressReserve(
        out: Out<u64>, size: usize, alignment: usize, hint: u64, flags: u64,
    ) {
        let driver = driver()?;
        out.check()?;
        if flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let start = driver.session.call(&VcudaMemAddressReserve { size, alignment, hint })?.ptr;
        driver.memory.add_reserved(start, size as u64);
        out.set(start)
    }

    fn cuMemAddressFree(ptr: u64, size: usize) {
        let driver = driver()?;
        // Remove the record before the call, because another thread can reserve the addresses as
        // soon as the worker has freed them.
        let reserved = driver.memory.remove_reserved(ptr);
        let freed = driver.session.call(&CuMemAddressFree { ptr, size });
        if let (Err(_), Some(size)) = (freed, reserved) {
            driver.memory.add_reserved(ptr, size);
        }
        freed
    }

    fn cuMemCreate(
        out: Out<u64>, size: usize, prop: In<CUmemAllocationProp>, flags: u64,
    ) {
        let driver = driver()?;
        out.check()?;
        let prop = prop.get()?;
        if flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let device = device_for(driver, &prop)?.number;
        reap(driver);
        let create = VcudaMemCreate {
            device,
            size,
            handle_types: prop.requestedHandleTypes.0,
            compression: prop.allocFlags.compressionType.into(),
        };
        out.set(driver.session.call(&create)?.handle)
    }

    fn cuMemRelease(handle: u64) {
        let driver = driver()?;
        driver.session.call(&CuMemRelease { handle })?;
        reap(driver);
        Ok(())
    }

    fn cuMemMap(ptr: u64, size: usize, offset: usize, handle: u64, flags: u64) {
        let driver = driver()?;
        if offset != 0 {
            return Err(CuError::NOT_SUPPORTED);
        }
        if flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let answer = driver.session.call(&VcudaMemMap { ptr, size, handle })?;
        driver.memory.insert(Allocation {
            base: ptr,
            len: size as u64,
            kind: Kind::Mapped,
            device_address: ptr,
            flags: 0,
            // Mapped memory doesn't belong to a context.
            context: 0,
            device: ordinal(driver, answer.device)?,
            id: 0,
            sync_memops: false,
        });
        Ok(())
    }

    fn cuMemUnmap(ptr: u64, size: usize) {
        let driver = driver()?;
        driver.session.call(&CuMemUnmap { ptr, size })?;
        driver.memory.remove_mapped(ptr, size as u64);
        reap(driver);
        Ok(())
    }

    fn cuMemSetAccess(
        ptr: u64, size: usize, descriptions: In<CUmemAccessDesc>, count: usize,
    ) {
        let driver = driver()?;
        if count == 0 || count > DEVICES_MAX {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the program passes an array of `count` elements.
        let descriptions = unsafe { descriptions.array(count) };
        let mut access = Vec::with_capacity(count);
        for index in 0..count {
            let CUmemAccessDesc { location, flags } = descriptions.get(index)?;
            let device = device_at(driver, location)?.number;
            access.push(MemoryAccess { device, flags: flags.0 });
        }
        let grants = |access: &MemoryAccess| {
            access.flags == CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE.0
        };
        let all = access.iter().all(grants);
        let access = access.as_slice().into();
        match all {
            true => driver.session.call(&VcudaMemGrantAccess { ptr, size, access }),
            false => driver.session.call(&VcudaMemRestrictAccess { ptr, size, access }),
        }
    }

    fn cuMemGetAccess(flags: Out<u64>, location: In<CUmemLocation>, ptr: u64) {
        let driver = driver()?;
        flags.check()?;
        let device = device_at(driver, location.get()?)?.number;
        flags.set(driver.session.call(&VcudaMemGetAccess { device, ptr })?.flags)
    }

    fn cuMemGetAllocationPropertiesFromHandle(out: Out<CUmemAllocationProp>, handle: u64) {
        let driver = driver()?;
        out.check()?;
        let answer = driver.session.call(&VcudaMemProperties { handle })?;
        out.set(CUmemAllocationProp {
            type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            requestedHandleTypes: CUmemAllocationHandleType(answer.handle_types),
            location: CUmemLocation {
                type_: Place::CU_MEM_LOCATION_TYPE_DEVICE,
                id: ordinal(driver, answer.device)?,
            },
            win32HandleMetaData: std::ptr::null_mut(),
            allocFlags: CUmemAllocationProp_st__bindgen_ty_1 {
                compressionType: answer.compression as u8,
                ..Default::default()
            },
        })
    }

    fn cuMemRetainAllocationHandle(out: Out<u64>, address: usize) {
        let driver = driver()?;
        out.check()?;
        out.set(driver.session.call(&VcudaMemRetainHandle { ptr: address as u64 })?.handle)
    }
}
