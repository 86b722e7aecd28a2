//! Caches the amount of the GPU's free memory, which cuMemGetInfo needs in addition to the VM's
//! quota.
//!
//! To determine it, the driver performs an operation that the supervisor checks, so a call took
//! about 25 us longer than natively on an H200. Nearly always, the GPU has more free memory than
//! the VM may still use, so the result depends only on the quota. Therefore, the worker reuses the
//! driver's answer for a short time.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use host_ipc::gate::MemoryUsage;

use crate::calls::lock;
use crate::driver::{CuError, CuResult, Driver};

/// How long the worker uses an answer of the driver. In that time, other VMs may allocate memory.
const RECENT: Duration = Duration::from_millis(10);
/// The free memory, in bytes, that the GPU must have beyond what the VM may still use, so that the
/// worker may use an earlier answer of the driver.
const MARGIN: usize = 1 << 30;

/// An answer of the driver.
#[derive(Clone, Copy)]
struct Seen {
    at: Instant,
    free: usize,
    total: usize,
    /// The memory that the VM used at the time of the answer, in bytes.
    used: u64,
}

impl Seen {
    /// Returns whether the answer can be used: it must be recent, and the GPU's free memory must
    /// have been enough for the memory that the VM has allocated since, for `left` more bytes, and
    /// for [`MARGIN`].
    fn has_free(&self, left: usize, used: u64) -> bool {
        let since = used.saturating_sub(self.used) as usize;
        self.at.elapsed() < RECENT
            && left
                .checked_add(since)
                .and_then(|sum| sum.checked_add(MARGIN))
                .is_some_and(|need| self.free >= need)
    }
}

/// The driver's latest answers, by device.
#[derive(Default)]
pub(in crate::calls) struct GpuFree {
    seen: Mutex<HashMap<i32, Seen>>,
}

impl GpuFree {
    /// Returns the memory that the program can still allocate, which is limited by the VM's quota
    /// and by the GPU's free memory, and the GPU's total memory. `kept` is the number of bytes that
    /// the worker keeps, which count as free for the program. The context must be current.
    pub(in crate::calls) fn within(
        &self,
        driver: &Driver,
        device: i32,
        usage: MemoryUsage,
        kept: u64,
    ) -> CuResult<(usize, usize)> {
        let left = usage.max.saturating_sub(usage.used) as usize;
        let seen = lock(&self.seen).get(&device).copied();
        if let Some(seen) = seen
            && seen.has_free(left, usage.used)
            && works(driver)
        {
            return Ok((left, seen.total));
        }
        let (mut free, mut total) = (0, 0);
        // SAFETY: the pointers are to local variables.
        unsafe { driver.cuMemGetInfo(&mut free, &mut total)? };
        free = free.saturating_add(kept as usize);
        let seen = Seen { at: Instant::now(), free, total, used: usage.used };
        lock(&self.seen).insert(device, seen);
        Ok((free.min(left), total))
    }
}

/// Returns whether the current context works. It doesn't if a kernel has failed in it, and then
/// cuMemGetInfo must report that error.
fn works(driver: &Driver) -> bool {
    // SAFETY: a null stream is valid, and means the legacy stream, which always exists.
    let state = unsafe { driver.cuStreamQuery(std::ptr::null_mut()) };
    matches!(state, Ok(()) | Err(CuError::NOT_READY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_while_it_leaves_no_doubt() {
        let seen = Seen { at: Instant::now(), free: 3 << 30, total: 4 << 30, used: 100 };
        assert!(seen.has_free(2 << 30, 100));
        assert!(seen.has_free(2 << 30, 50));
        assert!(!seen.has_free(2 << 30, 101), "the VM has allocated since");
        assert!(!seen.has_free((2 << 30) + 1, 100), "less than the margin is left");
        assert!(!seen.has_free(usize::MAX, u64::MAX));
        let old = Seen { at: Instant::now() - RECENT, ..seen };
        assert!(!old.has_free(0, 100));
    }
}
