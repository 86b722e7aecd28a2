//! Options for the driver's JIT compiler and linker.

use std::ffi::c_void;

use cuda_api::sys::CUjit_option;
use protocol::codec::Array;
use protocol::limits::JIT_LOG_MAX;
use protocol::options::JIT_OPTIONS;
use protocol::structs::JitOption;

use crate::driver::{CuError, CuResult};

/// The JIT options for loading one image, and the logs that the JIT compiler writes.
pub(in crate::calls) struct Jit {
    options: Vec<CUjit_option>,
    values: Vec<*mut c_void>,
    error: Vec<u8>,
    info: Vec<u8>,
}

impl Jit {
    /// Takes the guest's options, and allocates an error log and an info log of up to `log_max`
    /// bytes each.
    pub(in crate::calls) fn new(wire: Array<'_, JitOption>, log_max: u32) -> CuResult<Self> {
        let log = vec![0; (log_max as usize).min(JIT_LOG_MAX)];
        let mut jit = Self { options: vec![], values: vec![], error: log.clone(), info: log };
        for JitOption { option, value } in wire.iter() {
            if !JIT_OPTIONS.contains(&option) {
                return Err(CuError::INVALID_VALUE);
            }
            jit.push(CUjit_option(option), value);
        }
        if !jit.error.is_empty() {
            let (len, error, info) =
                (jit.error.len() as u64, jit.error.as_mut_ptr(), jit.info.as_mut_ptr());
            jit.push(CUjit_option::CU_JIT_ERROR_LOG_BUFFER, error as u64);
            jit.push(CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, len);
            jit.push(CUjit_option::CU_JIT_INFO_LOG_BUFFER, info as u64);
            jit.push(CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, len);
        }
        Ok(jit)
    }

    fn push(&mut self, option: CUjit_option, value: u64) {
        self.options.push(option);
        self.values.push(value as *mut c_void);
    }

    /// Returns the number of options, the options, and their values, in the form that the driver
    /// takes.
    pub(in crate::calls) fn parts(&mut self) -> (u32, *mut CUjit_option, *mut *mut c_void) {
        (self.options.len() as u32, self.options.as_mut_ptr(), self.values.as_mut_ptr())
    }

    /// Returns the contents of the error log and the info log.
    pub(in crate::calls) fn logs(&self) -> (Vec<u8>, Vec<u8>) {
        let text = |log: &[u8]| log.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
        (text(&self.error), text(&self.info))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_are_addresses_are_refused() {
        let jit = |option, value| Jit::new([JitOption { option, value }].as_slice().into(), 0);
        assert!(jit(7, 3).is_ok());
        for option in [2, 3, 5, 17, 18, 25, 26, 27, 28, 99] {
            assert!(jit(option, 0x1000).is_err(), "{option}");
        }
    }
}
