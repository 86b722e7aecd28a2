//! Measures programs that start, and programs that share the GPU. Each is a process of this
//! program.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::ValueEnum;

use super::p50;
use crate::bench::gpu::{Gpu, load};
use crate::bench::sample::{Measured, samples, time};
use crate::cli::{BENCH_PROGRAM, Role};
use crate::cuda::{Failed, die_with_this_thread};

/// Number of processes in [`devices_in_turn`]. [`AT_ONCE`] is that of [`burst`], and [`SHARING`]
/// that of [`rate`].
const IN_TURN: usize = 40;
const AT_ONCE: usize = 20;
const SHARING: usize = 8;
/// How long the kernels of [`rate`] are counted, and how often its processes report.
const COUNTED: Duration = Duration::from_millis(1500);
const REPORT: Duration = Duration::from_millis(50);
/// Maximum time that a process of [`rate`] runs if it isn't killed.
const MAX_RUN: Duration = Duration::from_secs(60);
/// Number of operations in a kernel that takes about 20 us.
const OPERATIONS: u32 = 10_000;
/// Number of kernels that are launched before each wait.
const BATCH: u64 = 32;

/// Plays a role in a process that the measuring process has started.
pub(in crate::bench) fn play(role: Role, library: &Path, quick: bool) -> Result<(), Failed> {
    match role {
        Role::Measure => Ok(()),
        Role::Devices => ask_for_devices(library),
        Role::Kernel => {
            let gpu = Gpu::open(library, quick)?;
            gpu.launch_for(0)?;
            gpu.wait()
        }
        Role::Kernels => run_kernels(&Gpu::open(library, quick)?),
    }
}

fn ask_for_devices(library: &Path) -> Result<(), Failed> {
    let cuda = load(library)?;
    let (mut count, mut name, mut bytes) = (0, [0; 256], 0);
    // SAFETY: the results are stored in local variables, and `name` has 256 bytes.
    unsafe {
        cuda.init(0)?;
        cuda.device_count(&mut count)?;
        for device in 0..count {
            cuda.device_name(name.as_mut_ptr(), 256, device)?;
            cuda.total_memory(&mut bytes, device)?;
        }
    }
    Ok(())
}

/// Runs kernels. Repeatedly prints the time, and the number of kernels that have finished.
fn run_kernels(gpu: &Gpu) -> Result<(), Failed> {
    let operations = if gpu.quick { OPERATIONS / 100 } else { OPERATIONS };
    let until = Instant::now() + MAX_RUN;
    let (mut done, mut reported) = (0, None::<Instant>);
    while Instant::now() < until {
        if reported.is_none_or(|last| last.elapsed() >= REPORT) {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            // Exit if nothing reads the output any longer.
            if writeln!(std::io::stdout(), "{} {done}", now.as_nanos()).is_err() {
                break;
            }
            reported = Some(Instant::now());
        }
        (0..BATCH).try_for_each(|_| gpu.launch_work(operations))?;
        gpu.wait()?;
        done += BATCH;
    }
    Ok(())
}

fn start(gpu: &Gpu, role: Role, stdout: Stdio) -> Result<Child, Failed> {
    // Start this program by the path /proc/self/exe. If the library is this process's standard
    // input, the new process inherits it.
    let mut command = Command::new("/proc/self/exe");
    command.arg(BENCH_PROGRAM).arg("--library").arg(&gpu.library);
    let role = role.to_possible_value().map_or(String::new(), |role| role.get_name().to_owned());
    command.args(["--role", &role]).args(gpu.quick.then_some("--quick"));
    // This process is killed if a library hangs. The new process must not outlive it.
    die_with_this_thread(&mut command);
    command.stdout(stdout).spawn().map_err(|error| failed("start", &error))
}

fn failed(verb: &str, error: &dyn std::fmt::Display) -> Failed {
    (0, format!("cannot {verb} a program: {error}"))
}

fn finish(mut child: Child) -> Result<(), Failed> {
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err((0, format!("a program ended with {status}"))),
        Err(error) => Err(failed("wait for", &error)),
    }
}

