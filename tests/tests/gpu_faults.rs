//! Checks the effects of GPU faults that NVML reports: on events, on the placement of VMs, and on
//! sessions.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use virtio_cuda_tests::nvml::Nvml;
use virtio_cuda_tests::{A, B, Host, Vm, eventually};

/// Time limit for a step in a test, far longer than any step takes. If a step reaches it, the test
/// fails.
const NEVER: Duration = Duration::from_secs(60);

/// A running `vcudactl events`, and the events that it has printed.
struct Events {
    watcher: Child,
    heard: Receiver<Value>,
}

impl Events {
    fn of(host: &Host) -> Self {
        let mut command = host.vcudactl(&["--json", "events"]);
        let mut watcher = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(watcher.stdout.take().unwrap()).lines();
        let (told, heard) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = told.send(serde_json::from_str(&line).unwrap());
            }
        });
        // The watcher misses events until it's connected, so cause events until it receives one.
        let connected = (1..1000).any(|weight| {
            host.ask(&["vm", "set", B.name, "--compute-weight", &weight.to_string()]);
            heard.recv_timeout(Duration::from_millis(100)).is_ok()
        });
        assert!(connected, "no event:\n{}", host.log());
        Self { watcher, heard }
    }

    /// Waits for the next event of this kind, and returns it.
    fn next(&self, kind: &str, host: &Host) -> Value {
        loop {
            let event = self.heard.recv_timeout(NEVER);
            let event = event.unwrap_or_else(|_| panic!("no {kind}:\n{}", host.log()));
            if event["kind"] == json!(kind) {
                return event;
            }
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let _ = self.watcher.kill();
        let _ = self.watcher.wait();
    }
}

/// Returns the number of faults that the Prometheus metrics report for a GPU.
fn counted(host: &Host, gpu: u32) -> u64 {
    let page = host.metrics();
    let of = format!("gpu=\"{gpu}\"");
    let is_it =
        |line: &&str| line.starts_with("virtio_cuda_gpu_faults_total{") && line.contains(&of);
    let line = page.lines().find(is_it).unwrap_or_else(|| panic!("no faults in {page}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

fn state(host: &Host, gpu: usize) -> Value {
    host.ask(&["gpu", "ls"])[gpu]["state"].clone()
}

/// Returns whether a VM's program launches further kernels.
fn goes_on(host: &Host, vm: Vm) -> bool {
    let launches = || host.ask(&["vm", "show", vm.name])["stats"]["activity"]["launches"].as_u64();
    let before = launches();
    eventually(NEVER, || launches() > before)
}

/// Adds a third VM, named c, with additional options.
fn add_c(host: &Host, more: &[&str]) {
    let socket = host.control().with_file_name("c").display().to_string();
    let words = ["vm", "add", "c", "--memory-max", "64M", "--socket-path", &socket];
    host.ask(&[&words[..], more].concat());
}

fn end(mut program: Child) {
    program.kill().unwrap();
    program.wait().unwrap();
}

/// Starts a host with two GPUs. VM A is on GPU 1, and VM B on GPU 0.
fn host() -> (Host, Nvml) {
    let vms = [(A, "gpus = [1]"), (B, "gpus = [0]")];
    let mut host = Host::start_in(&[("SOFTGPU_DEVICES", "2")], &vms);
    let nvml = Nvml::install(&mut host, &[A, B]);
    (host, nvml)
}

#[test]
fn a_gpu_that_falls_off_the_bus_ends_its_sessions_and_gets_no_more_vms() {
    let (host, mut nvml) = host();
    let events = Events::of(&host);
    let mut command = host.command(A, "spin", &["loop"]);
    let lost = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (other, _) = host.spawn(B, "spin", &["loop"]);
    assert!(goes_on(&host, A) && goes_on(&host, B), "{}", host.log());
    assert_eq!((state(&host, 1), counted(&host, 1)), (json!("healthy"), 0));

    // GPU 1 falls off the bus (Xid 79). After that, NVML can't identify the GPU that the event is
    // about, because it no longer responds.
    nvml.say("xid 1 79\nlost 1");
    let event = events.next("gpu_fault", &host);
    assert_eq!(event["gpu"], json!(1), "{event}");
    assert!(event["message"].as_str().unwrap().contains("Xid 79"), "{event}");
    let output = lost.wait_with_output().unwrap();
    let says = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{output:?}\n{}", host.log());
    assert!(says.contains("cudaErrorDevicesUnavailable"), "{says}\n{}", host.log());
    assert_eq!((state(&host, 0), state(&host, 1)), (json!("healthy"), json!("faulty")));
    assert_eq!(counted(&host, 0), 0);
    assert_eq!(counted(&host, 1), 1);

    // A VM that requests the faulty GPU is refused. A VM without such a request is placed on the
    // other GPU.
    let (code, says) = host.refused(&["vm", "add", "c", "--memory-max", "64M", "--gpus", "1"]);
    assert_eq!(code, Some(2), "{says}");
    assert!(says.contains("GPU 1 had a fault"), "{says}");
    add_c(&host, &[]);
    assert_eq!(host.ask(&["vm", "show", "c"])["stats"]["gpus"][0]["gpu"], json!(0));
    assert!(goes_on(&host, B), "{}", host.log());

    // A fault of GPU 0 is reported. The fault of GPU 1 isn't reported again.
    nvml.say("ecc 0");
    let event = events.next("gpu_fault", &host);
    assert_eq!(event["gpu"], json!(0), "{event}");
    assert_eq!((counted(&host, 0), counted(&host, 1)), (1, 1));
    end(other);
}

#[test]
fn a_memory_error_takes_the_gpu_out_of_placement_and_leaves_its_sessions_to_the_driver() {
    let (host, mut nvml) = host();
    let events = Events::of(&host);
    let (program, _) = host.spawn(A, "spin", &["loop"]);
    nvml.say("ecc 1");
    let event = events.next("gpu_fault", &host);
    assert_eq!(event["gpu"], json!(1), "{event}");
    assert_eq!((state(&host, 1), counted(&host, 1)), (json!("faulty"), 1));
    assert!(goes_on(&host, A), "{}", host.log());
    end(program);
}

#[test]
fn faults_caused_by_programs_are_reported_without_affecting_the_gpu() {
    let (host, mut nvml) = host();
    let events = Events::of(&host);
    let (program, _) = host.spawn(A, "spin", &["loop"]);
    nvml.say("xid 1 13\nxid 1 31\nxid 1 43\nxid 1 45");
    let event = events.next("program_fault", &host);
    assert_eq!((&event["gpu"], &event["vm"]), (&json!(1), &Value::Null));
    assert_eq!(event["message"], json!("Xid 13, caused by a program"));
    // vcudad publishes at most one such event per second. The next event contains the number of
    // faults that it has left out.
    let told = eventually(NEVER, || {
        nvml.say("xid 1 31");
        let soon = events.heard.recv_timeout(Duration::from_millis(100));
        soon.is_ok_and(|event| event["message"].as_str().unwrap().contains("more since the last"))
    });
    assert!(told, "{}", host.log());
    assert_eq!((state(&host, 1), counted(&host, 1)), (json!("healthy"), 0));
    assert!(goes_on(&host, A), "{}", host.log());
    add_c(&host, &["--gpus", "1"]);
    end(program);
}
