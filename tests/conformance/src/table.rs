//! Tables of calls and their outcomes. Cells can be run in this process, to check them, or in other
//! processes, which may crash.

use crate::cuda::{Cuda, DefaultStream, Failure, LEGACY, Outcome, PER_THREAD, cu, ensure};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A cell of a table, by the names of its row and its column. A table has a part for each kind, to
/// which the cell belongs.
pub type Cell = (String, String);

/// A function that runs a cell of a kind, and returns its outcome. It calls `before` immediately
/// before the call that may hang.
type Run = fn(&Cuda, kind: &str, cell: (&str, &str), before: &dyn Fn()) -> Outcome<String>;

/// A table of calls and their outcomes.
pub struct Table {
    /// The command line option that runs all cells and prints the table.
    pub option: &'static str,
    /// The table's outcomes, in lines of the form `kind,row,column,outcome`. The outcome is that on
    /// NVIDIA's library. A line of the form `kind,row,column,outcome;other` also has the outcome on
    /// the other libraries, because it differs, which docs/differences.md explains, or because the
    /// two haven't been compared yet.
    pub native: &'static str,
    /// Whether cells always run in other processes. If not, they do so only with NVIDIA's library,
    /// which may crash.
    pub apart: bool,
    pub kinds: fn() -> Vec<&'static str>,
    pub cells: fn(&Cuda, kind: &str) -> Outcome<Vec<Cell>>,
    pub run: Run,
}

/// If the table's option has this suffix, the program runs the cells of a kind in its own process,
/// and prints their outcomes.
const RUN: &str = "-run";
/// The special outcomes of a cell: NVIDIA's library has no defined result, or the cell hasn't been
/// run on it.
const UNKNOWN: [&str; 2] = ["undefined", "unobserved"];
/// The last line that a process prints if it has run all cells.
const DONE: &str = "done\n";
/// A call that takes longer than this counts as hanging.
const HANG: Duration = Duration::from_secs(5);
/// A process that runs cells is killed after this time.
const LIMIT: Duration = Duration::from_secs(100);

impl Table {
    /// Returns the table's outcomes for the cells of a kind, by `row,column`.
    fn expected(&self, kind: &str) -> BTreeMap<&'static str, &'static str> {
        let rows =
            self.native.lines().filter_map(|line| line.strip_prefix(kind)?.strip_prefix(','));
        rows.filter_map(|row| row.rsplit_once(',')).collect()
    }

    /// Runs a cell. Returns its outcome or, if the call couldn't be made, the reason.
    fn outcome(&self, cuda: &Cuda, kind: &str, cell: (&str, &str), before: &dyn Fn()) -> String {
        (self.run)(cuda, kind, cell, before).unwrap_or_else(|failure| format!("no call: {failure}"))
    }

    /// Checks the outcome of every cell of a kind. If the table has no known outcome for a cell,
    /// the call may return anything, but correct calls that follow must succeed.
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
                    // The cell's kernel has failed in the primary context, so reset it for the next
                    // cells.
                    let _ = cu!(cuda, cuDevicePrimaryCtxReset_v2(0));
                }
                check(&row, &column, &outcome);
            }
        }
        ensure!(expected.is_empty(), "the table has rows without a cell: {:?}", expected.keys());
        ensure!(wrong == 0, "{wrong} outcomes differ from the table's");
        Ok(())
    }

    /// Runs the cells of a kind in another process, starting with the cell number `first`. Returns
    /// the output of the process, and the signal that killed it, if any.
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
        // The output isn't read until the process has exited. That can't block the process, because
        // its output fits into the pipe.
        while child.try_wait()?.is_none() {
            if start.elapsed() > LIMIT {
                child.kill()?;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let done = child.wait_with_output()?;
        Ok((String::from_utf8_lossy(&done.stdout).into_owned(), done.status.signal()))
    }

    /// Runs the cells of a kind in other processes. Calls `seen` with the row, the column, and the
    /// outcome of each cell: a result, "hang", or "signal N".
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

    /// Runs the cells of all kinds whose names begin with one of `prefixes`, and prints the table's
    /// lines for them.
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

    /// Runs the cells of a kind in this process, starting with the cell whose number is the second
    /// argument. Prints the row, the column, and the outcome of each. Stops after an outcome that
    /// can affect later cells.
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

    /// Performs the action of a command line option. Returns `None` if the option doesn't belong to
    /// this table.
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

/// Returns whether the state that a cell left behind can affect later cells.
fn outlives(outcome: &str) -> bool {
    outcome.contains(" then ") || outcome.starts_with("no call")
}

/// Returns whether a call has returned, and correct calls after it succeed or return the same
/// error. They return the same error if a kernel has failed, because that error is sticky.
fn answers_for_itself(outcome: &str) -> bool {
    let (called, then) = outcome.split_once(" then ").unwrap_or((outcome, outcome));
    called == then && called.parse::<u32>().is_ok()
}

/// Prints a last line, and exits without calling the library's destructors, because they could
/// crash.
fn stop(line: &str) -> ! {
    println!("{line}");
    let _ = std::io::stdout().flush();
    std::process::abort()
}
