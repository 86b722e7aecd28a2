//! The table that a program with `VIRTIO_CUDA_STATS=1` prints when it exits: how often it called
//! each entry point, what the calls cost, and whether they involved the host.

use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Whether calls are counted. It's set once, by [`init`].
static ENABLED: AtomicBool = AtomicBool::new(false);

static COUNTS: Mutex<Option<HashMap<&'static str, [Count; 3]>>> = Mutex::new(None);

thread_local! {
    /// The commands that the calling thread has sent without and with a reply.
    static SENT: Cell<[u64; 2]> = const { Cell::new([0; 2]) };
}

/// The number of calls of an entry point, and their total time.
#[derive(Clone, Copy, Default)]
struct Count {
    calls: u64,
    time: Duration,
}

/// The indices of the counts of an entry point.
#[derive(Clone, Copy)]
enum Kind {
    /// The call sent a command and waited for the reply.
    Waited = 0,
    /// The call sent commands without waiting.
    Posted = 1,
    /// The call sent nothing.
    Local = 2,
}

/// Reads `VIRTIO_CUDA_STATS` and, if it's set, begins to count.
pub fn init() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let set = std::env::var("VIRTIO_CUDA_STATS").is_ok_and(|value| value == "1");
        if set {
            *COUNTS.lock() = Some(HashMap::new());
            ENABLED.store(true, Ordering::Relaxed);
            // SAFETY: the function takes no arguments and stays loaded until the process exits,
            // because this library is never unloaded.
            unsafe { libc::atexit(print) };
        }
    });
}

/// Returns whether calls are counted.
#[inline(always)]
pub fn enabled() -> bool {
    ENABLED.load(Ordering::Relaxed)
}

/// Counts a command that is being sent.
#[inline]
pub fn count_command(waited: bool) {
    if enabled() {
        // A thread that is exiting may have no counter any more.
        let _ = SENT.try_with(|sent| {
            let mut counts = sent.get();
            counts[usize::from(waited)] += 1;
            sent.set(counts);
        });
    }
}

/// Runs an entry point's body and counts the call.
#[cold]
pub fn counted<R>(name: &'static str, body: impl FnOnce() -> R) -> R {
    let sent = || SENT.try_with(Cell::get).unwrap_or_default();
    let (before, start) = (sent(), Instant::now());
    let result = body();
    let (after, time) = (sent(), start.elapsed());
    let kind = match (after[1] > before[1], after[0] > before[0]) {
        (true, _) => Kind::Waited,
        (false, true) => Kind::Posted,
        (false, false) => Kind::Local,
    };
    if let Some(counts) = &mut *COUNTS.lock() {
        let count = &mut counts.entry(name).or_default()[kind as usize];
        count.calls += 1;
        count.time += time;
    }
    result
}

/// Prints the table to standard error.
extern "C" fn print() {
    if let Some(counts) = &*COUNTS.lock() {
        eprint!("{}", table(counts));
    }
}

/// Formats the counts, sorted by total time.
fn table(counts: &HashMap<&'static str, [Count; 3]>) -> String {
    let mut rows: Vec<_> = counts.iter().collect();
    let time = |counts: &[Count; 3]| counts.iter().map(|count| count.time).sum::<Duration>();
    rows.sort_by_key(|(name, counts)| (std::cmp::Reverse(time(counts)), **name));
    let mut text = format!(
        "virtio-cuda: calls and microseconds by entry point\n{:<44} {:>9} {:>11} {:>9} {:>11} {:>9} {:>11}\n",
        "entry point", "waited", "us", "posted", "us", "local", "us"
    );
    let mut totals = [Count::default(); 3];
    for (_, counts) in &rows {
        for (total, count) in totals.iter_mut().zip(*counts) {
            total.calls += count.calls;
            total.time += count.time;
        }
    }
    for (name, counts) in rows.into_iter().chain([(&"total", &totals)]) {
        let _ = write!(text, "{name:<44}");
        for count in counts {
            let _ = write!(text, " {:>9} {:>11.1}", count.calls, count.time.as_secs_f64() * 1e6);
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_by_time_and_ends_with_the_totals() {
        let count = |calls, micros| Count { calls, time: Duration::from_micros(micros) };
        let none = Count::default();
        let counts = HashMap::from([
            ("cuCtxGetCurrent", [none, none, count(9, 1)]),
            ("cuMemAlloc_v2", [count(2, 40), none, count(1, 0)]),
            ("cuLaunchKernel", [count(1, 10), count(5, 20), none]),
        ]);
        let text = table(&counts);
        let rows: Vec<Vec<&str>> =
            text.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["cuMemAlloc_v2", "2", "40.0", "0", "0.0", "1", "0.0"]);
        assert_eq!(rows[1], ["cuLaunchKernel", "1", "10.0", "5", "20.0", "0", "0.0"]);
        assert_eq!(rows[2], ["cuCtxGetCurrent", "0", "0.0", "0", "0.0", "9", "1.0"]);
        assert_eq!(rows[3], ["total", "3", "50.0", "5", "20.0", "10", "1.0"]);
    }
}
