//! Tests whether kernels can be taken off a GPU.

use std::sync::mpsc;
use std::time::Duration;

use rm_control::self_test::{self, Cuda};

use super::driver::{Driver, OBEY_EVICTIONS};
use host_ipc::gpu::Eviction;

const ROUNDS: u32 = 3;
/// The time after which the test's kernel ends by itself.
const KERNEL_LIMIT: Duration = Duration::from_secs(1);
/// The time after which the test has failed.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Tests on the first GPU, because all GPUs of a host have the same driver. The recorder must have
/// been recording since before the driver library was loaded. If the test takes too long, it still
/// runs when this returns, and only the end of the process is sure to end it.
pub(super) fn test(driver: &Driver) -> Eviction {
    if driver.library().symbol(OBEY_EVICTIONS).is_some() {
        return Eviction::Simulated;
    }
    // SAFETY: the driver library's functions are those that cuda.h declares, and it is never
    // unloaded.
    let cuda = match unsafe { Cuda::load(|name| driver.library().symbol(name)) } {
        Ok(cuda) => cuda,
        Err(error) => return Eviction::Unavailable(error.to_string()),
    };
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::Builder::new().name("eviction".into()).spawn(move || {
        // An error means that nobody waits any more.
        let _ = sender.send(self_test::run(&cuda, ROUNDS, KERNEL_LIMIT));
    });
    if let Err(error) = thread {
        return Eviction::Unavailable(format!("cannot start a thread: {error}"));
    }
    match receiver.recv_timeout(TIMEOUT) {
        Ok(Ok(_)) => Eviction::Works,
        Ok(Err(error)) => Eviction::Unavailable(error.to_string()),
        Err(_) => Eviction::Unavailable("the test takes too long".into()),
    }
}
