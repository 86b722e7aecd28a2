//! Runs cases, each in its own process. An error that ends a context, or a crash, therefore affects
//! only one case.

use crate::case::Case;
use crate::cases;
use crate::cuda::{CALLS, Cuda, DefaultStream, LEGACY, PER_THREAD};
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant};

/// The option that runs one case in this process.
pub const RUN_ONE: &str = "--run-one";
/// A case that takes longer than this is killed and fails.
const LIMIT: Duration = Duration::from_secs(120);

/// The selection of the cases to run, and the settings with which they run.
pub struct Selection {
    /// Prefixes of case names: a case runs if its name begins with one of them. If the list is
    /// empty, all cases run.
    pub prefixes: Vec<String>,
    /// The default streams to test. Each case runs once with each of them.
    pub default_streams: Vec<DefaultStream>,
    /// The path of the file to which the counts of calls are written.
    pub calls: Option<String>,
}

impl Default for Selection {
    fn default() -> Self {
        let default_streams = vec![DefaultStream::Legacy, DefaultStream::PerThread];
        Self { prefixes: Vec::new(), default_streams, calls: None }
    }
}

/// Runs the selected cases, and prints their results and a summary.
pub fn run(selection: &Selection) -> ExitCode {
    let prefixes = &selection.prefixes;
    let selected: Vec<&Case> = cases::all()
        .filter(|case| {
            let name = case.name();
            prefixes.is_empty() || prefixes.iter().any(|prefix| name.starts_with(prefix))
        })
        .collect();
    if selected.is_empty() {
        eprintln!("cuda-conformance: no case has such a name; --list prints the names");
        return ExitCode::from(2);
    }
    let mut seen = BTreeMap::<String, [u64; 2]>::new();
    let (mut passed, mut failed) = (0, 0);
    for default_stream in &selection.default_streams {
        for case in &selected {
            let count =
                if run_case(case, *default_stream, &mut seen) { &mut passed } else { &mut failed };
            *count += 1;
        }
    }
    println!("cuda-conformance: {passed} passed, {failed} failed");
    if let Some(path) = &selection.calls
        && let Err(error) = write_calls(path, &seen)
    {
        eprintln!("cuda-conformance: cannot write {path}: {error}");
        return ExitCode::FAILURE;
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn write_calls(path: &str, seen: &BTreeMap<String, [u64; 2]>) -> std::io::Result<()> {
    let mut file = std::fs::File::create(path)?;
    seen.iter().try_for_each(|(name, [good, bad])| writeln!(file, "{name} {good} {bad}"))
}

/// Runs a case in a new process and prints its output. Returns whether it passed. For each entry
/// point, counts in `seen` whether the case saw it succeed, and whether it saw it fail.
fn run_case(
    case: &Case,
    default_stream: DefaultStream,
    seen: &mut BTreeMap<String, [u64; 2]>,
) -> bool {
    let (option, suffix) = match default_stream {
        DefaultStream::Legacy => (LEGACY, ""),
        DefaultStream::PerThread => (PER_THREAD, " (per-thread)"),
    };
    let name = format!("{}{suffix}", case.name());
    let (output, verdict) = match run_process(&case.name(), option) {
        Ok((output, in_time)) => {
            let verdict = match (in_time, output.status.code()) {
                (false, _) => format!("FAIL: still running after {} s", LIMIT.as_secs()),
                (true, Some(0)) => "pass".to_owned(),
                (true, Some(_)) => format!("FAIL: {}", last_line(&output.stderr)),
                (true, None) => format!("FAIL: {}", output.status),
            };
            (output, verdict)
        }
        Err(error) => {
            println!("{name}: FAIL: cannot start a process: {error}");
            return false;
        }
    };
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some(calls) = line.strip_prefix(CALLS) else {
            println!("{name}: {line}");
            continue;
        };
        let mut words = calls.split(' ');
        let Some(entry) = words.next() else { continue };
        let total = seen.entry(entry.to_owned()).or_default();
        for (total, count) in total.iter_mut().zip(words) {
            *total += u64::from(count != "0");
        }
    }
    println!("{name}: {verdict}");
    verdict == "pass"
}

fn last_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).lines().last().unwrap_or("no message").to_owned()
}

/// Runs a case in a new process. `default_stream` is the option that selects a default stream.
/// Returns the case's output, and whether it ended in time.
fn run_process(name: &str, default_stream: &str) -> std::io::Result<(Output, bool)> {
    let mut child = Command::new(std::env::current_exe()?)
        .args([RUN_ONE, default_stream, name])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let start = Instant::now();
    // The output isn't read until the process has exited. That can't block the process, because a
    // case prints so little that its output fits into the pipes.
    let in_time = loop {
        if child.try_wait()?.is_some() {
            break true;
        }
        if start.elapsed() > LIMIT {
            child.kill()?;
            break false;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Ok((child.wait_with_output()?, in_time))
}

/// Runs one case in this process. The selection contains its full name.
pub fn run_one(selection: &Selection) -> ExitCode {
    let name = selection.prefixes.first();
    let Some(case) = cases::all().find(|case| Some(&case.name()) == name) else {
        eprintln!("cuda-conformance: there is no such case; --list prints the names");
        return ExitCode::from(2);
    };
    let default_stream = selection.default_streams.first().copied();
    let cuda = match Cuda::load(default_stream.unwrap_or(DefaultStream::Legacy)) {
        Ok(cuda) => cuda,
        Err(failure) => {
            eprintln!("cannot load libcuda.so.1: {failure}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = case.run(&cuda);
    for (name, count) in cuda.counts() {
        println!("{CALLS}{name} {} {}", count.succeeded, count.failed);
    }
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}
