//! Tables of calls and their outcomes. Checks the outcomes of cells, and observes them in other
//! processes, which may crash.

use crate::cuda::{Cuda, DefaultStream, Failure, LEGACY, Outcome, PER_THREAD, cu, ensure};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The names of a cell's row and column in the part of the table that belongs to a kind.
pub type Cell = (String, String);

/// Runs a cell of a kind, and returns its outcome. Runs `before` immediately before the call that
/// may hang.
type Run = fn(&Cuda, kind: &str, cell: (&str, &str), before: &dyn Fn()) -> Outcome<String>;

/// A table.
pub struct Table {
    /// The option that observes cells, and prints the table.
    pub option: &'static str,
    /// The outcomes on NVIDIA's library: `kind,row,column,outcome`, or `kind,row,column,outcome;other`
    /// if the other libraries have another outcome, which docs/differences.md explains, or an outcome
    /// that nobody has compared yet.
    pub native: &'static str,
    /// Whether cells always run in other processes. Otherwise, they do so only on NVIDIA's library,
    /// which may crash.
    pub apart: bool,
    pub kinds: fn() -> Vec<&'static str>,
    pub cells: fn(&Cuda, kind: &str) -> Outcome<Vec<Cell>>,
    pub run: Run,
}

/// With this suffix, the table's option runs cells of a kind in this process, and prints their
/// outcomes.
const RUN: &str = "-run";
/// The outcomes of a cell in which NVIDIA's library has no defined result, and of one that hasn't run
/// on it.
const UNKNOWN: [&str; 2] = ["undefined", "unobserved"];
/// The last line of a process that has run all cells.
const DONE: &str = "done\n";
/// A call that takes longer than this hangs.
const HANG: Duration = Duration::from_secs(5);
/// A process that takes longer than this is killed.
const LIMIT: Duration = Duration::from_secs(100);

impl Table {
    /// Returns the outcomes of a kind's cells in the table, by the row and the column.
    fn expected(&self, kind: &str) -> BTreeMap<&'static str, &'static str> {
        let rows =
            self.native.lines().filter_map(|line| line.strip_prefix(kind)?.strip_prefix(','));
        rows.filter_map(|row| row.rsplit_once(',')).collect()
    }

    /// Runs a cell, and returns its outcome, or why its call couldn't be made.
    fn outcome(&self, cuda: &Cuda, kind: &str, cell: (&str, &str), before: &dyn Fn()) -> String {
        (self.run)(cuda, kind, cell, before).unwrap_or_else(|failure| format!("no call: {failure}"))
    }

    /// Checks every cell of a kind. Where no outcome is known, the call can return anything, and
    /// correct calls must succeed afterwards.
    pub fn check(&self, cuda: &Cuda, kind: &str) -> Outcome {
        let (mut expected, mut wrong) = (self.expected(kind), 0);
        let mut check = |row: &str, column: &str, outcome: &str| {
            let known = expected.remove(format!("{row},{column}").as_str());
            let right = known.is_some_and(|known| {
                let (native, other) = known.split_once(';').unwrap_or((known, known));
                match if cuda.is_nvidias() { native } else { other } {
                    known if !UNKNOWN.contains(&known) => outcome == known,
                    _ => cuda.is_nvidias() || answers_for_itself(outcome),
                }
            });
            if !right {
                println!("{row}, {column}: {outcome}");
                wrong += 1;
            }
        };
        if self.apart || cuda.is_nvidias() {
            self.observe(kind, cuda.default_stream(), |row, column, outcome| {
                check(row, column, outcome);
            });
        } else {
            for (row, column) in (self.cells)(cuda, kind)? {
                let outcome = self.outcome(cuda, kind, (&row, &column), &|| ());
                if outlives(&outcome) {
                    // A kernel has failed in the primary context, so later cells need a new one.
                    let _ = cu!(cuda, cuDevicePrimaryCtxReset_v2(0));
                }
                check(&row, &column, &outcome);
            }
        }
        ensure!(expected.is_empty(), "the table has rows without a cell: {:?}", expected.keys());
        ensure!(wrong == 0, "{wrong} outcomes differ from the table's");
        Ok(())
    }

