//! Init, shutdown, versions, names.

use super::{entries, processes};
use crate::error::{self, NvmlError, NvmlReturn};
use crate::state;
use crate::types::{Out, Room};
use std::ffi::c_char;

entries! {
    fn nvmlInit() {
        state::init()
    }
    fn nvmlInit_v2() {
        state::init()
    }
    /// The flags say what to do about GPUs that can't be attached: there are none.
    fn nvmlInitWithFlags(_flags: u32) {
        state::init()
    }
    fn nvmlShutdown() {
        state::shutdown()
    }
    fn nvmlSystemGetDriverVersion(version: Room, length: u32) {
        state::first(|facts| version.set(length, &facts.driver))
    }
    /// The CUDA version's major number and the driver's version, as NVIDIA's library has it.
    fn nvmlSystemGetNVMLVersion(version: Room, length: u32) {
        let text = state::first(|facts| Ok(format!("{}.{}", facts.cuda_version / 1000, facts.driver)))?;
        version.set(length, &text)
    }
    fn nvmlSystemGetCudaDriverVersion(version: Out<i32>) {
        state::first(|facts| version.set(facts.cuda_version as i32))
    }
    fn nvmlSystemGetCudaDriverVersion_v2(version: Out<i32>) {
        state::first(|facts| version.set(facts.cuda_version as i32))
    }
    /// Cut off where the room ends.
    fn nvmlSystemGetProcessName(pid: u32, name: Room, length: u32) {
        state::check()?;
        let mut text = processes::name(pid).ok_or(NvmlError::NOT_FOUND)?;
        while text.len() >= length as usize && text.pop().is_some() {}
        name.set(length, &text)
    }
    /// Units are boxes of several GPUs, which no guest sees.
    fn nvmlUnitGetCount(count: Out<u32>) {
        state::check()?;
        count.set(0)
    }
    fn nvmlGetExcludedDeviceCount(count: Out<u32>) {
        state::check()?;
        count.set(0)
    }
}

/// Needs no init.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn nvmlErrorString(result: NvmlReturn) -> *const c_char {
    error::text(result).as_ptr()
}
