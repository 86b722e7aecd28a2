//! Tests compute.weight, compute.max, and the memory accounting under load. On softgpu, the kernels
//! sleep, so that they take the same time on a busy machine, and every rate is compared with a
//! reference that is measured at the same time. The bounds are still wide, because launches take
//! CPU time. tests/gpu/quotas.sh checks narrow bounds on a GPU.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Output, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use virtio_cuda_tests::{A, B, Host, Vm};

/// Time between the start signal and the start of the measurement in the programs.
const LEAD: Duration = Duration::from_secs(2);

/// A program that saturates a VM's GPU for some seconds. It begins at the time that it reads from
/// standard input.
struct Load<'h> {
    host: &'h Host,
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl<'h> Load<'h> {
    /// Prepares a load that consists of kernels of one millisecond.
    fn kernels(host: &'h Host, vm: Vm, seconds: &str) -> Self {
        Self::prepare(host, vm, seconds, &["--asleep", "1", "--kernel-us", "1000"])
    }

    fn copies(host: &'h Host, vm: Vm, seconds: &str) -> Self {
        Self::prepare(host, vm, seconds, &["--mode", "copies", "--rate", "1"])
    }

    /// Starts the program and waits until it's ready to read the start time.
    fn prepare(host: &'h Host, vm: Vm, seconds: &str, args: &[&str]) -> Self {
        let size = ["--blocks", "1", "--threads", "32", "--wait", "poll"];
        let when = ["--start-at", "stdin", "--seconds", seconds];
        let mut command = host.command_in("quota", vm, "saturate", &[args, &size, &when].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let load = Self { host, child, stdout };
        if line != "ready\n" {
            panic!("expected \"ready\", got {line:?}: {}", load.finish());
        }
        load
    }

    /// Waits until the program has succeeded and returns its report.
    fn finish(mut self) -> String {
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).unwrap();
        succeeded(self.host, self.child);
        text
    }
}

