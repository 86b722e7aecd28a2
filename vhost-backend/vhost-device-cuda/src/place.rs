//! Limits how many front ends may be connected at once. Each connected front end occupies one of
//! the VM's *places*; `connections.max` sets the number of places.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use host_ipc::messages::Refusal;

/// How long a new front end waits for a free place. That is long enough for the device to release
/// the place of a front end that was killed.
const PATIENCE: Duration = Duration::from_secs(1);

/// Tracks the connected front ends.
pub(super) struct Present {
    /// Called with the number of front ends when it changes.
    on_change: Box<dyn Fn(u32) + Send + Sync>,
    count: Mutex<Count>,
    somebody_left: Condvar,
}

#[derive(Default)]
struct Count {
    connected: u32,
    /// True if the connected front end could shrink its memory, so that no other front end may
    /// connect.
    alone: bool,
}

impl Present {
    pub(super) fn new(on_change: impl Fn(u32) + Send + Sync + 'static) -> Self {
        let (count, somebody_left) = Default::default();
        Self { on_change: Box::new(on_change), count, somebody_left }
    }

    fn lock(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(|error| error.into_inner())
    }

    /// Waits for a free place. If there is none, the error gives the reason.
    pub(super) fn enter(self: &Arc<Self>, max: u32) -> Result<Place, Refusal> {
        let full = |count: &mut Count| count.alone || count.connected >= max;
        let waited = self.somebody_left.wait_timeout_while(self.lock(), PATIENCE, full);
        let (mut count, waited) = waited.unwrap_or_else(|error| error.into_inner());
        if waited.timed_out() {
            return Err(match count.alone {
                true => Refusal::NotSealed,
                false => Refusal::ConnectionsMax,
            });
        }
        count.connected += 1;
        // Call this while holding the lock, so that the numbers are reported in order.
        (self.on_change)(count.connected);
        Ok(Place(self.clone()))
    }
}

/// A connected front end's place. Dropping it frees the place.
pub(super) struct Place(Arc<Present>);

impl Place {
    /// Reserves the device for this front end alone. If a front end's memory isn't sealed against
    /// shrinking, the front end can crash this process by truncating that memory. If it's alone, it
    /// harms only itself.
    pub(super) fn be_alone(&self) -> Result<(), Refusal> {
        let mut count = self.0.lock();
        if count.connected > 1 {
            return Err(Refusal::NotSealed);
        }
        count.alone = true;
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut count = self.0.lock();
        count.connected -= 1;
        count.alone = false;
        (self.0.on_change)(count.connected);
        self.0.somebody_left.notify_all();
    }
}
