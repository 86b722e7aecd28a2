//! Takes a kernel of this process off the GPU 50 times, and prints how long that takes.
//!
//! `cargo run --release -p rm-control --example evict`, on a machine with an NVIDIA GPU.

use std::error::Error;
use std::ffi::{c_int, c_ulong, c_void};
use std::sync::mpsc;
use std::time::Duration;

use rm_control::self_test::{self, Cuda};
use rm_control::{Client, recorder};

const ROUNDS: u32 = 50;
/// The time after which the kernel ends by itself.
const LIMIT: Duration = Duration::from_secs(5);
/// The test fails if it takes longer than this.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Replaces libc's `ioctl`, so that libcuda's calls are recorded.
///
/// # Safety
/// The same as for `ioctl(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    // SAFETY: the caller guarantees what ioctl(2) requires.
    unsafe { recorder::ioctl(fd, request, argument) }
}

fn main() -> Result<(), Box<dyn Error>> {
    for gpu in Client::open()?.gpus() {
        let uuid: String = gpu.uuid.iter().map(|byte| format!("{byte:02x}")).collect();
        println!("GPU {}: UUID {uuid}", gpu.number);
    }
    recorder::start();
    // SAFETY: the name is a C string. libcuda's initializers may run here.
    let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
    if library.is_null() {
        return Err("cannot load libcuda.so.1".into());
    }
    // SAFETY: the library is libcuda, and is never unloaded. dlsym takes a C string.
    let cuda = unsafe {
        Cuda::load(|name| {
            let symbol = libc::dlsym(library, name.as_ptr());
            (!symbol.is_null()).then_some(symbol)
        })?
    };
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(self_test::run(&cuda, 0, ROUNDS, LIMIT)));
    let result = receiver.recv_timeout(TIMEOUT);
    println!(
        "{} channel groups with kernels, whose time slice can be changed",
        recorder::limitable_groups()
    );
    for object in recorder::objects()?.relevant() {
        println!("{object:x?}");
    }
    let mut report = result.map_err(|_| "the test takes too long")??;
    println!("{} compute channels on GPU {}", report.channels, report.gpu_number);
    for (name, times) in [("disable", &mut report.disable), ("enable", &mut report.enable)] {
        times.sort();
        let (median, max) = (times[times.len() / 2], times[times.len() - 1]);
        println!("{name}: median {median:?}, max {max:?}, {} rounds", times.len());
    }
    Ok(())
}