/// Measures a program that only queries the devices, in milliseconds.
pub(in crate::bench) fn devices(gpu: &Gpu) -> Measured {
    let times = samples(gpu.count(5), || {
        Ok(time(|| finish(start(gpu, Role::Devices, Stdio::null())?))? / 1e3)
    })?;
    Ok(p50(&times))
}

/// Measures 40 programs that only query the devices, one after another.
pub(in crate::bench) fn devices_in_turn(gpu: &Gpu) -> Measured {
    let all = time(|| {
        (0..gpu.count(IN_TURN)).try_for_each(|_| finish(start(gpu, Role::Devices, Stdio::null())?))
    })?;
    Ok(vec![all / 1e3])
}

/// Measures 20 programs that each run a kernel, all at once.
pub(in crate::bench) fn burst(gpu: &Gpu) -> Measured {
    let all = time(|| {
        let count = gpu.count(AT_ONCE);
        let started: Vec<_> = (0..count).map(|_| start(gpu, Role::Kernel, Stdio::null())).collect();
        // Wait for all programs even if one fails, because they must have exited before the next
        // measurement begins.
        let ended: Vec<_> = started.into_iter().map(|child| finish(child?)).collect();
        ended.into_iter().collect()
    })?;
    Ok(vec![all / 1e3])
}

/// Processes that are killed and reaped when this value is dropped.
struct Running(Vec<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}

/// A report of [`run_kernels`]: the number of the process, and the time in seconds and the number
/// of kernels. The latter is `None` if the process has ended.
type Report = (usize, Option<(f64, f64)>);

/// Measures eight processes that run kernels at the same time: the total number of kernels per
/// second.
pub(in crate::bench) fn rate(gpu: &Gpu) -> Measured {
    let count = gpu.count(SHARING);
    let (sender, reports) = channel();
    let mut running = Running(Vec::new());
    for number in 0..count {
        let mut child = start(gpu, Role::Kernels, Stdio::piped())?;
        let (stdout, sender) = (child.stdout.take(), sender.clone());
        running.0.push(child);
        std::thread::spawn(move || read(number, stdout, &sender));
    }
    let all = collect(&reports, count, if gpu.quick { COUNTED / 5 } else { COUNTED })?;
    // Count only kernels that ran after all processes had started.
    let from = all.iter().filter_map(|one| one.first()).map(|first| first.0).fold(0.0, f64::max);
    let rates = all.iter().map(|one| {
        let counted: Vec<_> = one.iter().filter(|(at, _)| *at >= from).collect();
        let (first, last) = counted.first().zip(counted.last())?;
        (last.0 > first.0).then(|| (last.1 - first.1) / (last.0 - first.0))
    });
    let sum = rates.sum::<Option<f64>>();
    sum.map(|sum| vec![sum]).ok_or_else(|| (0, "a program has run no kernels".to_owned()))
}

fn read(number: usize, stdout: Option<ChildStdout>, sender: &Sender<Report>) {
    for line in stdout.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok)
    {
        let report = line.split_once(' ').and_then(|(at, done)| {
            let (ns, done) = (at.parse::<f64>().ok()?, done.parse::<f64>().ok()?);
            Some((ns / 1e9, done))
        });
        if sender.send((number, report)).is_err() {
            return;
        }
    }
    let _ = sender.send((number, None));
}

/// Collects the reports of all processes. Returns after all of them have run at the same time for
/// `counted`.
fn collect(
    reports: &Receiver<Report>,
    count: usize,
    counted: Duration,
) -> Result<Vec<Vec<(f64, f64)>>, Failed> {
    let mut all = vec![Vec::new(); count];
    let mut until = None::<Instant>;
    while until.is_none_or(|until| Instant::now() < until) {
        match reports.recv_timeout(MAX_RUN) {
            Ok((number, Some(report))) => all[number].push(report),
            Ok((_, None)) => return Err((0, "a program ended early".into())),
            Err(error) => return Err((0, format!("the programs don't report: {error}"))),
        }
        if until.is_none() && all.iter().all(|one| !one.is_empty()) {
            until = Some(Instant::now() + counted);
        }
    }
    Ok(all)
}
