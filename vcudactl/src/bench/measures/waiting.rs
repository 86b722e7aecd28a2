//! Measures kernels, and the ways to wait for them.

use std::ptr::null_mut;
use std::time::Instant;

use super::{p50, p50_p99};
use crate::bench::gpu::Gpu;
use crate::bench::sample::{Measured, samples, time};
use crate::cuda::{Failed, Handle};

/// The flag CU_EVENT_DISABLE_TIMING. `BLOCKING` combines it with CU_EVENT_BLOCKING_SYNC.
const NO_TIMING: u32 = 2;
const BLOCKING: u32 = 3;
/// Number of records in a sample of [`record`].
const RECORDS: usize = 100;

/// Returns the number of samples to take of a kernel that takes `us` microseconds.
fn count(gpu: &Gpu, us: u64) -> usize {
    gpu.count(if us < 100 { 1000 } else { 300 })
}

/// Measures a kernel and cuStreamSynchronize.
pub(in crate::bench) fn sync(gpu: &Gpu, us: u64) -> Measured {
    let times = samples(count(gpu, us), || {
        time(|| {
            gpu.launch_for(us)?;
            gpu.wait()
        })
    })?;
    Ok(p50_p99(&times))
}

/// Measures a kernel, a copy of four bytes to page-locked memory, and cuStreamSynchronize.
pub(in crate::bench) fn copy_sync(gpu: &Gpu, us: u64) -> Measured {
    let mut host = null_mut();
    // SAFETY: `host` is writable.
    unsafe { gpu.cuda.host_alloc(&mut host, 4) }?;
    let times = samples(count(gpu, us), || {
        time(|| {
            gpu.launch_for(us)?;
            // SAFETY: both addresses have four bytes, and the memory exists until the copy has
            // finished.
            unsafe { gpu.cuda.copy_from_async(host, gpu.word, 4, gpu.stream) }?;
            gpu.wait()
        })
    })?;
    // SAFETY: the copy has finished, so nothing uses the memory.
    unsafe { gpu.cuda.host_free(host) }?;
    Ok(p50_p99(&times))
}

/// Measures a kernel, cuEventRecord, and cuEventSynchronize.
pub(in crate::bench) fn event_sync(gpu: &Gpu, us: u64) -> Measured {
    Ok(p50_p99(&event_times(gpu, us, NO_TIMING)?))
}

/// Measures the same as [`event_sync`], with an event whose waiting thread sleeps.
pub(in crate::bench) fn blocking_sync(gpu: &Gpu, us: u64) -> Measured {
    Ok(p50(&event_times(gpu, us, BLOCKING)?))
}

fn event_times(gpu: &Gpu, us: u64, flags: u32) -> Measured {
    let event = gpu.event(flags)?;
    let times = samples(count(gpu, us), || {
        time(|| {
            gpu.launch_for(us)?;
            record_and_wait(gpu, event)
        })
    })?;
    // SAFETY: the event exists, and nothing uses it any longer.
    unsafe { gpu.cuda.event_destroy(event) }?;
    Ok(times)
}

fn record_and_wait(gpu: &Gpu, event: Handle) -> Result<(), Failed> {
    // SAFETY: the event and the stream exist.
    unsafe {
        gpu.cuda.event_record(event, gpu.stream)?;
        gpu.cuda.event_sync(event)
    }
}

/// Measures a kernel, and repeated calls of cuStreamQuery until it has finished.
pub(in crate::bench) fn query(gpu: &Gpu, us: u64) -> Measured {
    let times = samples(count(gpu, us), || {
        time(|| {
            gpu.launch_for(us)?;
            gpu.poll()
        })
    })?;
    Ok(p50_p99(&times))
}

/// Measures cuEventRecord. The result is the time per call.
pub(in crate::bench) fn record(gpu: &Gpu) -> Measured {
    let event = gpu.event(NO_TIMING)?;
    let times = samples(gpu.count(200), || {
        let all = time(|| {
            // SAFETY: the event and the stream exist.
            (0..RECORDS).try_for_each(|_| unsafe { gpu.cuda.event_record(event, gpu.stream) })
        })?;
        gpu.wait()?;
        Ok(all / RECORDS as f64)
    })?;
    // SAFETY: the event exists, and nothing uses it any longer.
    unsafe { gpu.cuda.event_destroy(event) }?;
    Ok(p50(&times))
}

/// Measures the CPU time that this process uses while it sleeps until the end of a kernel of three
/// seconds, in percent.
pub(in crate::bench) fn cpu_time(gpu: &Gpu) -> Measured {
    let event = gpu.event(BLOCKING)?;
    let us = if gpu.quick { 100_000 } else { 3_000_000 };
    let (used, began) = (cpu_ns()?, Instant::now());
    gpu.launch_for(us)?;
    record_and_wait(gpu, event)?;
    let (used, passed) = (cpu_ns()?.saturating_sub(used), began.elapsed().as_nanos());
    // SAFETY: the event exists, and nothing uses it any longer.
    unsafe { gpu.cuda.event_destroy(event) }?;
    Ok(vec![used as f64 / passed as f64 * 100.0])
}

/// Returns the CPU time of the threads of this process, in nanoseconds.
fn cpu_ns() -> Result<u64, Failed> {
    let read = || {
        let tasks = std::fs::read_dir("/proc/self/task")?;
        let times = tasks.map(|task| {
            // Ignore a thread that has ended in the meantime. Its time isn't counted.
            let text = std::fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
            Ok(text.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0))
        });
        times.sum::<std::io::Result<u64>>()
    };
    read().map_err(|error| (0, format!("cannot read the CPU time: {error}")))
}
