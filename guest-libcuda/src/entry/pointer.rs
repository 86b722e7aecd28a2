//! What a pointer is, answered from the map of the program's memory.

use super::args::{In, Out};
use crate::driver::{Driver, driver};
use crate::error::{CuError, CuResult};
use crate::memory::Allocation;

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

/// Writes an attribute of an address in `found`.
fn write(out: Out<u8>, attribute: u32, address: u64, found: &Allocation) -> CuResult {
    let device = found.kind.is_device();
    let offset = match found.base <= address && address - found.base < found.len.max(1) {
        true => address - found.base,
        false => address - found.device_address,
    };
    match attribute {
        CONTEXT => out.cast().set(found.context),
        MEMORY_TYPE => out.cast().set(if device { DEVICE } else { HOST }),
        DEVICE_POINTER => out.cast().set(found.device_address + offset),
        HOST_POINTER if device => Err(CuError::INVALID_VALUE),
        HOST_POINTER => out.cast().set(found.base + offset),
        SYNC_MEMOPS
        | IS_MANAGED
        | IS_LEGACY_IPC_CAPABLE
        | IS_GPU_DIRECT_CAPABLE
        | IS_HW_DECOMPRESS_CAPABLE => out.cast().set(0u32),
        BUFFER_ID | MEMORY_BLOCK_ID => out.cast().set(found.id),
        DEVICE_ORDINAL => out.cast().set(found.device),
        RANGE_START | MAPPING_BASE => out.cast().set(found.base),
        RANGE_SIZE | MAPPING_SIZE => out.cast().set(found.len as usize),
        MAPPED => out.cast().set(1u32),
        ALLOWED_HANDLE_TYPES => out.cast().set(0u64),
        ACCESS_FLAGS => out.cast().set(READ_WRITE),
        MEMPOOL => out.cast().set(0usize),
        _ => Err(CuError::INVALID_VALUE),
    }
}

/// What `cuPointerGetAttributes` says of memory that we know nothing of.
fn write_unknown(out: Out<u8>, attribute: u32) -> CuResult {
    match attribute {
        CONTEXT | DEVICE_POINTER | HOST_POINTER | BUFFER_ID | RANGE_START | RANGE_SIZE
        | ALLOWED_HANDLE_TYPES | MEMPOOL | MAPPING_SIZE | MAPPING_BASE | MEMORY_BLOCK_ID => {
            out.cast().set(0u64)
        }
        DEVICE_ORDINAL => out.cast().set(NO_DEVICE),
        MEMORY_TYPE
        | SYNC_MEMOPS
        | IS_MANAGED
        | IS_LEGACY_IPC_CAPABLE
        | MAPPED
        | IS_GPU_DIRECT_CAPABLE
        | ACCESS_FLAGS
        | IS_HW_DECOMPRESS_CAPABLE => out.cast().set(0u32),
        _ => Err(CuError::INVALID_VALUE),
    }
}

fn find(driver: &Driver, address: u64) -> Option<Allocation> {
    driver.memory.find(address).or_else(|| driver.memory.find_device(address))
}

entries! {
    fn cuPointerGetAttribute(out: Out<u8>, attribute: u32, address: u64) {
        out.check()?;
        let found = find(driver()?, address).ok_or(CuError::INVALID_VALUE)?;
        write(out, attribute, address, &found)
    }

    fn cuPointerGetAttributes(
        count: u32, attributes: In<u32>, outs: In<usize>, address: u64,
    ) {
        let found = find(driver()?, address);
        for index in 0..count as usize {
            let attribute = attributes.element(index)?;
            let out = Out::from_address(outs.element(index)?);
            match &found {
                // A device pointer has no host pointer, which is no error here.
                Some(found) if attribute == HOST_POINTER && found.kind.is_device() => {
                    out.cast().set(0u64)?;
                }
                Some(found) => write(out, attribute, address, found)?,
                None => write_unknown(out, attribute)?,
            }
        }
        Ok(())
    }
}
