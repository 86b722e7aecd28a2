//! The table that a program with `VIRTIO_CUDA_STATS=1` prints when it exits: how often it called
//! each entry point, what the calls cost, and whether they involved the host.

use parking_lot::Mutex;
use protocol::calls::{CuMemFreeV2, CuMemUnmap, VcudaHostUnregister};
use protocol::codec::Call;
use protocol::table;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt::Write;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Once, OnceLock};
use std::time::{Duration, Instant};

/// Whether calls are counted. It's set once, by [`init`].
static ENABLED: AtomicBool = AtomicBool::new(false);

static COUNTS: Mutex<Option<HashMap<&'static str, Counts>>> = Mutex::new(None);
static STARTED: OnceLock<Instant> = OnceLock::new();
/// The word in which the worker counts the time in ns for which work has waited for the VM's
/// window.
static TURN: OnceLock<&'static AtomicU64> = OnceLock::new();

/// The number of waits that completion words have ended.
static WORDS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static SENT: Cell<Sent> = const { Cell::new(Sent { posted: 0, waited: 0, pending: 0, bytes: 0 }) };
}

/// The number of the calling thread's commands without a reply (`posted`), with a reply (`waited`),
/// and with a reply that comes after GPU work (`pending`), and the number of bytes in both
/// directions.
#[derive(Clone, Copy, Default)]
struct Sent {
    posted: u64,
    waited: u64,
    pending: u64,
    bytes: u64,
}

/// The number of calls of an entry point, and their total time.
#[derive(Clone, Copy, Default)]
struct Count {
    calls: u64,
    time: Duration,
}

/// The calls of an entry point, and what they cost.
#[derive(Clone, Copy, Default)]
struct Counts {
    /// `waited` counts the calls that sent a command and waited for a reply, `posted` those that
    /// only sent commands, and `local` those that sent nothing.
    waited: Count,
    posted: Count,
    local: Count,
    /// The time of the calls that waited, divided into the time for GPU work (`gpu`), for the VM's
    /// window (`turn`), and for the host (`host`). `turn` includes the time for which posted calls
    /// waited for room in the ring because of the window.
    gpu: Duration,
    turn: Duration,
    host: Duration,
    bytes: u64,
}

impl Counts {
    fn time(&self) -> Duration {
        self.waited.time + self.posted.time + self.local.time
    }

    /// Adds a call that took `time` and sent `sent`. `turn` is the time for which work waited for
    /// the VM's window during the call, and may be longer than the call.
    fn add(&mut self, sent: Sent, time: Duration, turn: Duration) {
        let turn = turn.min(time);
        let count = if sent.waited > 0 {
            let rest = time - turn;
            self.turn += turn;
            *(if sent.pending > 0 { &mut self.gpu } else { &mut self.host }) += rest;
            &mut self.waited
        } else if sent.posted > 0 {
            self.turn += turn;
            &mut self.posted
        } else {
            &mut self.local
        };
        count.calls += 1;
        count.time += time;
        self.bytes += sent.bytes;
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        for (sum, count) in [
            (&mut self.waited, more.waited),
            (&mut self.posted, more.posted),
            (&mut self.local, more.local),
        ] {
            sum.calls += count.calls;
            sum.time += count.time;
        }
        self.gpu += more.gpu;
        self.turn += more.turn;
        self.host += more.host;
        self.bytes += more.bytes;
    }
}

