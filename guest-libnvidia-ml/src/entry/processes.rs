//! Entry points for the guest processes that use a GPU.

use super::entries;
use crate::args::Out;
use crate::error::{NvmlError, NvmlResult};
use crate::generated::sys::{nvmlProcessInfo_t, nvmlProcessInfo_v1_t};
use crate::state::{self, Handle};
use protocol::uapi::Process;

/// The MIG instance id of a process that isn't on a MIG instance.
const NO_INSTANCE: u32 = u32::MAX;

/// Returns the processes that have sessions on a GPU. If a process has several sessions, it is
/// listed once, with the total of their memory.
pub(super) fn of(device: Handle) -> NvmlResult<Vec<Process>> {
    state::gpu(device)?;
    let index = device.index()? as u32;
    let mut merged: Vec<Process> = Vec::new();
    for process in state::now()?.processes.into_iter().filter(|process| process.gpu == index) {
        match merged.iter_mut().find(|known| known.pid == process.pid) {
            Some(known) => {
                known.memory_used = known.memory_used.saturating_add(process.memory_used)
            }
            None => merged.push(process),
        }
    }
    Ok(merged)
}

/// Returns the command that started a process, or the process's short name if the command is empty.
pub(super) fn name(pid: u32) -> Option<String> {
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let first = command.split(|byte| *byte == 0).next().unwrap_or_default();
    if !first.is_empty() {
        return Some(String::from_utf8_lossy(first).into_owned());
    }
    let short = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(short.trim_end().to_owned())
}

/// Stores a list of processes in `infos`, and its length in `count`. If the list is too long for
/// the array, stores only its length and fails.
///
/// # Safety
///
/// If `infos` is not null, it must be valid for as many elements as `count` says.
pub(super) unsafe fn store<T: Copy>(
    found: Vec<Process>,
    count: Out<u32>,
    infos: Out<T>,
    info: impl Fn(&Process) -> T,
) -> NvmlResult {
    let room = count.get()? as usize;
    count.set(found.len() as u32)?;
    if found.len() > room {
        return Err(NvmlError::INSUFFICIENT_SIZE);
    }
    // SAFETY: the caller's array has this length.
    let infos = unsafe { infos.array(room) };
    for (index, process) in found.iter().enumerate() {
        infos.set(index, info(process))?;
    }
    Ok(())
}

fn old(process: &Process) -> nvmlProcessInfo_v1_t {
    nvmlProcessInfo_v1_t { pid: process.pid, usedGpuMemory: process.memory_used }
}

pub(super) fn new(process: &Process) -> nvmlProcessInfo_t {
    nvmlProcessInfo_t {
        pid: process.pid,
        usedGpuMemory: process.memory_used,
        gpuInstanceId: NO_INSTANCE,
        computeInstanceId: NO_INSTANCE,
    }
}

/// Stores an empty list. Sessions only compute, so a GPU never has graphics or MPS processes.
pub(super) fn none(device: Handle, count: Out<u32>) -> NvmlResult {
    state::gpu(device)?;
    count.set(0)
}

entries! {
    fn nvmlDeviceGetComputeRunningProcesses(
        device: Handle,
        count: Out<u32>,
        infos: Out<nvmlProcessInfo_v1_t>,
    ) {
        // SAFETY: `infos` has `count` elements.
        unsafe { store(of(device)?, count, infos, old) }
    }
    fn nvmlDeviceGetComputeRunningProcesses_v2(
        device: Handle,
        count: Out<u32>,
        infos: Out<nvmlProcessInfo_t>,
    ) {
        // SAFETY: `infos` has `count` elements.
        unsafe { store(of(device)?, count, infos, new) }
    }
    fn nvmlDeviceGetComputeRunningProcesses_v3(
        device: Handle,
        count: Out<u32>,
        infos: Out<nvmlProcessInfo_t>,
    ) {
        // SAFETY: `infos` has `count` elements.
        unsafe { store(of(device)?, count, infos, new) }
    }
    fn nvmlDeviceGetGraphicsRunningProcesses(
        device: Handle,
        count: Out<u32>,
        _infos: Out<nvmlProcessInfo_v1_t>,
    ) {
        none(device, count)
    }
    fn nvmlDeviceGetGraphicsRunningProcesses_v2(
        device: Handle,
        count: Out<u32>,
        _infos: Out<nvmlProcessInfo_t>,
    ) {
        none(device, count)
    }
    fn nvmlDeviceGetGraphicsRunningProcesses_v3(
        device: Handle,
        count: Out<u32>,
        _infos: Out<nvmlProcessInfo_t>,
    ) {
        none(device, count)
    }
    fn nvmlDeviceGetMPSComputeRunningProcesses(
        device: Handle,
        count: Out<u32>,
        _infos: Out<nvmlProcessInfo_v1_t>,
    ) {
        none(device, count)
    }
    fn nvmlDeviceGetMPSComputeRunningProcesses_v2(
        device: Handle,
        count: Out<u32>,
        _infos: Out<nvmlProcessInfo_t>,
    ) {
        none(device, count)
    }
    fn nvmlDeviceGetMPSComputeRunningProcesses_v3(
        device: Handle,
        count: Out<u32>,
        _infos: Out<nvmlProcessInfo_t>,
    ) {
        none(device, count)
    }
}
