//! NVML's structures, and arguments from C as types that can only be used rightly.

use crate::error::{NvmlError, NvmlResult};
use std::ffi::{CStr, c_char};

/// `nvmlMemory_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Memory {
    pub total: u64,
    pub free: u64,
    pub used: u64,
}

/// `nvmlMemory_v2_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemoryV2 {
    pub version: u32,
    pub total: u64,
    pub reserved: u64,
    pub free: u64,
    pub used: u64,
}

/// `nvmlUtilization_t`: percent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Utilization {
    pub gpu: u32,
    pub memory: u32,
}

/// `nvmlPciInfo_t` as the second version of the function has it; the third adds `PciInfo::bus_id`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PciInfoV2 {
    pub bus_id_legacy: [u8; 16],
    pub domain: u32,
    pub bus: u32,
    pub device: u32,
    pub pci_device: u32,
    pub pci_subsystem: u32,
}

/// `nvmlPciInfo_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PciInfo {
    pub short: PciInfoV2,
    pub bus_id: [u8; 32],
}

/// `nvmlPciInfoExt_v1_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PciInfoExt {
    pub version: u32,
    pub domain: u32,
    pub bus: u32,
    pub device: u32,
    pub pci_device: u32,
    pub pci_subsystem: u32,
    pub base_class: u32,
    pub sub_class: u32,
    pub bus_id: [u8; 32],
}

/// `nvmlProcessInfo_v1_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ProcessInfoV1 {
    pub pid: u32,
    pub used: u64,
}

/// `nvmlProcessInfo_v2_t`, which the third version of the functions has too.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ProcessInfo {
    pub pid: u32,
    pub used: u64,
    pub gpu_instance: u32,
    pub compute_instance: u32,
}

/// `nvmlFieldValue_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FieldValue {
    pub field: u32,
    pub scope: u32,
    pub timestamp_us: i64,
    pub latency_us: i64,
    pub value_type: u32,
    pub result: u32,
    pub value: u64,
}

const _: () = {
    assert!(size_of::<Memory>() == 24 && size_of::<MemoryV2>() == 40);
    assert!(size_of::<PciInfoV2>() == 36 && size_of::<PciInfo>() == 68);
    assert!(size_of::<PciInfoExt>() == 64);
    assert!(size_of::<ProcessInfoV1>() == 16 && size_of::<ProcessInfo>() == 24);
    assert!(size_of::<FieldValue>() == 40);
};

/// The version field of a structure: its size, and its version above bit 24.
pub const fn version<T>(number: u32) -> u32 {
    size_of::<T>() as u32 | number << 24
}

/// A pointer that a result goes to. By NVML's rules one that is not null can be followed.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    /// Stores a result; null is an error.
    pub fn set(&self, value: T) -> NvmlResult {
        self.set_at(0, value)
    }

    /// Stores an element of an array that is as long as its function says.
    pub fn set_at(&self, index: usize, value: T) -> NvmlResult {
        if self.0.is_null() {
            return Err(NvmlError::INVALID_ARGUMENT);
        }
        // SAFETY: not null, so by NVML's rules valid for as many elements as the caller said; the
        // caller may keep it at any address.
        unsafe { self.0.add(index).write_unaligned(value) };
        Ok(())
    }

    /// What is there now, for what goes in and comes back.
    pub fn get(&self) -> NvmlResult<T> {
        self.get_at(0)
    }

    /// As [`get`](Self::get), of an array.
    pub fn get_at(&self, index: usize) -> NvmlResult<T> {
        if self.0.is_null() {
            return Err(NvmlError::INVALID_ARGUMENT);
        }
        // SAFETY: as in `set_at`.
        Ok(unsafe { self.0.add(index).read_unaligned() })
    }
}

/// A text that comes in.
#[repr(transparent)]
pub struct Text(*const c_char);

impl Text {
    pub fn get(&self) -> NvmlResult<&str> {
        if self.0.is_null() {
            return Err(NvmlError::INVALID_ARGUMENT);
        }
        // SAFETY: not null, so by NVML's rules a text that ends with a zero byte.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map_err(|_| NvmlError::INVALID_ARGUMENT)
    }
}

/// Room for a text, of a length that comes beside it.
#[repr(transparent)]
pub struct Room(*mut c_char);

impl Room {
    /// Stores a text and its zero byte.
    pub fn set(&self, length: u32, text: &str) -> NvmlResult {
        if self.0.is_null() {
            return Err(NvmlError::INVALID_ARGUMENT);
        }
        if text.len() >= length as usize {
            return Err(NvmlError::INSUFFICIENT_SIZE);
        }
        // SAFETY: not null, so by NVML's rules `length` bytes long, which is more than the text.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr().cast(), self.0, text.len());
            self.0.add(text.len()).write(0);
        }
        Ok(())
    }
}
