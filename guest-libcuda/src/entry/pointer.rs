//! What a pointer is, answered from the map of the program's memory.

use crate::driver::{Driver, driver};
use crate::error::{CuError, CuResult};
use crate::memory::Allocation;
use cuda_api::args::{In, Out};
use std::ffi::c_void;

const CONTEXT: u32 = 1;
const MEMORY_TYPE: u32 = 2;
const DEVICE_POINTER: u32 = 3;
const HOST_POINTER: u32 = 4;
const SYNC_MEMOPS: u32 = 6;
const BUFFER_ID: u32 = 7;
const IS_MANAGED: u32 = 8;
const DEVICE_ORDINAL: u32 = 9;
const IS_LEGACY_IPC_CAPABLE: u32 = 10;
const RANGE_START: u32 = 11;
const RANGE_SIZE: u32 = 12;
const MAPPED: u32 = 13;
const ALLOWED_HANDLE_TYPES: u32 = 14;
const IS_GPU_DIRECT_CAPABLE: u32 = 15;
const ACCESS_FLAGS: u32 = 16;
const MEMPOOL: u32 = 17;
const MAPPING_SIZE: u32 = 18;
const MAPPING_BASE: u32 = 19;
const MEMORY_BLOCK_ID: u32 = 20;
const IS_HW_DECOMPRESS_CAPABLE: u32 = 21;

const HOST: u32 = 1;
const DEVICE: u32 = 2;
const READ_WRITE: u32 = 3;
/// CU_DEVICE_INVALID.
const NO_DEVICE: i32 = -2;

/// An attribute's value. Which of the two it is depends on the attribute alone.
enum Value {
    Int(u32),
    Long(u64),
}

impl Value {
    /// Stores the value; null is an error.
    ///
    /// # Safety
    ///
    /// If not null, the pointer is valid for writing the attribute's type.
    unsafe fn store(self, out: Out<c_void>) -> CuResult {
        match self {
            // SAFETY: the attribute's type is an integer of four bytes.
            Self::Int(value) => unsafe { out.cast() }.set(value),
            // SAFETY: the attribute's type has eight bytes.
            Self::Long(value) => unsafe { out.cast() }.set(value),
        }
    }
}

/// An attribute of an address in `found`.
fn value(attribute: u32, address: u64, found: &Allocation) -> CuResult<Value> {
    let device = found.kind.is_device();
    let offset = match found.base <= address && address - found.base < found.len.max(1) {
        true => address - found.base,
        false => address - found.device_address,
    };
    match attribute {
        CONTEXT => Ok(Value::Long(found.context as u64)),
        MEMORY_TYPE => Ok(Value::Int(if device { DEVICE } else { HOST })),
        DEVICE_POINTER => Ok(Value::Long(found.device_address + offset)),
        HOST_POINTER if device => Err(CuError::INVALID_VALUE),
        HOST_POINTER => Ok(Value::Long(found.base + offset)),
        SYNC_MEMOPS
        | IS_MANAGED
        | IS_LEGACY_IPC_CAPABLE
        | IS_GPU_DIRECT_CAPABLE
        | IS_HW_DECOMPRESS_CAPABLE => Ok(Value::Int(0)),
        BUFFER_ID | MEMORY_BLOCK_ID => Ok(Value::Long(found.id)),
        DEVICE_ORDINAL => Ok(Value::Int(found.device as u32)),
        RANGE_START | MAPPING_BASE => Ok(Value::Long(found.base)),
        RANGE_SIZE | MAPPING_SIZE => Ok(Value::Long(found.len)),
        MAPPED => Ok(Value::Int(1)),
        ALLOWED_HANDLE_TYPES => Ok(Value::Long(0)),
        ACCESS_FLAGS => Ok(Value::Int(READ_WRITE)),
        MEMPOOL => Ok(Value::Long(0)),
        _ => Err(CuError::INVALID_VALUE),
    }
}

/// What `cuPointerGetAttributes` says of memory that we know nothing of.
fn value_of_unknown(attribute: u32) -> CuResult<Value> {
    match attribute {
        CONTEXT | DEVICE_POINTER | HOST_POINTER | BUFFER_ID | RANGE_START | RANGE_SIZE
        | ALLOWED_HANDLE_TYPES | MEMPOOL | MAPPING_SIZE | MAPPING_BASE | MEMORY_BLOCK_ID => {
            Ok(Value::Long(0))
        }
        DEVICE_ORDINAL => Ok(Value::Int(NO_DEVICE as u32)),
        MEMORY_TYPE
        | SYNC_MEMOPS
        | IS_MANAGED
        | IS_LEGACY_IPC_CAPABLE
        | MAPPED
        | IS_GPU_DIRECT_CAPABLE
        | ACCESS_FLAGS
        | IS_HW_DECOMPRESS_CAPABLE => Ok(Value::Int(0)),
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
        // SAFETY: the program has the attribute's type there.
        unsafe { value(attribute, address, &found)?.store(out) }
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
            let value = match &found {
                // A device pointer has no host pointer, which is no error here.
                Some(found) if attribute == HOST_POINTER && found.kind.is_device() => {
                    Value::Long(0)
                }
                Some(found) => value(attribute, address, found)?,
                None => value_of_unknown(attribute)?,
            };
            // SAFETY: the program has the attribute's type there.
            unsafe { value.store(out) }?;
        }
        Ok(())
    }
}
