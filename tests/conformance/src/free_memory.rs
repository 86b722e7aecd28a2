//! Checks that the amount of free memory doesn't change, although other processes can change it,
//! too.

use crate::cuda::{Cuda, Outcome, cu, ensure};
use std::time::Duration;

/// Number of times that a comparison is made if the amounts differ.
const ROUNDS: usize = 5;
/// The time between two queries of the amount of free memory.
const PAUSE: Duration = Duration::from_millis(100);
/// Number of consecutive queries that must return the same amount before the amount counts as
/// settled. This is necessary because the driver takes a while to free the memory of a process that
/// has exited.
const QUIET: usize = 5;
/// Maximum number of queries before the amount counts as settled even if it still changes.
const PATIENCE: usize = 50;

/// Returns the amount of free memory on the current device, in bytes.
fn free_memory(cuda: &Cuda) -> Outcome<usize> {
    let (mut free, mut total) = (0, 0);
    cu!(cuda, cuMemGetInfo_v2(&mut free, &mut total))?;
    Ok(free)
}

/// Returns the amount of free memory as soon as it has settled.
fn settled(cuda: &Cuda) -> Outcome<usize> {
    let (mut last, mut unchanged) = (free_memory(cuda)?, 0);
    for _ in 0..PATIENCE {
        std::thread::sleep(PAUSE);
        let now = free_memory(cuda)?;
        unchanged = if now == last { unchanged + 1 } else { 0 };
        last = now;
        if unchanged == QUIET {
            break;
        }
    }
    Ok(last)
}

/// Runs `body`, and fails unless as much memory is free after it as before. If the amounts differ,
/// repeats that up to [`ROUNDS`] times, because another process may have allocated or freed memory
/// in the meantime. A body that doesn't free its memory fails every time.
pub fn leaves_free_memory(cuda: &Cuda, mut body: impl FnMut() -> Outcome) -> Outcome {
    let mut changes = Vec::new();
    for _ in 0..ROUNDS {
        let before = settled(cuda)?;
        body()?;
        let after = settled(cuda)?;
        if after == before {
            return Ok(());
        }
        changes.push(after.cast_signed() - before.cast_signed());
    }
    ensure!(false, "the free memory changed by {changes:?} bytes");
    Ok(())
}
