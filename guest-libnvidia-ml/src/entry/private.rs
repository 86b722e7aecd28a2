//! Private functions that NVIDIA's tools use and that no public header declares.
//!
//! nvidia-smi exits if it can't get one particular table of functions. It calls a function in the
//! table only if its index is within the table's size and its address is not null, and it works
//! without the missing functions. So the table here has only the functions that list processes, and
//! the two functions without which `nvidia-smi dmon` and `nvidia-smi pmon` exit or show no use of
//! processes (observed with 535.261, 535.309, and 550.163).

use super::processes::{name, new, none, of, store};
use super::utilization::Busy;
use super::{entries, run};
use crate::args::{Arg, Out, padded};
use crate::error::NvmlError;
use crate::generated::sys::{nvmlDevice_t, nvmlProcessInfo_t, nvmlReturn_t};
use crate::state::{self, Handle};
use cuda_api::args::In;
use guest_transport::log::say;
use protocol::uapi::Process;
use std::ffi::{c_char, c_void};

/// The UUID of nvidia-smi's table.
const NVIDIA_SMI: [u8; 16] = *b"\xc4\xfe\x3e\x6c\xc9\x8f\x6c\x4e\xa3\x27\xee\x69\x6e\x12\xf7\xc4";
/// The index of the function that says whether nvidia-smi may monitor a GPU.
const CAN_MONITOR: usize = 0x240 / 8;
/// The index of the function that returns samples of the processes' use of a GPU.
const SAMPLES: usize = 0x488 / 8;
/// The indices of the table's functions that list compute, graphics, and MPS processes.
const COMPUTE: usize = 0x6a8 / 8;
const GRAPHICS: usize = 0x6b0 / 8;
const MPS: usize = 0x6b8 / 8;
const WORDS: usize = MPS + 1;

/// A process with its name, as the table's functions return it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LongProcess {
    info: nvmlProcessInfo_t,
    /// Memory protected by confidential computing. Always 0.
    protected: u64,
    /// The process name, zero-terminated. nvidia-smi doesn't show a process whose name is empty.
    name: [c_char; 4096],
}

const _: () = assert!(size_of::<LongProcess>() == 4128);

/// One word of the table for nvidia-smi: a number, or the address of a function. The first word is
/// the table's size in bytes.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "read by nvidia-smi alone")]
pub union Word {
    number: usize,
    list: unsafe extern "C" fn(nvmlDevice_t, *mut u32, *mut LongProcess) -> nvmlReturn_t,
    flag: unsafe extern "C" fn(nvmlDevice_t, *mut u32) -> nvmlReturn_t,
    samples:
        unsafe extern "C" fn(nvmlDevice_t, u64, *mut u32, *mut u32, *mut Sample) -> nvmlReturn_t,
}

/// The process that used one of a GPU's engines during a sample, and its use of the engine in
/// percent.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct EngineSample {
    percent: u32,
    _unknown: u32,
    pid: u32,
    _rest: [u32; 17],
}

/// A sample of a GPU's use. nvidia-smi shows, for each process and engine, the average over all
/// samples. In 550, a sample also has the JPEG and optical flow engines, and is longer.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Sample {
    at_us: u64,
    /// The samples of the multiprocessors, memory, encoder, and decoder, in this order.
    engines: [EngineSample; 4],
}

const _: () = assert!(size_of::<Sample>() == 328);

static TABLE: [Word; WORDS] = {
    let mut table = [Word { number: 0 }; WORDS];
    table[0] = Word { number: size_of::<[Word; WORDS]>() };
    table[CAN_MONITOR] = Word { flag: can_monitor };
    table[SAMPLES] = Word { samples };
    table[COMPUTE] = Word { list: compute };
    table[GRAPHICS] = Word { list: others };
    table[MPS] = Word { list: others };
    table
};

unsafe extern "C" fn compute(
    device: nvmlDevice_t,
    count: *mut u32,
    infos: *mut LongProcess,
) -> nvmlReturn_t {
    let long = |process: &Process| {
        // The name is unknown if the process is in another container or has just exited.
        let text = name(process.pid).unwrap_or_else(|| "-".into());
        LongProcess { info: new(process), protected: 0, name: padded(&text) }
    };
    // SAFETY: nvidia-smi passes these arguments as it does to NVML's functions, and `infos` has
    // `count` elements.
    run("the private list of processes", || unsafe {
        let found = of(Handle::from_c(device))?;
        store(found, Out::from_c(count), Out::from_c(infos), long)
    })
}

unsafe extern "C" fn others(
    device: nvmlDevice_t,
    count: *mut u32,
    _infos: *mut LongProcess,
) -> nvmlReturn_t {
    // SAFETY: nvidia-smi passes these arguments as it does to NVML's functions.
    run("the private list of other processes", || unsafe {
        none(Handle::from_c(device), Out::from_c(count))
    })
}

unsafe extern "C" fn can_monitor(device: nvmlDevice_t, flag: *mut u32) -> nvmlReturn_t {
    // SAFETY: nvidia-smi passes these arguments as it does to NVML's functions, and `flag` is valid
    // for writing.
    run("the private test for monitoring", || unsafe {
        state::gpu(Handle::from_c(device))?;
        Out::from_c(flag).set(1)
    })
}

/// Stores one sample, with the process that has used the GPU. Fails if several processes have used
/// it. Their use can't be reported, because a sample contains only one process, and several samples
/// can't be stored, because the length of a sample isn't known.
unsafe extern "C" fn samples(
    device: nvmlDevice_t,
    since_us: u64,
    _unknown: *mut u32,
    count: *mut u32,
    samples: *mut Sample,
) -> nvmlReturn_t {
    // SAFETY: nvidia-smi passes these arguments as it does to NVML's functions, and the array
    // `samples` has `count` elements.
    run("the private list of samples", || unsafe {
        let busy = Busy::now(Handle::from_c(device), since_us)?;
        let [(pid, percent)] = busy.processes[..] else { return Err(NvmlError::NOT_SUPPORTED) };
        let count = Out::from_c(count);
        if count.get()? == 0 {
            return Err(NvmlError::INSUFFICIENT_SIZE);
        }
        let mut sample = Sample { at_us: busy.at_us, ..Sample::default() };
        (sample.engines[0].pid, sample.engines[0].percent) = (pid, percent);
        Out::from_c(samples).set(sample)?;
        count.set(1)
    })
}

entries! {
    /// Returns a private table of functions by its UUID, as libcuda's cuGetExportTable does.
    fn nvmlInternalGetExportTable(table: Out<*const c_void>, id: In<[u8; 16]>) {
        state::check()?;
        let id = id.get().map_err(|_| NvmlError::INVALID_ARGUMENT)?;
        if id != NVIDIA_SMI {
            say!(Warn, "NVML: private table {id:02x?} is not supported");
            table.set(std::ptr::null())?;
            return Err(NvmlError::NOT_FOUND);
        }
        table.set(TABLE.as_ptr().cast())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_begins_with_its_size_and_ends_with_its_last_list() {
        // SAFETY: each word is as large as a number and can be read as one.
        unsafe {
            assert_eq!(TABLE[0].number, 0x6c0);
            let lists = [CAN_MONITOR, SAMPLES, COMPUTE, GRAPHICS, MPS];
            for (place, word) in TABLE.iter().enumerate().skip(1) {
                assert_eq!(word.number != 0, lists.contains(&place), "{:#x}", 8 * place);
            }
        }
    }
}
