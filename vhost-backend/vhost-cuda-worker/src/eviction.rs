//! Tests whether kernels can be taken off the GPUs.

use std::io;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rm_control::self_test::{self, Cuda, Report, SelfTestError};

use super::driver::{Driver, OBEY_EVICTIONS};
use host_ipc::gpu::{Eviction, GpuFacts, NoEviction};

const ROUNDS: u32 = 3;
/// The time after which the test's kernel ends by itself, if it isn't taken off the GPU.
const KERNEL_LIMIT: Duration = Duration::from_secs(1);
/// The time after which a test counts as failed. It's long because contexts on several GPUs are
/// created one after another.
const TIMEOUT: Duration = Duration::from_secs(6);

/// Tests on each of the driver library's GPUs whether kernels can be taken off it. The recorder
/// must have been running since before the library was loaded. A test that takes too long still
/// runs when this function returns, and may run until the process ends.
pub(super) fn test(driver: &Driver, gpus: &[GpuFacts]) -> (Eviction, Vec<NoEviction>) {
    if driver.library().symbol(OBEY_EVICTIONS).is_some() {
        return (Eviction::Simulated, Vec::new());
    }
    // SAFETY: the driver library's functions have the types that cuda.h declares, and the library
    // is never unloaded.
    let cuda = match unsafe { Cuda::load(|name| driver.library().symbol(name)) } {
        Ok(cuda) => cuda,
        Err(error) => return (Eviction::Unavailable(error.to_string()), Vec::new()),
    };
    let tests: Vec<_> =
        (0..).zip(gpus).map(|(ordinal, gpu)| (gpu.uuid, start(cuda, ordinal))).collect();
    let deadline = Instant::now() + TIMEOUT;
    let failures: Vec<_> = tests
        .into_iter()
        .filter_map(|(gpu, test)| {
            Some(NoEviction { gpu, reason: result_of(test, deadline).err()? })
        })
        .collect();
    if failures.len() < gpus.len() {
        return (Eviction::Works, failures);
    }
    let first = failures.into_iter().next().map(|failure| failure.reason);
    (Eviction::Unavailable(first.unwrap_or_else(|| "there is no GPU".into())), Vec::new())
}

type Outcome = Result<Report, SelfTestError>;

/// Starts the test of one GPU on a separate thread.
fn start(cuda: Cuda, ordinal: i32) -> io::Result<mpsc::Receiver<Outcome>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::Builder::new().name("eviction".into()).spawn(move || {
        // Sending fails if the receiver has already stopped waiting.
        let _ = sender.send(self_test::run(&cuda, ordinal, ROUNDS, KERNEL_LIMIT));
    })?;
    Ok(receiver)
}

/// Waits for the result of a test, until `deadline`. The error says why the test has failed.
fn result_of(test: io::Result<mpsc::Receiver<Outcome>>, deadline: Instant) -> Result<(), String> {
    let receiver = test.map_err(|error| format!("cannot start a thread: {error}"))?;
    match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the test takes too long".into()),
    }
}
