//! Measures copies between the device and pageable memory, in gigabytes per second.

use super::p50;
use crate::bench::gpu::Gpu;
use crate::bench::sample::{Measured, samples, time};
use crate::cuda::{Failed, Pointer};

/// Maximum number of bytes that a measurement copies.
const TOTAL: usize = 1 << 30;

/// Measures copies from pageable memory to the device.
pub(in crate::bench) fn copy_to(gpu: &Gpu, bytes: usize) -> Measured {
    let bytes = gpu.bytes(bytes);
    let from = vec![1u8; bytes];
    rate(gpu, bytes, |device| {
        // SAFETY: the source and the destination have this many bytes.
        time(|| unsafe { gpu.cuda.copy_to(device, from.as_ptr().cast(), bytes) })
    })
}

/// Measures copies from the device to pageable memory.
pub(in crate::bench) fn copy_from(gpu: &Gpu, bytes: usize) -> Measured {
    let bytes = gpu.bytes(bytes);
    let mut to = vec![1u8; bytes];
    rate(gpu, bytes, |device| {
        // SAFETY: the source and the destination have this many bytes.
        time(|| unsafe { gpu.cuda.copy_from(to.as_mut_ptr().cast(), device, bytes) })
    })
}

/// Measures copies from the device to pages that haven't been accessed before.
pub(in crate::bench) fn copy_fresh(gpu: &Gpu, bytes: usize) -> Measured {
    let bytes = gpu.bytes(bytes);
    rate(gpu, bytes, |device| {
        // The allocator maps new pages for an allocation of this size, and unmaps them when it's
        // freed.
        let mut to = Vec::<u8>::with_capacity(bytes);
        // SAFETY: the source has this many bytes, and the destination has capacity for them.
        time(|| unsafe { gpu.cuda.copy_from(to.as_mut_ptr().cast(), device, bytes) })
    })
}

fn rate(gpu: &Gpu, bytes: usize, mut copy: impl FnMut(Pointer) -> Result<f64, Failed>) -> Measured {
    let mut device = 0;
    // SAFETY: `device` is writable.
    unsafe { gpu.cuda.alloc(&mut device, bytes) }?;
    let times = samples(gpu.count((TOTAL / bytes).min(100)), || copy(device))?;
    // SAFETY: `alloc` has returned this address, and nothing uses the memory any longer.
    unsafe { gpu.cuda.free(device) }?;
    Ok(p50(&times.iter().map(|us| bytes as f64 / us / 1e3).collect::<Vec<_>>()))
}
