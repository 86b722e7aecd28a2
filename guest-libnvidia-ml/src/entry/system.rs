//! Entry points for init, shutdown, versions and names.

use super::{entries, processes};
use crate::args::{Buffer, Out};
use crate::error::{self, NvmlError};
use crate::generated::{prototypes, sys::nvmlReturn_t};
use crate::state;
use std::ffi::c_char;

entries! {
    fn nvmlInit() {
        state::init()
    }
    fn nvmlInit_v2() {
        state::init()
    }
    /// Ignores the flags. They control GPUs that can't be attached, and a guest has no such GPUs.
    fn nvmlInitWithFlags(_flags: u32) {
        state::init()
    }
    fn nvmlShutdown() {
        state::shutdown()
    }
    fn nvmlSystemGetDriverVersion(version: Buffer, length: u32) {
        // SAFETY: `version` has `length` bytes.
        state::first(|facts| unsafe { version.set(length, &facts.driver) })
    }
    /// Returns the CUDA major version followed by the driver version, as NVIDIA's library does.
    fn nvmlSystemGetNVMLVersion(version: Buffer, length: u32) {
        let text = state::first(|facts| Ok(format!("{}.{}", facts.cuda_version / 1000, facts.driver)))?;
        // SAFETY: `version` has `length` bytes.
        unsafe { version.set(length, &text) }
    }
    fn nvmlSystemGetCudaDriverVersion(version: Out<i32>) {
        state::first(|facts| version.set(facts.cuda_version as i32))
    }
    fn nvmlSystemGetCudaDriverVersion_v2(version: Out<i32>) {
        state::first(|facts| version.set(facts.cuda_version as i32))
    }
    /// Returns a process's name, truncated to fit the buffer.
    fn nvmlSystemGetProcessName(pid: u32, name: Buffer, length: u32) {
        state::check()?;
        let mut text = processes::name(pid).ok_or(NvmlError::NOT_FOUND)?;
        while text.len() >= length as usize && text.pop().is_some() {}
        // SAFETY: `name` has `length` bytes.
        unsafe { name.set(length, &text) }
    }
    /// Always returns 0. A unit is a chassis with several GPUs, which a guest never sees.
    fn nvmlUnitGetCount(count: Out<u32>) {
        state::check()?;
        count.set(0)
    }
    fn nvmlGetExcludedDeviceCount(count: Out<u32>) {
        state::check()?;
        count.set(0)
    }
}

/// Works even before init. It returns a string, so the `entries!` macro can't declare it.
#[allow(non_snake_case)]
extern "C" fn nvmlErrorString(result: nvmlReturn_t) -> *const c_char {
    error::text(result).as_ptr()
}

const _: prototypes::nvmlErrorString = nvmlErrorString;

/// The entry for `nvmlErrorString`, for the library's table of exports.
pub(crate) const TEXT: &[cuda_api::exports::Entry] = &[cuda_api::exports::Entry::new(
    crate::symbols::index::nvmlErrorString,
    nvmlErrorString as *const (),
)];
