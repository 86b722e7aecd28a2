//! Waits until the host reaches an expected state.

use std::time::Duration;

use virtio_cuda_tests::eventually;

use crate::processes;
use crate::world::World;

/// Maximum time that the host may take to reach an expected state. It's far longer than necessary,
/// because the machine may be busy.
pub const SETTLE: Duration = Duration::from_secs(120);

/// Waits until a check succeeds. If it doesn't succeed within [`SETTLE`], records a violation.
pub fn settled(world: &World, when: &str, mut check: impl FnMut() -> Result<(), String>) {
    let mut error = String::new();
    let is_well = eventually(SETTLE, || match check() {
        Ok(()) => true,
        Err(now) => {
            error = now;
            std::thread::sleep(Duration::from_millis(100));
            !processes::runs(world.broker)
        }
    });
    if !is_well || !processes::runs(world.broker) {
        world.violation(&format!("{when}: {error}"));
    }
}