/// Makes all loads start their measurement at the same time, and returns that time.
fn start(loads: &mut [&mut Load<'_>]) -> SystemTime {
    let at = SystemTime::now() + LEAD;
    let nanoseconds = at.duration_since(UNIX_EPOCH).unwrap().as_nanos();
    for load in loads {
        writeln!(load.child.stdin.as_mut().expect("it is piped"), "{nanoseconds}").unwrap();
    }
    at
}

/// Waits for a program, which must succeed, and returns its output.
fn succeeded(host: &Host, child: Child) -> String {
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{status}: {errors}\n{}", host.log());
    String::from_utf8(stdout).unwrap()
}

/// Returns the number with this name from a report.
fn number(text: &str, name: &str) -> f64 {
    let at = text.find(&format!("\"{name}\":")).unwrap_or_else(|| panic!("no {name} in {text}"));
    let value = text[at + name.len() + 3..].split([',', '}']).next().unwrap_or_default();
    value.parse().unwrap()
}

/// Returns the work that was done in each period of 100 ms, from a report.
fn bins(text: &str) -> Vec<f64> {
    let list = text.split("\"per_100ms\":[").nth(1).unwrap().split(']').next().unwrap();
    list.split(',').map(|value| value.parse().unwrap()).collect()
}

/// Returns `a` in percent of `a + b`.
fn share(a: f64, b: f64) -> f64 {
    assert!(a + b > 0.0, "no work was done");
    100.0 * a / (a + b)
}

#[test]
fn two_vms_that_saturate_share_the_gpu_by_weight() {
    let host = Host::start_with(&[(A, "compute.weight = 30"), (B, "compute.weight = 70")]);
    let (mut a, mut b) = (Load::kernels(&host, A, "3"), Load::kernels(&host, B, "3"));
    start(&mut [&mut a, &mut b]);
    let (a, b) = (a.finish(), b.finish());
    let part = share(number(&a, "done"), number(&b, "done"));
    assert!((20.0..40.0).contains(&part), "{part}% of 30%\n{}", host.log());
}

#[test]
fn a_vm_gets_no_more_than_its_cap_even_if_the_gpu_is_idle() {
    // For comparison, run a VM without a cap under another vcudad, at the same time.
    let (host, other) = (Host::start_with(&[(A, "compute.max = \"25%\"")]), Host::start(&[B]));
    let (mut capped, mut free) = (Load::kernels(&host, A, "3"), Load::kernels(&other, B, "3"));
    start(&mut [&mut capped, &mut free]);
    let (capped, free) = (capped.finish(), free.finish());
    let part = 100.0 * number(&capped, "per_second") / number(&free, "per_second");
    // On a busy machine, work starts late in each window. The capped VM loses much of its time to
    // that, but the uncapped VM doesn't. Therefore, the lower bound only shows that the capped VM
    // isn't starved.
    assert!((5.0..35.0).contains(&part), "{part}% of 25%\n{}", host.log());
}

#[test]
fn a_changed_weight_is_followed_while_both_run() {
    let host = Host::start(&[A, B]);
    let (mut a, mut b) = (Load::kernels(&host, A, "8"), Load::kernels(&host, B, "8"));
    let at = start(&mut [&mut a, &mut b]);
    // Returns the index of the current 100 ms period.
    let now = || at.elapsed().unwrap_or_default().as_millis() as usize / 100;
    std::thread::sleep(LEAD + Duration::from_secs(3));
    let changed_after = now();
    let set = host.vcudactl(&["vm", "set", A.name, "--compute-weight", "25"]).output().unwrap();
    assert!(set.status.success(), "{set:?}\n{}", host.log());
    let changed_before = now() + 5;
    let (a, b) = (bins(&a.finish()), bins(&b.finish()));
    assert!(
        changed_before + 10 <= a.len(),
        "the change took effect too late: in bin {changed_before} of {}",
        a.len()
    );
    let of = |from: usize, to: usize| share(a[from..to].iter().sum(), b[from..to].iter().sum());
    let (before, after) = (of(0, changed_after), of(changed_before, a.len()));
    assert!(
        (38.0..62.0).contains(&before),
        "{before}% of 50% before {changed_after}: {a:?} {b:?}\n{}",
        host.log()
    );
    assert!(
        (10.0..32.0).contains(&after),
        "{after}% of 20% after {changed_before}: {a:?} {b:?}\n{}",
        host.log()
    );
}

#[test]
fn a_trace_shows_the_windows_of_two_vms_one_after_another() {
    let host = Host::start(&[A, B]);
    let (mut a, mut b) = (Load::kernels(&host, A, "4"), Load::kernels(&host, B, "4"));
    start(&mut [&mut a, &mut b]);
    std::thread::sleep(LEAD + Duration::from_secs(1));
    let output = host.vcudactl(&["trace", "--seconds", "1", "-o", "-"]).output().unwrap();
    assert!(output.status.success(), "{output:?}\n{}", host.log());
    a.finish();
    b.finish();
    let trace: Value = serde_json::from_slice(&output.stdout).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let named = |kind: &str, name: &str| {
        events.iter().filter(|event| event["ph"] == kind && event["name"] == name).collect()
    };
    let lane = |vm: Vm| {
        let threads: Vec<&Value> = named("M", "thread_name");
        let thread = threads.iter().find(|event| event["args"]["name"] == vm.name);
        thread.unwrap_or_else(|| panic!("{} is missing in {trace}", vm.name))["tid"].clone()
    };
    let lanes = [lane(A), lane(B)];
    let mut windows: Vec<&Value> = named("X", "window");
    for lane in &lanes {
        let count = windows.iter().filter(|window| window["tid"] == *lane).count();
        assert!(count > 3, "{count} windows in lane {lane} of {trace}");
    }
    let time = |event: &Value, name: &str| event[name].as_f64().unwrap();
    windows.sort_by(|a, b| time(a, "ts").total_cmp(&time(b, "ts")));
    for pair in windows.windows(2) {
        let end = time(pair[0], "ts") + time(pair[0], "dur");
        // Allow a small overlap, because the times in the trace are rounded.
        assert!(end <= time(pair[1], "ts") + 0.01, "{pair:?}");
    }
    for vm in [A, B] {
        let used: Vec<&Value> = named("C", &format!("memory of {}", vm.name));
        assert!(used.iter().any(|event| event["args"]["bytes"].as_u64() > Some(0)), "{trace}");
    }
}

#[test]
fn copies_continue_while_another_vm_has_the_gpu() {
    let host = Host::start(&[A, B]);
    let (mut kernels, mut copies) = (Load::kernels(&host, A, "3"), Load::copies(&host, B, "3"));
    start(&mut [&mut kernels, &mut copies]);
    for output in [kernels.finish(), copies.finish()] {
        assert!(number(&output, "done") > 0.0, "{output}");
    }
    let stats = host.ask(&["vm", "show", B.name])["stats"]["gpus"][0].clone();
    let of = |name: &str| stats[name].as_u64().unwrap() as f64;
    // Copies usually run outside of windows. Some of them run in windows, when the other VM has no
    // work. So at least a quarter of the time must be that of copies outside of windows.
    let (copied, all) = (of("copied_ns"), of("gpu_ns"));
    assert!(copied > all / 4.0 && all >= copied, "{stats}\n{}", host.log());
}

#[test]
fn random_allocations_in_two_vms_leak_nothing() {
    let host = Host::start(&[A, B]);
    let before = (host.memory(A), host.memory(B));
    let churn = |vm: Vm, seed: &str| {
        let args = ["--sequences", "3000", "--max", "512", "--seed", seed];
        let mut command = host.command_in("quota", vm, "churn", &args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let (a, b) = (churn(A, "1"), churn(B, "2"));
    for output in [succeeded(&host, a), succeeded(&host, b)] {
        assert!(number(&output, "granted") > 0.0, "{output}");
    }
    assert_eq!((host.memory(A), host.memory(B)), before, "{}", host.log());
}

#[test]
fn a_capped_program_learns_how_long_it_waited_for_its_turn() {
    let (host, other) = (Host::start_with(&[(A, "compute.max = \"20%\"")]), Host::start(&[B]));
    let kernels = ["--asleep", "1", "--kernel-us", "1000", "--blocks", "1", "--threads", "32"];
    let arguments = [&kernels[..], &["--wait", "spin", "--seconds", "2"]].concat();
    let run = |host: &Host, vm| {
        let mut command = host.command_in("quota", vm, "saturate", &arguments);
        let output = command.env("VIRTIO_CUDA_STATS", "1").output().unwrap();
        assert!(output.status.success(), "{output:?}\n{}", host.log());
        let table = String::from_utf8_lossy(&output.stderr).into_owned();
        let totals = table.lines().find_map(|line| line.strip_prefix("total ")).unwrap();
        let columns = totals.split_whitespace().map(|column| column.parse::<f64>().unwrap());
        // The columns with the time for which calls waited for work on the GPU, and with the time
        // for which they waited for the VM's turn.
        let columns: Vec<f64> = columns.skip(6).take(2).collect();
        (columns[0], columns[1], table)
    };
    let (gpu, turn, table) = run(&host, A);
    assert!(turn > gpu, "{table}");
    let (gpu, turn, table) = run(&other, B);
    assert!(turn < gpu / 10.0, "{table}");
}
