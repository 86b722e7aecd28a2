//! Waits for the host to settle.

use std::time::Duration;

use virtio_cuda_tests::eventually;

use crate::processes;
use crate::world::World;

/// The most time that anything may take to settle. It's far longer than needed, because the machine
/// may be busy.
pub const SETTLE: Duration = Duration::from_secs(120);

/// Waits until a check succeeds. It's a violation if it never does.
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
