//! Comparisons of the amount of free memory, which other processes can change too.

use crate::cuda::{Cuda, Outcome, cu, ensure};
use std::time::Duration;

/// How often a comparison is repeated if the amounts differ.
const ROUNDS: usize = 5;
/// How long to wait between two queries of the amount.
const PAUSE: Duration = Duration::from_millis(100);
/// After this many queries with the same result, no other process seems to change the amount. The
/// driver takes a while to free a process's memory after the process has exited.
const QUIET: usize = 5;
/// The maximum number of looks.
const PATIENCE: usize = 50;

/// Returns the amount of free memory.
fn free_memory(cuda: &Cuda) -> Outcome<usize> {
    let (mut free, mut total) = (0, 0);
    cu!(cuda, cuMemGetInfo_v2(&mut free, &mut total))?;
    Ok(free)
}

/// Returns the amount of free memory once it has stopped changing.
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

/// Runs `body`, and fails unless there is as much free memory after it as before. If the amounts
/// differ, repeats that, because another process may have allocated or freed memory meanwhile. A
/// body that doesn't free its memory fails every time.
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
