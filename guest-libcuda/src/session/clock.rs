//! Limits how long a thread spins. Reading the clock can cost a system call (it does under
//! user-mode Linux), so the processor's time-stamp counter is used if there is one.

use std::time::{Duration, Instant};

#[cfg(target_arch = "x86_64")]
fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has this instruction.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Measures the rate of the processor's time-stamp counter between [`Calibration::begin`] and
/// [`Calibration::end`].
#[derive(Clone, Copy)]
pub struct Calibration {
    began: Instant,
    #[cfg(target_arch = "x86_64")]
    ticks: u64,
}

/// The number of polls before a waiting thread yields the processor for the first time. These polls
/// take a few microseconds, and most replies arrive within that time.
const ROUNDS_BEFORE_YIELD: u32 = 16;

/// The time for which a thread polls for a reply before it sleeps.
#[derive(Clone, Copy, Debug)]
pub struct SpinBudget {
    #[cfg(target_arch = "x86_64")]
    ticks: u64,
    #[cfg(not(target_arch = "x86_64"))]
    time: Duration,
}

impl Calibration {
    /// Starts measuring.
    pub fn begin() -> Self {
        Self {
            began: Instant::now(),
            #[cfg(target_arch = "x86_64")]
            ticks: ticks(),
        }
    }

    /// Ends the measurement. Returns a budget for spinning for the time `budget`.
    pub fn end(self, budget: Duration) -> SpinBudget {
        #[cfg(target_arch = "x86_64")]
        {
            let ns = self.began.elapsed().as_nanos().max(1);
            let passed = u128::from(ticks().wrapping_sub(self.ticks));
            SpinBudget { ticks: (passed * budget.as_nanos() / ns) as u64 }
        }
        #[cfg(not(target_arch = "x86_64"))]
        SpinBudget { time: budget }
    }
}

impl SpinBudget {
    /// Spins until `ready` returns a value or the budget is spent.
    pub fn until<T>(&self, mut ready: impl FnMut() -> Option<T>) -> Option<T> {
        #[cfg(target_arch = "x86_64")]
        let begin = ticks();
        #[cfg(not(target_arch = "x86_64"))]
        let begin = Instant::now();
        let mut rounds = 0u32;
        loop {
            for _ in 0..16 {
                if let Some(value) = ready() {
                    return Some(value);
                }
                std::hint::spin_loop();
            }
            #[cfg(target_arch = "x86_64")]
            let spent = ticks().wrapping_sub(begin) >= self.ticks;
            #[cfg(not(target_arch = "x86_64"))]
            let spent = begin.elapsed() >= self.time;
            if spent {
                return None;
            }
            // Yield the processor, because the worker may need it to produce the reply.
            rounds += 1;
            if rounds.is_multiple_of(ROUNDS_BEFORE_YIELD) {
                std::thread::yield_now();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_in_about_its_time() {
        let calibration = Calibration::begin();
        std::thread::sleep(Duration::from_millis(20));
        let budget = calibration.end(Duration::from_millis(5));
        let began = Instant::now();
        assert_eq!(budget.until(|| None::<()>), None);
        let took = began.elapsed();
        assert!(took > Duration::from_millis(4) && took < Duration::from_millis(500), "{took:?}");
        assert_eq!(budget.until(|| Some(3)), Some(3));
    }
}