/// Reads `VIRTIO_CUDA_STATS` and, if it's set, begins to count.
pub fn init() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let set = std::env::var("VIRTIO_CUDA_STATS").is_ok_and(|value| value == "1");
        if set {
            *COUNTS.lock() = Some(HashMap::new());
            STARTED.get_or_init(Instant::now);
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

/// Sets the word in which the worker counts the time for which work waits for the VM's window.
pub fn watch_turns(word: &'static AtomicU64) {
    let _ = TURN.set(word);
}

fn turns() -> Duration {
    TURN.get().map_or(Duration::ZERO, |word| Duration::from_nanos(word.load(Ordering::Relaxed)))
}

/// Counts a command that is being sent.
#[inline]
pub fn count_command(opcode: u32, waited: bool) {
    if enabled() {
        count(|sent| match waited {
            true => {
                sent.waited += 1;
                sent.pending += u64::from(waits_for_gpu(opcode));
            }
            false => sent.posted += 1,
        });
    }
}

/// Counts bytes that are sent or received by the calling thread.
#[inline]
pub fn count_bytes(bytes: usize) {
    if enabled() {
        count(|sent| sent.bytes += bytes as u64);
    }
}

fn count(change: impl FnOnce(&mut Sent)) {
    // Ignore errors: the counter of a thread that is exiting may already be destroyed.
    let _ = SENT.try_with(|cell| {
        let mut sent = cell.get();
        change(&mut sent);
        cell.set(sent);
    });
}

/// Returns whether the reply to a command comes only after the GPU has finished some work.
fn waits_for_gpu(opcode: u32) -> bool {
    const FREES: [u32; 3] = [CuMemFreeV2::OPCODE, CuMemUnmap::OPCODE, VcudaHostUnregister::OPCODE];
    FREES.contains(&opcode) || table::entry(opcode).is_some_and(|entry| entry.pending)
}

/// Counts a wait that a completion word has ended before the worker's reply.
#[inline]
pub fn count_word() {
    if enabled() {
        WORDS.fetch_add(1, Ordering::Relaxed);
    }
}

/// Runs an entry point's body and counts the call.
#[cold]
pub fn counted<R>(name: &'static str, body: impl FnOnce() -> R) -> R {
    let sent = || SENT.try_with(Cell::get).unwrap_or_default();
    let (before, turns_before, start) = (sent(), turns(), Instant::now());
    let result = body();
    let (after, time) = (sent(), start.elapsed());
    let sent = Sent {
        posted: after.posted - before.posted,
        waited: after.waited - before.waited,
        pending: after.pending - before.pending,
        bytes: after.bytes - before.bytes,
    };
    // If the session started during the call, the worker's count began at 0 then.
    let turn = turns().saturating_sub(turns_before);
    if let Some(counts) = &mut *COUNTS.lock() {
        counts.entry(name).or_default().add(sent, time, turn);
    }
    result
}

/// Prints the table to standard error.
extern "C" fn print() {
    if let Some(counts) = &*COUNTS.lock() {
        let wall = STARTED.get().map(Instant::elapsed).unwrap_or_default();
        let words = WORDS.load(Ordering::Relaxed);
        eprintln!("{}waits that ended without the worker: {words}", table(counts, wall));
    }
}

/// Formats the counts, sorted by total time.
fn table(counts: &HashMap<&'static str, Counts>, wall: Duration) -> String {
    let mut rows: Vec<_> = counts.iter().collect();
    rows.sort_by_key(|(name, counts)| (std::cmp::Reverse(counts.time()), **name));
    let mut totals = Counts::default();
    rows.iter().for_each(|(_, counts)| totals += **counts);
    let seconds = |time: Duration| time.as_secs_f64();
    let mut text = format!(
        "virtio-cuda: in {:.3} s since cuInit, calls took {:.3} s, and of that waited {:.3} s for the \
         GPU's work, {:.3} s for the VM's turn on the GPU, and {:.3} s for the host\n\
         virtio-cuda: calls and microseconds by entry point\n\
         {:<44} {:>9} {:>11} {:>9} {:>11} {:>9} {:>11} {:>11} {:>11} {:>11} {:>12}\n",
        seconds(wall),
        seconds(totals.time()),
        seconds(totals.gpu),
        seconds(totals.turn),
        seconds(totals.host),
        "entry point",
        "waited",
        "us",
        "posted",
        "us",
        "local",
        "us",
        "GPU us",
        "turn us",
        "host us",
        "bytes"
    );
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    for (name, counts) in rows.into_iter().chain([(&"total", &totals)]) {
        let _ = write!(text, "{name:<44}");
        for count in [counts.waited, counts.posted, counts.local] {
            let _ = write!(text, " {:>9} {:>11.1}", count.calls, micros(count.time));
        }
        for time in [counts.gpu, counts.turn, counts.host] {
            let _ = write!(text, " {:>11.1}", micros(time));
        }
        let _ = writeln!(text, " {:>12}", counts.bytes);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::calls::{CuMemGetInfoV2, CuStreamSynchronize};

    fn counts(calls: &[(u64, u64, u64, u64)]) -> Counts {
        let mut counts = Counts::default();
        for &(posted, waited, pending, micros) in calls {
            let sent = Sent { posted, waited, pending, bytes: 10 * (posted + waited) };
            counts.add(sent, Duration::from_micros(micros), Duration::from_micros(15));
        }
        counts
    }

    #[test]
    fn the_table_is_sorted_by_time_and_ends_with_the_totals() {
        let table = table(
            &HashMap::from([
                ("cuCtxGetCurrent", counts(&[(0, 0, 0, 1); 9])),
                ("cuStreamSynchronize", counts(&[(0, 1, 1, 40), (1, 1, 1, 10), (0, 0, 0, 0)])),
                ("cuLaunchKernel", counts(&[(0, 1, 0, 20), (1, 0, 0, 2), (2, 0, 0, 18)])),
            ]),
            Duration::from_millis(1),
        );
        let rows: Vec<Vec<&str>> =
            table.lines().map(|line| line.split_whitespace().collect()).collect();
        let row = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            rows[3..],
            [
                row("cuStreamSynchronize 2 50.0 0 0.0 1 0.0 25.0 25.0 0.0 30"),
                row("cuLaunchKernel 1 20.0 2 20.0 0 0.0 0.0 32.0 5.0 40"),
                row("cuCtxGetCurrent 0 0.0 0 0.0 9 9.0 0.0 0.0 0.0 0"),
                row("total 3 70.0 2 20.0 10 9.0 25.0 57.0 5.0 70"),
            ]
        );
        assert!(table.starts_with("virtio-cuda: in 0.001 s since cuInit, calls took 0.000 s,"));
    }

    #[test]
    fn calls_that_wait_for_the_gpu_are_told_apart() {
        assert!(waits_for_gpu(CuStreamSynchronize::OPCODE) && waits_for_gpu(CuMemFreeV2::OPCODE));
        assert!(!waits_for_gpu(CuMemGetInfoV2::OPCODE));
    }
}
