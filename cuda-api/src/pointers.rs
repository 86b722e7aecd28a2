//! The attributes of pointers.

use crate::args::{In, Out};
use crate::error::{CuError, CuResult};
use crate::sys::{
    CU_DEVICE_INVALID, CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS as Access, CUmemorytype,
    CUpointer_attribute as A,
};
use std::ffi::c_void;

/// An address range: the start and the size in bytes.
pub type Extent = (u64, u64);

/// The memory at an address, as its attributes describe it.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    pub context: u64,
    /// Whether the memory is the host's. Managed memory counts as the device's.
    pub is_host: bool,
    pub device_pointer: u64,
    /// The address at which the program can access the memory, if it can.
    pub host_pointer: Option<u64>,
    pub is_managed: bool,
    pub sync_memops: bool,
    /// Whether `cuIpcGetMemHandle` accepts the memory.
    pub is_shareable: bool,
    pub id: u64,
    pub ordinal: i32,
    /// The allocation. For mapped memory, the reserved addresses.
    pub range: Extent,
    /// The allocation, or the mapping.
    pub mapping: Extent,
    /// The handle of the memory pool, or 0.
    pub pool: u64,
}

/// An address that a program asks about.
#[derive(Clone, Copy, Debug)]
pub enum Address {
    Unknown,
    /// In a range of reserved addresses, at which nothing is mapped.
    Reserved(Extent),
    Memory(Described),
}

/// An attribute's value. The attribute decides which of the two types it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// Four bytes. NVIDIA's driver also writes four bytes for booleans.
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

impl Address {
    /// Returns the value of an attribute, if the address has it.
    fn value(&self, attribute: A) -> Option<Value> {
        let found = match self {
            Self::Unknown => return None,
            Self::Reserved((start, size)) => {
                return match attribute {
                    A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => Some(Value::Long(*start)),
                    A::CU_POINTER_ATTRIBUTE_RANGE_SIZE => Some(Value::Long(*size)),
                    A::CU_POINTER_ATTRIBUTE_MAPPED => Some(Value::Int(0)),
                    _ => None,
                };
            }
            Self::Memory(found) => found,
        };
        Some(match attribute {
            A::CU_POINTER_ATTRIBUTE_CONTEXT => Value::Long(found.context),
            A::CU_POINTER_ATTRIBUTE_MEMORY_TYPE if found.is_host => {
                Value::Int(CUmemorytype::CU_MEMORYTYPE_HOST.0)
            }
            A::CU_POINTER_ATTRIBUTE_MEMORY_TYPE => Value::Int(CUmemorytype::CU_MEMORYTYPE_DEVICE.0),
            A::CU_POINTER_ATTRIBUTE_DEVICE_POINTER => Value::Long(found.device_pointer),
            A::CU_POINTER_ATTRIBUTE_HOST_POINTER => Value::Long(found.host_pointer?),
            A::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS => Value::Int(u32::from(found.sync_memops)),
            A::CU_POINTER_ATTRIBUTE_IS_MANAGED => Value::Int(u32::from(found.is_managed)),
            A::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE => {
                Value::Int(u32::from(found.is_shareable))
            }
            A::CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE
            | A::CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => Value::Int(0),
            A::CU_POINTER_ATTRIBUTE_BUFFER_ID | A::CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID => {
                Value::Long(found.id)
            }
            A::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => Value::Int(found.ordinal as u32),
            A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => Value::Long(found.range.0),
            A::CU_POINTER_ATTRIBUTE_RANGE_SIZE => Value::Long(found.range.1),
            A::CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR => Value::Long(found.mapping.0),
            A::CU_POINTER_ATTRIBUTE_MAPPING_SIZE => Value::Long(found.mapping.1),
            A::CU_POINTER_ATTRIBUTE_MAPPED => Value::Int(1),
            A::CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES => Value::Long(0),
            A::CU_POINTER_ATTRIBUTE_ACCESS_FLAGS => {
                Value::Int(Access::CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE.0)
            }
            A::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => Value::Long(found.pool),
            _ => return None,
        })
    }
}

/// Returns the value that `cuPointerGetAttributes` stores for an attribute that an address doesn't have.
fn absent(attribute: A) -> CuResult<Value> {
    match attribute {
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

/// `cuPointerGetAttribute` for an address.
///
/// # Safety
///
/// If not null, `out` must be valid for writing the attribute's type.
pub unsafe fn get(out: Out<c_void>, attribute: A, address: &Address) -> CuResult {
    out.check()?;
    let value = address.value(attribute).ok_or(CuError::INVALID_VALUE)?;
    // SAFETY: as the caller promises.
    unsafe { value.store(out) }
}

/// `cuPointerGetAttributes` for an address.
///
/// # Safety
///
/// If not null, both arrays must have `count` elements, and each element of `outs` must be valid for
/// writing the attribute's type.
pub unsafe fn get_all(
    count: usize,
    attributes: In<A>,
    outs: In<Out<c_void>>,
    address: &Address,
) -> CuResult {
    // SAFETY: both arrays have `count` elements, as the caller promises.
    let (attributes, outs) = unsafe { (attributes.array(count), outs.array(count)) };
    for index in 0..count {
        let (attribute, out) = (attributes.get(index)?, outs.get(index)?);
        let value = address.value(attribute).map_or_else(|| absent(attribute), Ok)?;
        // SAFETY: the element is valid for writing, as the caller promises.
        unsafe { value.store(out) }?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_has_three_attributes() {
        let reserved = Address::Reserved((4096, 8192));
        let start = reserved.value(A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
        assert_eq!(start, Some(Value::Long(4096)));
        let size = reserved.value(A::CU_POINTER_ATTRIBUTE_RANGE_SIZE);
        assert_eq!(size, Some(Value::Long(8192)));
        assert_eq!(reserved.value(A::CU_POINTER_ATTRIBUTE_MAPPED), Some(Value::Int(0)));
        assert_eq!(reserved.value(A::CU_POINTER_ATTRIBUTE_MEMORY_TYPE), None);
    }

    #[test]
    fn every_attribute_that_memory_can_have_has_a_value_if_it_is_absent() {
        let extent = (4096, 4096);
        let memory = Address::Memory(Described {
            context: 1,
            is_host: true,
            device_pointer: 4096,
            host_pointer: Some(4096),
            is_managed: false,
            sync_memops: false,
            is_shareable: false,
            id: 1,
            ordinal: 0,
            range: extent,
            mapping: extent,
            pool: 0,
        });
        for attribute in (0..64).map(A) {
            assert_eq!(
                memory.value(attribute).is_some(),
                absent(attribute).is_ok(),
                "{attribute:?}"
            );
        }
    }
}
