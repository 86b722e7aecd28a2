//! Programs in the VMs that aren't attacked. All of them must pass.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use virtio_cuda_tests::Host;

use crate::plan::{SHORT, UNHARMED};
use crate::world::World;

/// Maximum time that a program may take. Without attacks, it takes about a second.
const LIMIT: Duration = Duration::from_secs(120);

/// Pause between two programs, to leave the CPUs to the attacks.
const PAUSE: Duration = Duration::from_millis(200);

/// The results of the bystanders' programs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Results {
    pub passed: u64,
    pub failed: u64,
    pub longest: Duration,
}

/// Runs short programs in the unharmed VMs, one after another, until the run stops. There are
/// `count` threads that do this.
pub fn run(world: &World, host: &Host, thread: usize, count: usize) -> Results {
    let mut results = Results::default();
    let mut turn = thread;
    while !world.is_stopping() && world.is_worth_continuing() {
        let (vm, program) = (world.vms[turn % UNHARMED], SHORT[turn / UNHARMED % SHORT.len()]);
        turn += count;
        let start = Instant::now();
        let ended = wait(piped(host.command(vm, program, &[])), start + LIMIT);
        results.longest = results.longest.max(start.elapsed());
        let wanted = format!("{program}: PASS");
        match ended.and_then(|output| judge(&output, &wanted)) {
            Ok(()) => results.passed += 1,
            Err(error) => {
                results.failed += 1;
                world.violation(&format!("unharmed VM {}: {program}: {error}", vm.name));
            }
        }
        std::thread::sleep(PAUSE);
    }
    results
}

/// Starts programs in half of the unharmed VMs, each of which holds a session and memory for
/// `seconds`.
pub fn start_holders(world: &World, host: &Host, seconds: u64) -> Vec<Child> {
    let seconds = seconds.to_string();
    let start = |vm| piped(host.command(vm, "spin", &["hold=32", "idle", &seconds]));
    world.vms[..UNHARMED / 2].iter().map(|vm| start(*vm)).collect()
}

/// Waits for the programs that `start_holders` started. All of them must pass.
pub fn join_holders(world: &World, holders: Vec<Child>) -> Results {
    let mut results = Results::default();
    for (vm, holder) in world.vms.iter().zip(holders) {
        match wait(holder, Instant::now() + LIMIT).and_then(|output| judge(&output, "spin: PASS")) {
            Ok(()) => results.passed += 1,
            Err(error) => {
                results.failed += 1;
                world.violation(&format!("unharmed VM {}: spin: {error}", vm.name));
            }
        }
    }
    results
}

fn piped(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Waits for a program until `end`. Its output is read afterwards, so it must fit into a pipe.
fn wait(mut child: Child, end: Instant) -> Result<std::process::Output, String> {
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if Instant::now() >= end {
            let _ = child.kill();
            let output = child.wait_with_output().map_err(|error| error.to_string())?;
            return Err(format!("still running after {} s: {output:?}", LIMIT.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().map_err(|error| error.to_string())
}

fn judge(output: &std::process::Output, last: &str) -> Result<(), String> {
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && text.lines().last() == Some(last) {
        return Ok(());
    }
    Err(format!("{output:?}"))
}
