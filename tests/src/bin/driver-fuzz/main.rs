//! Attacks the guest driver. Processes of an unprivileged user perform random operations on the
//! device's files and mappings, on several threads each, and some of them are killed. The program
//! runs as root in a guest that has a device; tests/fuzz-driver.sh starts it.
//!
//! During the attack, a CUDA program must pass repeatedly. At the end, no memory, session, or
//! reference to the module may be left, and the driver can be unloaded and loaded again. Every
//! error that an ioctl has returned must be one that the uAPI header lists. The script also
//! searches the kernel's log for warnings.
//!
//! A seed determines the operations of each thread, but not how the operations of different threads
//! are interleaved.

mod attacker;
mod counts;
mod guest;
mod memory;
mod withheld;

use std::ffi::CStr;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use virtio_cuda_tests::eventually;
use virtio_cuda_tests::random::Random;

use attacker::Life;
use counts::Counts;

const USAGE: &str = "usage: driver-fuzz --seconds N --seed S --module FILE --heartbeat PROGRAM";
const DEVICE: &CStr = c"/dev/virtio-cuda0";
/// The command with which this program starts itself as an attacker.
const ATTACK: &str = "attack";
/// Number of attackers that run at a time.
const ATTACKERS: u64 = 3;
/// The uid with which attackers run.
const NOBODY: u32 = 65534;
/// Maximum amount of memory in MiB that all programs together may share with the device. The
/// device's limit per session keeps the attackers below this, so that the CUDA program that must
/// pass can also share memory.
const PINNED_MIB: u64 = 400;
/// Maximum time until an attacker has exited. It's much longer than an attacker's own time limit,
/// because a kernel with all debugging checks is slow.
const PATIENCE: Duration = Duration::from_secs(180);

struct Options {
    seconds: u64,
    seed: u64,
    module: PathBuf,
    heartbeat: PathBuf,
}

fn parse(args: &[String]) -> Option<Options> {
    let empty = PathBuf::new;
    let mut options = Options { seconds: 15, seed: 1, module: empty(), heartbeat: empty() };
    for pair in args.chunks(2) {
        let [name, value] = pair else { return None };
        match name.as_str() {
            "--seconds" => options.seconds = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
            "--module" => options.module = value.into(),
            "--heartbeat" => options.heartbeat = value.into(),
            _ => return None,
        }
    }
    Some(options)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [command, seed, operations, is_killed, file] = args.as_slice()
        && command == ATTACK
        && let (Ok(seed), Ok(operations), Ok(is_killed), Ok(file)) =
            (seed.parse(), operations.parse(), is_killed.parse(), file.parse())
    {
        let life = Life { operations, is_killed };
        attacker::attack(DEVICE, Counts::inherited(file), seed, life);
    }
    let Some(options) = parse(&args) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    guest::mark_log();
    guest::open_to_all(DEVICE);
    guest::limit_pinned(PINNED_MIB);
    let wrong = run(&options);
    for line in &wrong {
        println!("wrong: {line}");
    }
    println!("driver-fuzz: {}", if wrong.is_empty() { "PASS" } else { "FAIL" });
    ExitCode::from(u8::from(!wrong.is_empty()))
}

/// Attacks the driver and prints the counts. Returns descriptions of all problems.
fn run(options: &Options) -> Vec<String> {
    let counts = Arc::new(Counts::new());
    let mut random = Random::new(options.seed);
    // Attack for a short time before recording the state, because the first attackers and programs
    // fill kernel caches that are never freed.
    let mut wrong: Vec<String> =
        attack(&mut random, &counts, Duration::from_secs(2)).into_iter().collect();
    wrong.extend(guest::heartbeat(&options.heartbeat).err());
    let before = guest::Before::new();
    let checks_locks = guest::checks_locks();

    let start = Instant::now();
    let stop = Arc::new(AtomicBool::new(false));
    let (program, stopped) = (options.heartbeat.clone(), stop.clone());
    let heartbeats = std::thread::spawn(move || {
        let (mut count, mut result) = (0, Ok(()));
        while result.is_ok() && !stopped.load(Ordering::Relaxed) {
            let begun = Instant::now();
            result = guest::heartbeat(&program);
            count += 1;
            // Sleep twice as long as the program ran, to leave most of the CPU time to the
            // attackers.
            std::thread::sleep(begun.elapsed() * 2);
        }
        (count, result)
    });
    wrong.extend(attack(&mut random, &counts, Duration::from_secs(options.seconds)));
    stop.store(true, Ordering::Relaxed);
    let (count, result) = heartbeats.join().expect("the thread doesn't panic");
    wrong.extend(result.err());
    counts.print(start.elapsed().as_secs_f64());
    println!("{count} programs ran during the attack");
    println!("the kernel checks the use of locks: {}", if checks_locks { "yes" } else { "no" });

    wrong.extend(counts.wrong());
    wrong.extend(before.compare(DEVICE));
    wrong.extend(guest::reload(&options.module, DEVICE).err());
    wrong.extend(guest::heartbeat(&options.heartbeat).err());
    if checks_locks && !guest::checks_locks() {
        wrong.push("the kernel has found wrong use of locks".into());
    }
    wrong
}

/// Runs attackers for this time, [`ATTACKERS`] of them at a time. Returns the first problem, if
/// any.
fn attack(random: &mut Random, counts: &Arc<Counts>, time: Duration) -> Option<String> {
    let end = Instant::now() + time;
    let lines: Vec<_> = (0..ATTACKERS)
        .map(|_| {
            let (mut random, counts) = (Random::new(random.word()), counts.clone());
            std::thread::spawn(move || {
                while Instant::now() < end {
                    one_attacker(&mut random, &counts)?;
                }
                Ok(())
            })
        })
        .collect();
    let ended = lines.into_iter().map(|line| line.join().expect("the thread doesn't panic"));
    ended.collect::<Vec<Result<(), String>>>().into_iter().find_map(Result::err)
}

/// Runs an attacker until it exits or is killed. Fails if it takes too long or dies of an
/// unexpected signal.
fn one_attacker(random: &mut Random, counts: &Counts) -> Result<(), String> {
    let (seed, operations) = (random.word(), random.within(20, 1000));
    let is_killed = random.pick(&[false, true]);
    let mut child = Command::new("/proc/self/exe")
        .args([ATTACK, &seed.to_string(), &operations.to_string(), &is_killed.to_string()])
        .arg(counts.file().to_string())
        .uid(NOBODY)
        .gid(NOBODY)
        .spawn()
        .map_err(|error| format!("cannot start an attacker: {error}"))?;
    let mut status = None;
    eventually(PATIENCE, || {
        status = child.try_wait().ok().flatten();
        status.is_some()
    });
    let Some(status) = status else {
        return Err(format!("an attacker doesn't exit:\n{}", stacks(child.id())));
    };
    match status.signal() {
        None | Some(libc::SIGKILL) => Ok(()),
        Some(signal) => Err(format!("an attacker with seed {seed} died of signal {signal}")),
    }
}

/// Returns the kernel stacks of a process's threads.
fn stacks(process: u32) -> String {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let stacks = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stack")).ok());
    stacks.collect::<Vec<_>>().join("\n")
}
