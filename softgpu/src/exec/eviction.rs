//! Evictions: kernels on a simulated GPU stop in the middle and continue later, as kernels on a
//! real GPU do while their channels are disabled.
//!
//! Another process orders kernels to stop, through memory that it shares with the process that
//! loads this library. After that, it waits until `running` shows that no thread runs a kernel.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::state::device_memory::MAX_DEVICES;

/// Interval at which a stopped thread checks whether it may continue.
const PAUSE: Duration = Duration::from_micros(100);

static ORDERS: [OnceLock<Orders>; MAX_DEVICES] = [const { OnceLock::new() }; MAX_DEVICES];

struct Orders {
    /// 1 while kernels of the device must not run, 0 otherwise.
    off: &'static AtomicU64,
    /// Number of threads that are running kernels of the device.
    running: &'static AtomicU64,
}

/// Makes the kernels of a device obey the word at `off`, which is 1 while they must not run. Counts
/// the threads that run kernels in the word at `running`. Has no effect if this was already called
/// for the device.
///
/// # Safety
/// `off` and `running` must point to aligned, writable memory that is never freed, and that is
/// accessed only atomically.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softgpuObeyEvictions(device: c_int, off: *mut u64, running: *mut u64) {
    let Some(orders) = usize::try_from(device).ok().and_then(|device| ORDERS.get(device)) else {
        return;
    };
    // SAFETY: the caller guarantees that both words are aligned, never freed, and accessed only
    // atomically.
    let [off, running] = [off, running].map(|word| unsafe { AtomicU64::from_ptr(word) });
    let _ = orders.set(Orders { off, running });
}

/// A guard for a thread that is running a kernel. The thread counts as running until the guard is
/// dropped.
pub struct Running(Option<&'static Orders>);

impl Running {
    /// Waits until kernels may run on the device.
    pub fn on(device: usize) -> Self {
        let running = Self(ORDERS.get(device).and_then(OnceLock::get));
        running.begin();
        running
    }

    fn begin(&self) {
        let Some(Orders { off, running }) = self.0 else { return };
        loop {
            while off.load(Ordering::Relaxed) != 0 {
                std::thread::sleep(PAUSE);
            }
            // Both this thread and the other process write their word before they read the other's,
            // so at least one of them sees the other's write: either the load below returns 1, or
            // the other process sees this thread in `running`.
            running.fetch_add(1, Ordering::SeqCst);
            if off.load(Ordering::SeqCst) == 0 {
                return;
            }
            running.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Stops this thread while kernels must not run. The interpreter calls this every few thousand
    /// instructions.
    pub fn obey(&self) {
        let Some(Orders { off, running }) = self.0 else { return };
        if off.load(Ordering::Relaxed) != 0 {
            running.fetch_sub(1, Ordering::SeqCst);
            self.begin();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(Orders { running, .. }) = self.0 {
            running.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_thread_stops_and_continues_when_ordered() {
        let [off, running]: [&'static AtomicU64; 2] =
            std::array::from_fn(|_| &*Box::leak(Box::new(AtomicU64::new(0))));
        // SAFETY: the words are aligned, never freed, and only accessed atomically.
        unsafe { softgpuObeyEvictions(15, off.as_ptr(), running.as_ptr()) };
        let steps: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
        std::thread::spawn(move || {
            let thread = Running::on(15);
            loop {
                steps.fetch_add(1, Ordering::SeqCst);
                thread.obey();
            }
        });
        let until = |condition: &dyn Fn() -> bool| {
            let start = Instant::now();
            while !condition() {
                assert!(start.elapsed() < Duration::from_secs(30));
                std::thread::yield_now();
            }
        };
        for _ in 0..10 {
            let before = steps.load(Ordering::SeqCst);
            until(&|| steps.load(Ordering::SeqCst) > before + 100);
            off.store(1, Ordering::SeqCst);
            until(&|| running.load(Ordering::SeqCst) == 0);
            let stopped = steps.load(Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(2));
            assert_eq!(steps.load(Ordering::SeqCst), stopped);
            off.store(0, Ordering::SeqCst);
        }
    }
}