    /// Runs the cells of a kind, from the first one with this number, in another process. Returns its
    /// output and the signal that killed it.
    fn output(
        &self,
        kind: &str,
        first: usize,
        stream: &str,
    ) -> std::io::Result<(String, Option<i32>)> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([stream, &format!("{}{RUN}", self.option), kind, &first.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let start = Instant::now();
        // The output fits into the pipe.
        while child.try_wait()?.is_none() {
            if start.elapsed() > LIMIT {
                child.kill()?;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let done = child.wait_with_output()?;
        Ok((String::from_utf8_lossy(&done.stdout).into_owned(), done.status.signal()))
    }

    /// Observes the cells of a kind in other processes. Calls `seen` with the row, the column, and the
    /// outcome of each: a result, "hang", or "signal N".
    fn observe(&self, kind: &str, stream: DefaultStream, mut seen: impl FnMut(&str, &str, &str)) {
        let stream = match stream {
            DefaultStream::Legacy => LEGACY,
            DefaultStream::PerThread => PER_THREAD,
        };
        let mut first = 0;
        loop {
            let (text, signal) = match self.output(kind, first, stream) {
                Ok(ended) => ended,
                Err(error) => return seen("all", "all", &format!("no process: {error}")),
            };
            let before = first;
            for line in text.lines().filter(|line| *line != DONE.trim_end()) {
                let mut words = line.splitn(3, ',').map(str::to_owned);
                let mut next = || words.next().unwrap_or_default();
                let (row, column, mut outcome) = (next(), next(), next());
                if outcome.is_empty() {
                    outcome = signal.map_or("exit".to_owned(), |signal| format!("signal {signal}"));
                }
                seen(&row, &column, &outcome);
                first += 1;
            }
            if first == before || text.ends_with(DONE) {
                return;
            }
        }
    }

    /// Observes the cells of kinds whose names begin with one of these, and prints a row for each.
    fn print(&self, prefixes: &[String]) -> ExitCode {
        let selected =
            |name: &str| prefixes.is_empty() || prefixes.iter().any(|p| name.starts_with(p));
        let kinds = Mutex::new((self.kinds)().into_iter().filter(|kind| selected(kind)));
        let next = || kinds.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            while let Some(kind) = next() {
                self.observe(kind, DefaultStream::Legacy, |row, column, outcome| {
                    println!("{kind},{row},{column},{outcome}");
                });
            }
        };
        let parallel = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| (0..parallel).for_each(|_| drop(scope.spawn(work))));
        ExitCode::SUCCESS
    }

    /// Runs cells of a kind in this process, from the first one with this number, and prints a line for
    /// each: the row, the column, and the outcome. Stops after an outcome that can affect later cells.
    fn run_here(&self, arguments: &[String], default_stream: DefaultStream) -> ExitCode {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let cells = || {
            let [kind, first] = arguments else {
                return Err(Failure::new("running cells needs a kind and a number"));
            };
            let cuda = Cuda::load(default_stream)?;
            let cells = (self.cells)(&cuda, kind)?;
            Ok((kind, cuda, cells, first.parse().map_err(Failure::new)?))
        };
        let (kind, cuda, cells, first) = match cells() {
            Ok(cells) => cells,
            Err(failure) => {
                println!("all,all,{failure}");
                return ExitCode::FAILURE;
            }
        };
        for (row, column) in cells.into_iter().skip(first) {
            print!("{row},{column},");
            let _ = std::io::stdout().flush();
            let number = NUMBER.fetch_add(1, Ordering::Relaxed) + 1;
            let watch = || {
                std::thread::spawn(move || {
                    std::thread::sleep(HANG);
                    if NUMBER.load(Ordering::Relaxed) == number {
                        stop("hang");
                    }
                });
            };
            let outcome = self.outcome(&cuda, kind, (&row, &column), &watch);
            if outlives(&outcome) {
                stop(&outcome);
            }
            println!("{outcome}");
        }
        stop(DONE.trim_end())
    }

    /// Does the work of an option, if it belongs to this table.
    pub fn option(
        &self,
        option: &str,
        arguments: &mut dyn Iterator<Item = String>,
        default_stream: DefaultStream,
    ) -> Option<ExitCode> {
        match option.strip_prefix(self.option)? {
            "" => Some(self.print(&arguments.collect::<Vec<_>>())),
            RUN => Some(self.run_here(&arguments.collect::<Vec<_>>(), default_stream)),
            _ => None,
        }
    }
}

/// Returns whether an outcome can affect later cells.
fn outlives(outcome: &str) -> bool {
    outcome.contains(" then ") || outcome.starts_with("no call")
}

/// Returns whether a call has returned, and later calls don't return another error. If a kernel
/// fails, the call and all later calls in its context return the same error.
fn answers_for_itself(outcome: &str) -> bool {
    let (called, then) = outcome.split_once(" then ").unwrap_or((outcome, outcome));
    called == then && called.parse::<u32>().is_ok()
}

/// Prints the last line, and ends this process at once: the library's destructors could crash.
fn stop(line: &str) -> ! {
    println!("{line}");
    let _ = std::io::stdout().flush();
    std::process::abort()
}
