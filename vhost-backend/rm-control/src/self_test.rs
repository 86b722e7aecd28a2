//! Finds out whether a kernel can be taken off a GPU: runs one that never ends by itself, disables
//! the channels of this process, and watches whether the kernel stops and continues.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::client::{Client, RmError};
use super::objects::{Channel, TooManyObjects};
use super::recorder;

/// The reason why the test failed.
#[derive(Debug, thiserror::Error)]
pub enum SelfTestError {
    /// An RM operation failed.
    #[error(transparent)]
    Rm(#[from] RmError),
    /// A function of libcuda is missing.
    #[error("libcuda has no {0}")]
    Missing(&'static str),
    /// A function of libcuda failed.
    #[error("{call} failed with CUDA error {result}")]
    Cuda {
        /// Name of the function that failed.
        call: &'static str,
        /// The CUresult that the function returned.
        result: i32,
    },
    /// RM doesn't know the GPU, for example because it is a MIG instance.
    #[error("the driver has no GPU with the UUID of this CUDA device")]
    UnknownGpu,
    /// This process has more driver objects than the recorder can record.
    #[error(transparent)]
    Objects(#[from] TooManyObjects),
    /// The recorder has recorded no compute channels of this process.
    #[error("no compute channels of this process were recorded")]
    NoChannels,
    /// The kernel didn't start, stop or continue when it should. Contains the description.
    #[error("{0}")]
    Kernel(&'static str),
}

/// The results of a successful test.
#[derive(Clone, Debug)]
pub struct Report {
    /// The driver's number of the GPU.
    pub gpu_number: u32,
    /// Number of compute channels of this process.
    pub channels: usize,
    /// The time that each disable took.
    pub disable: Vec<Duration>,
    /// The time that each enable took.
    pub enable: Vec<Duration>,
}

type Result<T> = std::result::Result<T, SelfTestError>;

/// Declares the functions of libcuda that the test calls.
macro_rules! functions {
    ($($field:ident: $name:literal ($($parameter:ty),*);)*) => {
        /// The functions of libcuda that the test calls.
        #[derive(Clone, Copy)]
        pub struct Cuda {
            $($field: unsafe extern "C" fn($($parameter),*) -> c_int,)*
        }

        impl Cuda {
            /// Looks up the functions.
            ///
            /// # Safety
            /// `symbol` must return libcuda's function of the given name, and the library must
            /// never be unloaded.
            pub unsafe fn load(symbol: impl Fn(&CStr) -> Option<*mut c_void>) -> Result<Self> {
                Ok(Self {
                    $($field: {
                        let address = symbol($name).ok_or_else(|| {
                            SelfTestError::Missing($name.to_str().unwrap_or_default())
                        })?;
                        // SAFETY: `symbol` returns libcuda's function of this name, and cuda.h
                        // declares it with this type.
                        unsafe {
                            std::mem::transmute::<
                                *mut c_void,
                                unsafe extern "C" fn($($parameter),*) -> c_int,
                            >(address)
                        }
                    },)*
                })
            }
        }
    };
}

functions! {
    init: c"cuInit" (c_uint);
    device_get: c"cuDeviceGet" (*mut c_int, c_int);
    device_get_uuid: c"cuDeviceGetUuid" (*mut [u8; 16], c_int);
    context_retain: c"cuDevicePrimaryCtxRetain" (*mut *mut c_void, c_int);
    context_set: c"cuCtxSetCurrent" (*mut c_void);
    context_synchronize: c"cuCtxSynchronize" ();
    stream_create: c"cuStreamCreate" (*mut *mut c_void, c_uint);
    host_alloc: c"cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
    device_pointer: c"cuMemHostGetDevicePointer_v2" (*mut u64, *mut c_void, c_uint);
    module_load: c"cuModuleLoadData" (*mut *mut c_void, *const c_void);
    module_function: c"cuModuleGetFunction" (*mut *mut c_void, *mut c_void, *const c_char);
    launch: c"cuLaunchKernel" (
        *mut c_void,
        c_uint, c_uint, c_uint,
        c_uint, c_uint, c_uint,
        c_uint, *mut c_void, *mut *mut c_void, *mut *mut c_void
    );
}

/// A kernel that increments the number at `page` until the number at `page + 64` isn't 0. It also
/// ends after `limit` nanoseconds, so that a failed test leaves no kernel running.
const KERNEL: &CStr = c"
.version 6.0
.target sm_50
.address_size 64
.visible .entry count(.param .u64 page, .param .u64 limit)
{
    .reg .pred %p<3>;
    .reg .b32 %r<3>;
    .reg .b64 %d<6>;
    ld.param.u64 %d1, [page];
    ld.param.u64 %d2, [limit];
    cvta.to.global.u64 %d1, %d1;
    mov.u64 %d3, %globaltimer;
    mov.u32 %r1, 0;
again:
    add.u32 %r1, %r1, 1;
    st.volatile.global.u32 [%d1], %r1;
    ld.volatile.global.u32 %r2, [%d1+64];
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra done;
    mov.u64 %d4, %globaltimer;
    sub.u64 %d5, %d4, %d3;
    setp.lt.u64 %p2, %d5, %d2;
    @%p2 bra again;
done:
    ret;
}
";
const COUNTER: usize = 0;
const FLAG: usize = 64;
const PAGE_SIZE: usize = 4096;

/// How long the counter must not change while the kernel is off the GPU.
const STILL: Duration = Duration::from_millis(3);
/// The time slice to which the test limits the kernel's channels, in microseconds.
const TIMESLICE: u64 = 100;
/// How long the last writes of a kernel may take to reach the host's memory.
const IN_FLIGHT: Duration = Duration::from_micros(500);
/// How long a kernel may take to start or continue.
const PATIENCE: Duration = Duration::from_millis(500);

/// Tests on the GPU with this ordinal in CUDA. [`recorder`] must have been recording since before
/// libcuda was initialized. The kernel ends by itself after `limit`, even if the test fails. The
/// test hangs if the driver does, so the caller must limit its time. Some of the memory that it
/// allocates is never freed.
pub fn run(cuda: &Cuda, ordinal: c_int, rounds: u32, limit: Duration) -> Result<Report> {
    let client = Client::open()?;
    let (mut device, mut uuid) = (0, [0; 16]);
    // SAFETY: the pointers are to local variables.
    unsafe {
        check("cuInit", (cuda.init)(0))?;
        check("cuDeviceGet", (cuda.device_get)(&mut device, ordinal))?;
        check("cuDeviceGetUuid", (cuda.device_get_uuid)(&mut uuid, device))?;
    }
    let gpu = client.gpus().find(|gpu| gpu.uuid == uuid).ok_or(SelfTestError::UnknownGpu)?;
    let kernel = Kernel::start(cuda, device, limit)?;
    let result = measure(&client, gpu.number, &kernel, rounds);
    kernel.stop();
    let report = result?;
    // SAFETY: the function takes no pointers.
    check("cuCtxSynchronize", unsafe { (cuda.context_synchronize)() })?;
    Ok(report)
}

/// A running kernel.
#[derive(Debug)]
pub struct Kernel {
    counter: &'static AtomicU32,
    flag: &'static AtomicU32,
}

impl Kernel {
    /// Starts a kernel in a device's primary context, which becomes this thread's current context.
    /// The kernel ends by itself after `limit`. Its page of host memory is never freed.
    pub fn start(cuda: &Cuda, device: c_int, limit: Duration) -> Result<Self> {
        const MAPPED: c_uint = 2;
        const NON_BLOCKING: c_uint = 1;
        let (mut context, mut module, mut function) = (null_mut(), null_mut(), null_mut());
        let (mut page, mut address) = (null_mut(), 0u64);
        let mut limit = limit.as_nanos() as u64;
        // SAFETY: the pointers are to local variables, the module and the name are C strings, and
        // the kernel's parameters have the types that it declares.
        unsafe {
            check("cuDevicePrimaryCtxRetain", (cuda.context_retain)(&mut context, device))?;
            check("cuCtxSetCurrent", (cuda.context_set)(context))?;
            check("cuMemHostAlloc", (cuda.host_alloc)(&mut page, PAGE_SIZE, MAPPED))?;
            page.cast::<u8>().write_bytes(0, PAGE_SIZE);
            let result = (cuda.device_pointer)(&mut address, page, 0);
            check("cuMemHostGetDevicePointer", result)?;
            let image = KERNEL.as_ptr().cast();
            check("cuModuleLoadData", (cuda.module_load)(&mut module, image))?;
            let result = (cuda.module_function)(&mut function, module, c"count".as_ptr());
            check("cuModuleGetFunction", result)?;
            let mut parameters = [(&raw mut address).cast(), (&raw mut limit).cast()];
            // Use a non-blocking stream, because a kernel in the legacy stream would delay calls
            // that synchronize with that stream.
            let mut stream = null_mut();
            check("cuStreamCreate", (cuda.stream_create)(&mut stream, NON_BLOCKING))?;
            let parameters = parameters.as_mut_ptr();
            let result =
                (cuda.launch)(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, null_mut());
            check("cuLaunchKernel", result)?;
        }
        // SAFETY: the page contains both offsets, is aligned, and is never freed. From here on,
        // this process and the kernel access it only with atomic operations.
        let number = |at: usize| unsafe { &*page.cast::<u8>().add(at).cast::<AtomicU32>() };
        Ok(Self { counter: number(COUNTER), flag: number(FLAG) })
    }

    fn count(&self) -> u32 {
        self.counter.load(Ordering::Acquire)
    }

    /// Lets the kernel end.
    pub fn stop(&self) {
        self.flag.store(1, Ordering::Release);
    }

    /// Waits until the kernel's counter has passed `from`. Returns false if that takes longer than
    /// `PATIENCE`.
    pub fn continues(&self, from: u32) -> bool {
        let start = Instant::now();
        while self.count() == from {
            if start.elapsed() > PATIENCE {
                return false;
            }
            std::thread::sleep(Duration::from_micros(20));
        }
        true
    }
}

/// Disables and enables this process's channels `rounds` times while the kernel runs.
fn measure(client: &Client, gpu_number: u32, kernel: &Kernel, rounds: u32) -> Result<Report> {
    if !kernel.continues(0) {
        return Err(SelfTestError::Kernel("the kernel doesn't start"));
    }
    // List the channels only now, because the launch may have created more.
    let channels = recorder::objects()?.compute_channels(gpu_number);
    if channels.is_empty() {
        return Err(SelfTestError::NoChannels);
    }
    let mut report =
        Report { gpu_number, channels: channels.len(), disable: Vec::new(), enable: Vec::new() };
    for _ in 0..rounds {
        let (disable, enable) = evict_once(client, gpu_number, kernel, &channels)?;
        report.disable.push(disable);
        report.enable.push(enable);
    }
    Ok(report)
}

/// Disables and enables the channels once, and changes their time slice while they are disabled,
/// because a worker may do that at any time. Returns the times that disabling and enabling took.
fn evict_once(
    client: &Client,
    gpu_number: u32,
    kernel: &Kernel,
    channels: &[Channel],
) -> Result<(Duration, Duration)> {
    // The kernel must be running: if it weren't, a counter that doesn't change wouldn't show that
    // disabling works.
    if !kernel.continues(kernel.count()) {
        return Err(SelfTestError::Kernel("the kernel stops by itself"));
    }
    let start = Instant::now();
    client.disable(gpu_number, channels)?;
    let disable = start.elapsed();
    recorder::limit_timeslices(gpu_number, Some(TIMESLICE));
    std::thread::sleep(IN_FLIGHT);
    let before = kernel.count();
    std::thread::sleep(STILL);
    let after = kernel.count();
    let start = Instant::now();
    client.enable(gpu_number, channels)?;
    let enable = start.elapsed();
    recorder::limit_timeslices(gpu_number, None);
    if before != after {
        return Err(SelfTestError::Kernel("the kernel continues while its channels are disabled"));
    }
    if !kernel.continues(after) {
        return Err(SelfTestError::Kernel("the kernel doesn't continue after the enable"));
    }
    Ok((disable, enable))
}

fn check(call: &'static str, result: c_int) -> Result<()> {
    if result == 0 { Ok(()) } else { Err(SelfTestError::Cuda { call, result }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_without_a_function_is_an_error() {
        // SAFETY: the closure returns no function, so none can have the wrong type.
        let result = unsafe { Cuda::load(|_| None) };
        assert_eq!(result.err().unwrap().to_string(), "libcuda has no cuInit");
    }
}
