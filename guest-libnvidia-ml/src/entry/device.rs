//! Entry points that find GPUs.

use super::entries;
use crate::args::{Out, Text};
use crate::error::{NvmlError, NvmlResult};
use crate::generated::sys::nvmlDevice_t;
use crate::state::{self, Handle};
use cuda_api::devices::{PciAddress, uuid_text};
use guest_transport::facts::{self, Snapshot};

fn by_index(index: u32, device: Out<nvmlDevice_t>) -> NvmlResult {
    let count = state::first(|facts| Ok(facts.gpus.len()))?;
    match index as usize {
        index if index < count => device.set(Handle::of(index)),
        _ => Err(NvmlError::INVALID_ARGUMENT),
    }
}

fn find(
    device: Out<nvmlDevice_t>,
    position: impl FnOnce(&Snapshot) -> Option<usize>,
) -> NvmlResult {
    let index = state::first(|facts| position(facts).ok_or(NvmlError::NOT_FOUND))?;
    device.set(Handle::of(index))
}

fn by_bus(text: Text, device: Out<nvmlDevice_t>) -> NvmlResult {
    state::check()?;
    let bus = PciAddress::parse(text.get()?).ok_or(NvmlError::INVALID_ARGUMENT)?;
    let at =
        |gpu: &protocol::uapi::Gpu| PciAddress::parse(&facts::text(&gpu.pci_bus_id)) == Some(bus);
    find(device, |facts| facts.gpus.iter().position(at))
}

entries! {
    fn nvmlDeviceGetCount(count: Out<u32>) {
        state::first(|facts| count.set(facts.gpus.len() as u32))
    }
    fn nvmlDeviceGetCount_v2(count: Out<u32>) {
        state::first(|facts| count.set(facts.gpus.len() as u32))
    }
    fn nvmlDeviceGetHandleByIndex(index: u32, device: Out<nvmlDevice_t>) {
        by_index(index, device)
    }
    fn nvmlDeviceGetHandleByIndex_v2(index: u32, device: Out<nvmlDevice_t>) {
        by_index(index, device)
    }
    fn nvmlDeviceGetHandleByUUID(uuid: Text, device: Out<nvmlDevice_t>) {
        state::check()?;
        let wanted = uuid.get()?;
        let same = |gpu: &protocol::uapi::Gpu| uuid_text(&gpu.uuid).eq_ignore_ascii_case(wanted);
        find(device, |facts| facts.gpus.iter().position(same))
    }
    fn nvmlDeviceGetHandleByPciBusId(bus: Text, device: Out<nvmlDevice_t>) {
        by_bus(bus, device)
    }
    fn nvmlDeviceGetHandleByPciBusId_v2(bus: Text, device: Out<nvmlDevice_t>) {
        by_bus(bus, device)
    }
    /// Always returns false, because a guest sees a MIG instance as a whole GPU.
    fn nvmlDeviceIsMigDeviceHandle(device: Handle, is_mig: Out<u32>) {
        state::gpu(device)?;
        is_mig.set(0)
    }
    fn nvmlDeviceGetMaxMigDeviceCount(device: Handle, count: Out<u32>) {
        state::gpu(device)?;
        count.set(0)
    }
    fn nvmlDeviceOnSameBoard(one: Handle, other: Handle, same: Out<i32>) {
        state::gpu(one)?;
        state::gpu(other)?;
        same.set(i32::from(one == other))
    }
}
