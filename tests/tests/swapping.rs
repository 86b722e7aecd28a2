//! Tests memory that leaves the GPU and returns.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use virtio_cuda_tests::nvml::Nvml;
use virtio_cuda_tests::{A, B, Host, Vm, eventually, roomy};

/// The program `away`, which checks its memory after each line of input.
struct Program {
    child: Child,
    input: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
}

impl Program {
    fn start(host: &Host, vm: Vm, mib: &str) -> Self {
        let mut command = host.command(vm, "../quota/away", &[mib]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let program = Self { child, input, lines };
        assert_eq!(program.line(), "away: ready", "{}", host.log());
        program
    }

    /// Returns the next line, or an empty one if the program prints none in two minutes.
    fn line(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(120)).unwrap_or_default()
    }

    /// Begins a check of the program's memory.
    fn ask(&mut self) {
        self.input.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    fn round(&mut self, number: u32, host: &Host) {
        self.ask();
        assert_eq!(self.line(), format!("away: round {number}"), "{}", host.log());
    }

    fn end(mut self, host: &Host) {
        drop(self.input.take());
        assert_eq!(self.line(), "away: PASS", "{}", host.log());
        assert!(self.child.wait().unwrap().success());
    }
}

fn stats(host: &Host, vm: Vm) -> Value {
    host.ask(&["vm", "show", vm.name])["stats"].clone()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn memory_leaves_and_returns_and_the_program_notices_nothing() {
    let (vm, _) = roomy(A);
    let mut host = Host::start(&[vm]);
    let mut nvml = Nvml::install(&mut host, &[vm]);
    nvml.report_softgpu(&host);
    let mut program = Program::start(&host, vm, "64");
    program.round(1, &host);
    for round in 2..6 {
        let before = stats(&host, vm)["gpus"][0].clone();
        host.ask(&["vm", "swap-out", vm.name]);
        let now = stats(&host, vm);
        assert_eq!(now["swap"], "away", "{now}\n{}", host.log());
        let gpu = &now["gpus"][0];
        // The program sees what is charged, and that stays, apart from kept memory.
        assert_eq!(gpu["memory_used"], before["memory_used"]);
        assert_eq!(gpu["waits_for"]["reason"], "swapped_out", "{gpu}");
        let (charged, resident) = (number(&gpu["memory_charged"]), number(&gpu["memory_resident"]));
        assert!(charged - resident >= 64 << 20, "{gpu}");
        // The driver has freed what the ledger doesn't count as resident.
        let driver = || stats(&host, vm)["gpus"][0]["memory_driver"].as_u64();
        let is_gone = || driver().is_some_and(|bytes| bytes <= resident + (10 << 20));
        assert!(eventually(Duration::from_secs(10), is_gone), "{:?}: {gpu}", driver());
        match round % 2 {
            0 => program.round(round, &host),
            _ => {
                host.ask(&["vm", "swap-in", vm.name]);
                assert_eq!(stats(&host, vm)["swap"], "on_gpu");
                program.round(round, &host);
            }
        }
        assert_eq!(stats(&host, vm)["swap"], "on_gpu", "{}", host.log());
    }
    program.end(&host);
    let charged = || stats(&host, vm)["gpus"][0]["memory_charged"].clone();
    assert!(eventually(Duration::from_secs(10), || charged() == json!(0)), "{}", charged());
    assert!(!host.log().contains("memory.slack"), "{}", host.log());
}

/// The GPU is smaller than what the two VMs hold together.
#[test]
fn memory_that_has_left_is_free_for_another_vm_until_it_returns() {
    const SMALL: Vm = Vm { memory_max: "256M", ..A };
    const OTHER: Vm = Vm { memory_max: "256M", ..B };
    let mut host = Host::start_in(&[("SOFTGPU_MEMORY", "768M")], &[(SMALL, ""), (OTHER, "")]);
    host.configure("memory.overcommit = 4.0");
    host.restart(&[SMALL, OTHER]);
    for vm in [SMALL, OTHER] {
        host.ask(&["vm", "set", vm.name, "--memory-max", "512M"]);
    }
    let mut first = Program::start(&host, SMALL, "400");
    first.round(1, &host);
    host.ask(&["vm", "swap-out", SMALL.name]);
    let mut second = Program::start(&host, OTHER, "400");
    second.round(1, &host);
    // The first program's memory doesn't fit beside the second's. It waits until it does.
    first.ask();
    let failed = || host.log().contains("the memory can't return now");
    assert!(eventually(Duration::from_secs(30), failed), "{}", host.log());
    assert_eq!(first.child.try_wait().unwrap(), None, "{}", host.log());
    second.round(2, &host);
    host.ask(&["vm", "swap-out", OTHER.name]);
    assert_eq!(first.line(), "away: round 2", "{}", host.log());
    first.end(&host);
    second.round(3, &host);
    second.end(&host);
}

/// Restarts vcudad while memory is away, also without a handover. The orders and their progress are
/// on the workers' gate pages.
#[test]
fn memory_stays_away_when_vcudad_is_replaced_and_returns_afterwards() {
    let (vm, _) = roomy(A);
    let mut host = Host::start_beside_spawner(&[vm], 60);
    let mut program = Program::start(&host, vm, "64");
    for (signal, round) in [(libc::SIGTERM, 1), (libc::SIGKILL, 2)] {
        host.ask(&["vm", "swap-out", vm.name]);
        let before = stats(&host, vm);
        host.kill_broker(signal);
        host.start_broker();
        let after = stats(&host, vm);
        assert_eq!(after["swap"], "away", "{after}\n{}", host.log());
        let resident = |stats: &Value| number(&stats["gpus"][0]["memory_resident"]);
        assert_eq!(resident(&before), resident(&after), "{}", host.log());
        program.round(round, &host);
        let now = stats(&host, vm);
        let gpu = &now["gpus"][0];
        assert_eq!(gpu["memory_resident"], gpu["memory_charged"], "{}", host.log());
    }
    // Calls that are made while there is no vcudad wait for the next one.
    host.ask(&["vm", "swap-out", vm.name]);
    host.kill_broker(libc::SIGKILL);
    program.ask();
    std::thread::sleep(Duration::from_millis(300));
    host.start_broker();
    assert_eq!(program.line(), "away: round 3", "{}", host.log());
    program.end(&host);
}

#[test]
fn busy_paused_and_ending_vms_can_be_swapped_out_without_harm() {
    let (vm, _) = roomy(A);
    let host = Host::start(&[vm, B]);
    let refused = |why: &str| {
        let (_, says) = host.refused(&["vm", "swap-out", vm.name]);
        assert!(says.contains(why), "{says}");
    };
    refused("has no sessions");
    // A program that always has work needs its memory back at once, and continues.
    let (mut busy, _) = host.spawn(vm, "spin", &["hold=64", "loop"]);
    for _ in 0..5 {
        // This fails if the program needs the memory before it has left.
        host.vcudactl(&["vm", "swap-out", vm.name]).output().unwrap();
    }
    let runs = || stats(&host, vm)["swap"] == "on_gpu";
    assert!(eventually(Duration::from_secs(30), runs), "{}", host.log());
    let launches = || number(&stats(&host, vm)["activity"]["launches"]);
    let before = launches();
    assert!(eventually(Duration::from_secs(30), || launches() > before), "{}", host.log());
    busy.kill().unwrap();
    busy.wait().unwrap();
    // A paused VM stays paused when its memory returns.
    let mut program = Program::start(&host, vm, "16");
    host.ask(&["vm", "pause", vm.name]);
    host.ask(&["vm", "swap-out", vm.name]);
    assert_eq!(stats(&host, vm)["swap"], "away", "{}", host.log());
    host.ask(&["vm", "swap-in", vm.name]);
    let state = host.ask(&["vm", "show", vm.name]);
    assert_eq!((&state["state"], &state["stats"]["swap"]), (&json!("paused"), &json!("on_gpu")));
    host.ask(&["vm", "swap-out", vm.name]);
    host.ask(&["vm", "resume", vm.name]);
    program.round(1, &host);
    // A session that ends while its memory is away leaves nothing behind, and a new one runs.
    host.ask(&["vm", "swap-out", vm.name]);
    program.child.kill().unwrap();
    program.child.wait().unwrap();
    let charged = || stats(&host, vm)["gpus"][0]["memory_charged"].clone();
    assert!(eventually(Duration::from_secs(30), || charged() == json!(0)), "{}", charged());
    let mut program = Program::start(&host, vm, "16");
    program.round(1, &host);
    // A new session needs the GPU, so the memory of the others returns.
    host.ask(&["vm", "swap-out", vm.name]);
    let output = host.run(vm, "vectoradd", &[]);
    assert!(output.status.success(), "{output:?}\n{}", host.log());
    program.round(2, &host);
    program.end(&host);
}
