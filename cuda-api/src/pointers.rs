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

/// The memory at an address, with the properties from which its attributes follow.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    pub context: u64,
    /// Whether the attributes describe the memory as host memory. Managed memory counts as device
    /// memory.
    pub is_host: bool,
    pub device_pointer: u64,
    /// The address at which the program can access the memory, if it can.
    pub host_pointer: Option<u64>,
    pub is_managed: bool,
    pub sync_memops: bool,
    /// Whether the memory comes from `cuMemAlloc`: `cuIpcGetMemHandle` accepts it, and NVIDIA's
    /// driver reports it as usable for decompression, even on a GPU that can't decompress.
    pub is_allocated: bool,
    pub id: u64,
    pub ordinal: i32,
    /// The extent of the allocation. For mapped memory, that of the reserved address range.
    pub range: Extent,
    /// The extent of the mapping. For memory that wasn't mapped by the program, that of the
    /// allocation, rounded up to the unit in which NVIDIA's driver maps memory.
    pub mapping: Extent,
    /// The handle of the memory pool, or 0.
    pub pool: u64,
}

/// An address that a program asks about.
#[derive(Clone, Copy, Debug)]
pub enum Address {
    Unknown(u64),
    /// An address in a reserved range, at which nothing is mapped, and the extent of the range.
    Reserved(u64, Extent),
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
        let Self::Memory(found) = self else { return None };
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
            A::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
            | A::CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => {
                Value::Int(u32::from(found.is_allocated))
            }
            // A guest has no devices that could access the GPU's memory with GPUDirect RDMA.
            A::CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE => Value::Int(0),
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

    /// Returns the value that `cuPointerGetAttributes` stores for an attribute, if it stores one.
    fn listed(&self, attribute: A) -> CuResult<Option<Value>> {
        if let Some(value) = self.value(attribute) {
            return Ok(Some(value));
        }
        let (address, extent) = match self {
            Self::Unknown(address) => (*address, None),
            Self::Reserved(address, extent) => (*address, Some(*extent)),
            Self::Memory(_) => (0, None),
        };
        match attribute {
            A::CU_POINTER_ATTRIBUTE_HOST_POINTER => Ok(Some(Value::Long(address))),
            A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => {
                Ok(extent.map(|(start, _)| Value::Long(start)))
            }
            A::CU_POINTER_ATTRIBUTE_RANGE_SIZE => Ok(extent.map(|(_, size)| Value::Long(size))),
            _ => absent(attribute).map(Some),
        }
    }
}

/// Returns the extent of the mapping in which NVIDIA's driver puts an allocation that isn't host
/// memory of the program.
pub fn mapping(extent: Extent, is_stream_ordered: bool) -> Extent {
    let unit = if is_stream_ordered { 32 << 20 } else { 2 << 20 };
    (extent.0, extent.1.next_multiple_of(unit))
}

/// Returns the value that `cuPointerGetAttributes` stores for an attribute that no memory at the
/// address has.
fn absent(attribute: A) -> CuResult<Value> {
    match attribute {
        A::CU_POINTER_ATTRIBUTE_CONTEXT
        | A::CU_POINTER_ATTRIBUTE_DEVICE_POINTER
        | A::CU_POINTER_ATTRIBUTE_BUFFER_ID
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

/// Implements `cuPointerGetAttribute` for an address.
///
/// # Safety
///
/// If not null, `out` must be valid for writing the attribute's type.
pub unsafe fn get(out: Out<c_void>, attribute: A, address: &Address) -> CuResult {
    out.check()?;
    let value = address.value(attribute).ok_or(CuError::INVALID_VALUE)?;
    // SAFETY: the caller promises that `out` is valid for writing the attribute's type.
    unsafe { value.store(out) }
}

/// Implements `cuPointerGetAttributes` for an address.
///
/// # Safety
///
/// If not null, both arrays must have `count` elements, and each element of `outs` must be valid
/// for writing the attribute's type.
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
        if let Some(value) = address.listed(attribute)? {
            // SAFETY: the caller promises that the element of `outs` is valid for writing the
            // attribute's type.
            unsafe { value.store(out) }?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_the_range_of_a_reservation_and_the_address_itself() {
        let (start, size) =
            (A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, A::CU_POINTER_ATTRIBUTE_RANGE_SIZE);
        let reserved = Address::Reserved(5000, (4096, 8192));
        assert_eq!(reserved.listed(start), Ok(Some(Value::Long(4096))));
        assert_eq!(reserved.listed(size), Ok(Some(Value::Long(8192))));
        assert_eq!(reserved.value(start), None);
        let unknown = Address::Unknown(5000);
        for address in [reserved, unknown] {
            let host = address.listed(A::CU_POINTER_ATTRIBUTE_HOST_POINTER);
            assert_eq!(host, Ok(Some(Value::Long(5000))));
            assert_eq!(address.value(A::CU_POINTER_ATTRIBUTE_HOST_POINTER), None);
        }
        assert_eq!([start, size].map(|attribute| unknown.listed(attribute)), [Ok(None); 2]);
    }

    #[test]
    fn mappings_have_whole_units() {
        assert_eq!(mapping((4096, 1), false), (4096, 2 << 20));
        assert_eq!(mapping((0, 2 << 20), false), (0, 2 << 20));
        assert_eq!(mapping((0, 2 << 20), true), (0, 32 << 20));
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
            is_allocated: false,
            id: 1,
            ordinal: 0,
            range: extent,
            mapping: extent,
            pool: 0,
        });
        for attribute in (0..64).map(A) {
            assert_eq!(
                memory.value(attribute).is_some(),
                Address::Unknown(0).listed(attribute).is_ok(),
                "{attribute:?}"
            );
        }
    }
}
