//! Entry points for pointer attributes, which are determined from the map of the program's memory.

use crate::context::current;
use crate::driver::{Driver, driver};
use crate::error::{CuError, CuResult};
use crate::memory::{Allocation, Kind};
use cuda_api::args::{In, Out};
use cuda_api::sys::{
    CU_DEVICE_INVALID, CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS as Access, CUmemorytype,
    CUpointer_attribute as A,
};
use std::ffi::c_void;

const HOST: u32 = CUmemorytype::CU_MEMORYTYPE_HOST.0;
const DEVICE: u32 = CUmemorytype::CU_MEMORYTYPE_DEVICE.0;
const READ_WRITE: u32 = Access::CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE.0;

/// An attribute's value. The attribute decides which of the two types it has.
enum Value {
    Int(u32),
    Long(u64),
}

impl Value {
    /// Stores the value. Null is an error.
    ///
    /// # Safety
    ///
    /// If not null, the pointer must be valid for writing the attribute's type.
    unsafe fn store(self, out: Out<c_void>) -> CuResult {
        match self {
            // SAFETY: the attribute's type is an integer of four bytes.
            Self::Int(value) => unsafe { out.cast() }.set(value),
            // SAFETY: the attribute's type has eight bytes.
            Self::Long(value) => unsafe { out.cast() }.set(value),
        }
    }
}

/// Returns an attribute of an address in the allocation `found`.
fn value(attribute: u32, address: u64, found: &Allocation) -> CuResult<Value> {
    let managed = found.kind.is_managed();
    let device = found.kind.is_device() && !managed;
    let offset = match found.base <= address && address - found.base < found.len.max(1) {
        true => address - found.base,
        false => address - found.device_address,
    };
    match A(attribute) {
        A::CU_POINTER_ATTRIBUTE_CONTEXT => Ok(Value::Long(found.context as u64)),
        A::CU_POINTER_ATTRIBUTE_MEMORY_TYPE => {
            Ok(Value::Int(if device || managed { DEVICE } else { HOST }))
        }
        A::CU_POINTER_ATTRIBUTE_DEVICE_POINTER => Ok(Value::Long(found.device_address + offset)),
        A::CU_POINTER_ATTRIBUTE_HOST_POINTER if device => Err(CuError::INVALID_VALUE),
        A::CU_POINTER_ATTRIBUTE_HOST_POINTER => Ok(Value::Long(found.base + offset)),
        A::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS => Ok(Value::Int(u32::from(found.sync_memops))),
        A::CU_POINTER_ATTRIBUTE_IS_MANAGED => Ok(Value::Int(u32::from(managed))),
        A::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE => {
            Ok(Value::Int(u32::from(found.kind == Kind::Device)))
        }
        A::CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE
        | A::CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => Ok(Value::Int(0)),
        A::CU_POINTER_ATTRIBUTE_BUFFER_ID | A::CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID => {
            Ok(Value::Long(found.id))
        }
        A::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => Ok(Value::Int(found.device as u32)),
        A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR | A::CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR => {
            Ok(Value::Long(found.base))
        }
        A::CU_POINTER_ATTRIBUTE_RANGE_SIZE | A::CU_POINTER_ATTRIBUTE_MAPPING_SIZE => {
            Ok(Value::Long(found.len))
        }
        A::CU_POINTER_ATTRIBUTE_MAPPED => Ok(Value::Int(1)),
        A::CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES => Ok(Value::Long(0)),
        A::CU_POINTER_ATTRIBUTE_ACCESS_FLAGS => Ok(Value::Int(READ_WRITE)),
        A::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => match found.kind {
            Kind::Pool(handle) => Ok(Value::Long(handle as u64)),
            _ => Ok(Value::Long(0)),
        },
        _ => Err(CuError::INVALID_VALUE),
    }
}

/// Returns the value that `cuPointerGetAttributes` stores for an address that is not in the map.
fn value_of_unknown(attribute: u32) -> CuResult<Value> {
    match A(attribute) {
        A::CU_POINTER_ATTRIBUTE_CONTEXT
        | A::CU_POINTER_ATTRIBUTE_DEVICE_POINTER
        | A::CU_POINTER_ATTRIBUTE_HOST_POINTER
        | A::CU_POINTER_ATTRIBUTE_BUFFER_ID
        | A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR
        | A::CU_POINTER_ATTRIBUTE_RANGE_SIZE
        | A::CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES
        | A::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE
        | A::CU_POINTER_ATTRIBUTE_MAPPING_SIZE
        | A::CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR
        | A::CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID => Ok(Value::Long(0)),
        A::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => Ok(Value::Int(CU_DEVICE_INVALID as u32)),
        A::CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        | A::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
        | A::CU_POINTER_ATTRIBUTE_IS_MANAGED
        | A::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
        | A::CU_POINTER_ATTRIBUTE_MAPPED
        | A::CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE
        | A::CU_POINTER_ATTRIBUTE_ACCESS_FLAGS
        | A::CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => Ok(Value::Int(0)),
        _ => Err(CuError::INVALID_VALUE),
    }
}

fn find(driver: &Driver, address: u64) -> Option<Allocation> {
    driver.memory.find(address).or_else(|| driver.memory.find_device(address))
}

entries! {
    fn cuPointerGetAttribute(out: Out<c_void>, attribute: u32, address: u64) {
        out.check()?;
        let found = find(driver()?, address).ok_or(CuError::INVALID_VALUE)?;
        // SAFETY: the program passes a pointer to the attribute's type.
        unsafe { value(attribute, address, &found)?.store(out) }
    }

    /// The only attribute that can be set is CU_POINTER_ATTRIBUTE_SYNC_MEMOPS.
    fn cuPointerSetAttribute(value: In<c_void>, attribute: u32, address: u64) {
        let driver = driver()?;
        current()?;
        if A(attribute) != A::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the program passes a pointer to an unsigned integer.
        let value: u32 = unsafe { value.cast() }.get()?;
        let may_be_marked =
            |kind: Kind| kind.is_device() || matches!(kind, Kind::Managed { .. });
        let found = find(driver, address).filter(|found| may_be_marked(found.kind));
        driver.memory.set_sync_memops(found.ok_or(CuError::INVALID_VALUE)?.base, value != 0);
        Ok(())
    }

    fn cuPointerGetAttributes(
        count: u32, attributes: In<u32>, outs: In<Out<c_void>>, address: u64,
    ) {
        let found = find(driver()?, address);
        // SAFETY: both arrays have `count` elements.
        let (attributes, outs) =
            unsafe { (attributes.array(count as usize), outs.array(count as usize)) };
        for index in 0..count as usize {
            let attribute = attributes.get(index)?;
            let out = outs.get(index)?;
            let host_pointer = A(attribute) == A::CU_POINTER_ATTRIBUTE_HOST_POINTER;
            let value = match &found {
                // A device pointer has no host pointer, so 0 is stored instead of an error.
                Some(found)
                    if host_pointer && found.kind.is_device() && !found.kind.is_managed() =>
                {
                    Value::Long(0)
                }
                Some(found) => value(attribute, address, found)?,
                None => value_of_unknown(attribute)?,
            };
            // SAFETY: the program passes a pointer to the attribute's type.
            unsafe { value.store(out) }?;
        }
        Ok(())
    }
}
