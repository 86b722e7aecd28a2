//! Limits how many lines the log gets. A guest can cause many of them, for example by starting one
//! session after the other.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter};

/// The target of the lines that the broker forwards from its child processes. The child processes
/// have already filtered them by `RUST_LOG`, and the broker limits the lines per child with another
/// limit.
pub const FORWARDED: &str = "vcudad::child";

/// The number of similar lines that can be logged at once.
const BURST: u32 = 50;
/// After this time, one more similar line can be logged.
const REFILL: Duration = Duration::from_millis(500);
/// The maximum number of kinds of lines that are remembered. It is larger than the maximum number
/// of VMs times the number of places in the program that log a line about a VM.
const KINDS_MAX: usize = 1 << 16;

/// Lines are similar if the same place in the program logs them for the same VM.
type Kind = (Identifier, Option<String>);

/// The limit on the lines of one kind.
struct Lines {
    /// The number of lines that can be logged, as of `since`.
    left: u32,
    since: Instant,
    /// The number of lines omitted since the last logged line.
    omitted: u64,
}

impl Lines {
    fn new(now: Instant) -> Self {
        Self { left: BURST, since: now, omitted: 0 }
    }

    /// Raises `left` by one line for each [`REFILL`] since `since`, up to [`BURST`].
    fn refill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.since);
        let more = u32::try_from(passed.as_millis() / REFILL.as_millis()).unwrap_or(u32::MAX);
        self.left = self.left.saturating_add(more);
        if self.left >= BURST {
            (self.left, self.since) = (BURST, now);
        } else {
            self.since += REFILL * more;
        }
    }
}

/// The limit for each kind of lines.
struct Limits<K>(HashMap<K, Lines>);

impl<K: Eq + Hash> Limits<K> {
    /// Counts a line. Returns whether it may be logged, and how many lines of its kind were omitted
    /// before it.
    fn admit(&mut self, kind: K, now: Instant) -> (bool, u64) {
        if self.0.len() >= KINDS_MAX && !self.0.contains_key(&kind) {
            self.0.retain(|_, lines| {
                lines.refill(now);
                lines.left < BURST
            });
        }
        let lines = self.0.entry(kind).or_insert_with(|| Lines::new(now));
        lines.refill(now);
        match lines.left.checked_sub(1) {
            Some(left) => {
                lines.left = left;
                (true, std::mem::take(&mut lines.omitted))
            }
            None => {
                lines.omitted += 1;
                (false, 0)
            }
        }
    }
}

/// A filter that limits how many similar lines pass. It doesn't limit lines of the levels `debug`
/// and `trace`, because they are logged only if the operator has asked for them, and lines that the
/// broker forwards, because another limit applies to them.
pub(super) struct LogLimit {
    limits: Mutex<Limits<Kind>>,
    /// Logs how many similar lines were omitted. Called before the next one is logged.
    report: fn(u64),
}

impl LogLimit {
    pub(super) fn new(report: fn(u64)) -> Self {
        Self { limits: Mutex::new(Limits(HashMap::new())), report }
    }
}

/// Finds the VM that a line is about.
struct FindVm(Option<String>);

impl Visit for FindVm {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "vm" {
            self.0 = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "vm" {
            self.0 = Some(format!("{value:?}"));
        }
    }
}

impl<S: Subscriber> Filter<S> for LogLimit {
    fn enabled(&self, _metadata: &Metadata<'_>, _context: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _context: &Context<'_, S>) -> bool {
        let metadata = event.metadata();
        if *metadata.level() > Level::INFO || metadata.target() == FORWARDED {
            return true;
        }
        let mut vm = FindVm(None);
        event.record(&mut vm);
        let kind = (metadata.callsite(), vm.0);
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let (admitted, omitted) = limits.admit(kind, Instant::now());
        drop(limits);
        if omitted > 0 {
            (self.report)(omitted);
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::Arc;
    use tracing_subscriber::fmt::MakeWriter;
    use tracing_subscriber::prelude::*;

    /// Collects the log's output, for tests.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Log {
        type Writer = Self;
        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    /// Runs `log`, and returns the log's output.
    fn logged(log: impl FnOnce()) -> String {
        let to = Log::default();
        let lines = tracing_subscriber::fmt::layer().with_writer(to.clone()).with_ansi(false);
        let limit = LogLimit::new(|_| {});
        tracing::subscriber::with_default(
            tracing_subscriber::registry().with(lines.with_filter(limit)),
            log,
        );
        String::from_utf8(to.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn one_vm_cannot_fill_the_log_or_keep_other_vms_lines_out() {
        let text = logged(|| {
            for number in 0..28_000 {
                tracing::warn!(vm = "a", "line {number}");
            }
            for vm in ["a", "b"] {
                tracing::error!(vm, "another line");
            }
            for vm in ["b", "c"] {
                tracing::warn!(vm, "line");
            }
        });
        let count = |what: &str| text.lines().filter(|line| line.contains(what)).count();
        // At most 50 lines pass at once, and a few more if the loop takes longer than a refill.
        assert!((50..200).contains(&count("vm=\"a\"")), "{}", count("vm=\"a\""));
        assert_eq!((count("another line"), count("vm=\"b\""), count("vm=\"c\"")), (2, 2, 1));
    }

    #[test]
    fn the_limit_ends_with_time_and_omitted_lines_are_counted() {
        let mut limits = Limits(HashMap::new());
        let start = Instant::now();
        assert_eq!((0..70).filter(|_| limits.admit("a", start).0).count(), 50);
        assert_eq!(limits.admit("a", start + REFILL / 2), (false, 0));
        assert_eq!(limits.admit("a", start + REFILL), (true, 21));
        assert_eq!(limits.admit("a", start + REFILL), (false, 0));
        assert_eq!(limits.admit("b", start), (true, 0));
        let later = start + REFILL * 1000;
        assert_eq!((0..70).filter(|_| limits.admit("a", later).0).count(), 50);
    }

    #[test]
    fn the_number_of_kinds_is_limited() {
        let mut limits = Limits(HashMap::new());
        let start = Instant::now();
        for kind in 0..3 * KINDS_MAX {
            assert!(limits.admit(kind, start + REFILL * kind as u32).0);
        }
        assert!(limits.0.len() <= KINDS_MAX);
    }
}
