//! Measures how long driver API calls take in the calling program: posted calls, in bursts that fit
//! into the ring, and calls that wait for a reply. Uses the `libcuda.so.1` that the loader finds.
//!
//! Prints the medians in nanoseconds. `call-cost MAX_POSTED MAX_WAITED` fails if a median exceeds
//! its maximum.

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::process::ExitCode;
use std::time::Instant;

/// Number of posted calls per burst. A burst must fit into the ring, which has 1 MiB by default.
const BURST: u32 = 1000;
const BURSTS: usize = 200;
const WAITED: usize = 20_000;
/// Number of calls that wait for a reply in one measurement.
const GROUP: usize = 50;

type Handle = *mut c_void;

struct Cuda {
    library: Handle,
}

impl Cuda {
    fn open() -> Result<Self, String> {
        // SAFETY: the name is a C string. The user of this program selects the library, and trusts
        // its initializers.
        let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            Err("cannot load libcuda.so.1".into())
        } else {
            Ok(Self { library })
        }
    }

    fn symbol(&self, name: &CStr) -> Result<*mut c_void, String> {
        // SAFETY: the handle comes from dlopen, and the name is a C string.
        let symbol = unsafe { libc::dlsym(self.library, name.as_ptr()) };
        if symbol.is_null() { Err(format!("libcuda.so.1 has no {name:?}")) } else { Ok(symbol) }
    }
}

fn check(what: &str, result: c_uint) -> Result<(), String> {
    if result == 0 { Ok(()) } else { Err(format!("{what} failed with CUresult {result}")) }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

macro_rules! function {
    ($cuda:expr, $name:literal, ($($arg:ty),*)) => {{
        let symbol = $cuda.symbol($name)?;
        // SAFETY: the caller of the macro specifies the signature that the driver API function with
        // this name has.
        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> c_uint>(symbol) }
    }};
}

/// Returns the median time of posted calls, and that of calls that wait for a reply, in
/// nanoseconds.
fn measure() -> Result<(f64, f64), String> {
    let cuda = Cuda::open()?;
    let init = function!(cuda, c"cuInit", (c_uint));
    let retain = function!(cuda, c"cuDevicePrimaryCtxRetain", (*mut Handle, c_int));
    let set_current = function!(cuda, c"cuCtxSetCurrent", (Handle));
    let event_create = function!(cuda, c"cuEventCreate", (*mut Handle, c_uint));
    let stream_create = function!(cuda, c"cuStreamCreate", (*mut Handle, c_uint));
    let record = function!(cuda, c"cuEventRecord", (Handle, Handle));
    let synchronize = function!(cuda, c"cuStreamSynchronize", (Handle));
    let query = function!(cuda, c"cuStreamQuery", (Handle));
    let (mut ctx, mut event, mut stream) =
        (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
    // Device 0 is the first device. Flag 2 is CU_EVENT_DISABLE_TIMING, and flag 1 is
    // CU_STREAM_NON_BLOCKING.
    // SAFETY: the output pointers point to local variables.
    unsafe {
        check("cuInit", init(0))?;
        check("cuDevicePrimaryCtxRetain", retain(&mut ctx, 0))?;
        check("cuCtxSetCurrent", set_current(ctx))?;
        check("cuEventCreate", event_create(&mut event, 2))?;
        check("cuStreamCreate", stream_create(&mut stream, 1))?;
    }
    let mut posted = Vec::new();
    for _ in 0..BURSTS {
        let start = Instant::now();
        for _ in 0..BURST {
            // SAFETY: the event and the stream haven't been destroyed.
            check("cuEventRecord", unsafe { record(event, stream) })?;
        }
        posted.push(start.elapsed().as_nanos() as f64 / f64::from(BURST));
        // SAFETY: the stream hasn't been destroyed.
        check("cuStreamSynchronize", unsafe { synchronize(stream) })?;
    }
    let mut waited = Vec::new();
    // In user-mode Linux, reading the clock is a system call, so don't read it for every call.
    for _ in 0..WAITED / GROUP {
        let start = Instant::now();
        for _ in 0..GROUP {
            // SAFETY: the stream hasn't been destroyed.
            check("cuStreamQuery", unsafe { query(stream) })?;
        }
        waited.push(start.elapsed().as_nanos() as f64 / GROUP as f64);
    }
    Ok((median(posted), median(waited)))
}

fn main() -> ExitCode {
    let limits: Vec<f64> =
        std::env::args().skip(1).map(|arg| arg.parse().unwrap_or(f64::NAN)).collect();
    match measure() {
        Ok((posted, waited)) => {
            println!("posted call (cuEventRecord, bursts of {BURST}): {posted:.0} ns");
            println!("waited call (cuStreamQuery): {waited:.0} ns");
            let within = match limits[..] {
                [] => true,
                [max_posted, max_waited] => posted < max_posted && waited < max_waited,
                _ => {
                    eprintln!("usage: call-cost [MAX_POSTED_NS MAX_WAITED_NS]");
                    return ExitCode::from(2);
                }
            };
            if within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("call-cost: {error}");
            ExitCode::FAILURE
        }
    }
}
