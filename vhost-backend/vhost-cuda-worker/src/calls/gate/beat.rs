//! The heartbeat, which shows the scheduler that the worker isn't stopped or stuck while it has
//! work on a GPU or holds commands.
//!
//! A separate thread writes the time into the gate page, so that the heartbeat continues while the
//! ring reader is busy in the driver. After a second without such work, the thread announces in the
//! gate page that it will sleep, and sleeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;

use host_ipc::gate::{self, GateMap, GpuGate};

/// The time between two heartbeats.
const PERIOD: Duration = Duration::from_millis(20);
/// The number of consecutive heartbeats without work after which the thread sleeps.
const PATIENCE: u32 = 50;

/// The heartbeat thread.
pub(super) struct Beat {
    parked: Arc<AtomicBool>,
    thread: Thread,
}

impl Beat {
    pub(super) fn start(page: Arc<GateMap>) -> std::io::Result<Self> {
        let parked = Arc::new(AtomicBool::new(false));
        let sleeps = parked.clone();
        let thread = std::thread::Builder::new().name("heartbeat".into()).spawn(move || {
            let mut quiet = 0;
            page.worker.beating.store(1, Ordering::Relaxed);
            loop {
                page.worker.beat.store(gate::now(), Ordering::Relaxed);
                if is_active(&page) {
                    quiet = 0;
                } else {
                    quiet += 1;
                }
                if quiet < PATIENCE {
                    std::thread::sleep(PERIOD);
                    continue;
                }
                sleeps.store(true, Ordering::SeqCst);
                // Check again for work after setting `sleeps`. The reader reports work in the page
                // and then reads `sleeps`, so at least one thread sees the other's change.
                if !is_active(&page) {
                    page.worker.beating.store(0, Ordering::Relaxed);
                    std::thread::park();
                    // Write the time before setting `beating`, so that a thread that sees `beating`
                    // set also sees a recent heartbeat.
                    page.worker.beat.store(gate::now(), Ordering::Relaxed);
                    page.worker.beating.store(1, Ordering::Release);
                }
                sleeps.store(false, Ordering::SeqCst);
                quiet = 0;
            }
        })?;
        Ok(Self { parked, thread: thread.thread().clone() })
    }

    /// Wakes the heartbeat thread. Must be called after a GPU has become active or the gate has
    /// begun to hold a call.
    pub(super) fn wake(&self) {
        if self.parked.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
    }
}

fn is_active(page: &GateMap) -> bool {
    page.gpus.iter().any(GpuGate::is_in_use)
}
