//! Tests the guest's NVML library. As CUDA does, it reports the VM's quota as the GPU's memory
//! size, and the VM's usage as used memory. It works without a worker. For values that it doesn't
//! have, it returns "not supported".

use std::time::Duration;

use virtio_cuda_tests::nvml::Nvml;
use virtio_cuda_tests::{A, B, Host, Vm, dist, eventually};

/// Returns the output of `memoryseen list`, which makes no CUDA calls.
fn list(host: &Host, vm: Vm) -> String {
    let output = host.run(vm, "memoryseen", &["list"]);
    assert!(output.status.success(), "{output:?}\n{}", host.log());
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the number after a word in `text`.
fn number(text: &str, word: &str) -> u64 {
    let mut words = text.split_whitespace().skip_while(|w| *w != word).skip(1);
    let number = words.next().unwrap_or_else(|| panic!("no {word} in {text}"));
    number.trim_end_matches([':', ',']).parse().unwrap()
}

#[test]
fn cuda_and_nvml_agree_while_a_program_allocates() {
    let host = Host::start(&[A, B]);
    for vm in [A, B] {
        let output = host.run(vm, "memoryseen", &[]);
        assert!(output.status.success(), "{output:?}\n{}", host.log());
    }
    assert_eq!(number(&list(&host, A), "of"), 2 << 30);
    assert_eq!(number(&list(&host, B), "of"), 3 << 30);
}

#[test]
fn nvml_works_when_memory_is_used_up_and_uses_none() {
    let host = Host::start(&[A, B]);
    let before = list(&host, A);
    assert_eq!(number(&before, "used"), 0, "{before}");
    assert_eq!(host.workers(A).len(), 0, "NVML doesn't need a worker");
    let (mut full, line) = host.spawn(A, "memoryseen", &["full"]);
    assert_eq!(line, "memoryseen: full", "{}", host.log());
    let text = list(&host, A);
    let (used, total) = (number(&text, "used"), number(&text, "of"));
    assert!(used <= total && used + (4 << 20) > total, "{text}");
    assert_eq!(number(&text, "process"), u64::from(full.id()), "{text}");
    assert_eq!(host.workers(A).len(), 1);
    // VM B's programs must not see the process of VM A.
    assert!(!list(&host, B).contains("process"));
    drop(full.stdin.take());
    assert!(full.wait().unwrap().success());
    let empty = || number(&list(&host, A), "used") == 0;
    assert!(eventually(Duration::from_secs(60), empty));
}

#[test]
fn nvml_shows_how_busy_the_vm_keeps_the_gpu_and_not_how_busy_others_do() {
    let host = Host::start(&[A, B]);
    let busy = |vm| number(&list(&host, vm), "busy");
    assert_eq!(busy(A), 0);
    let (mut program, _) = host.spawn(A, "spin", &["loop"]);
    let seen = eventually(Duration::from_secs(30), || busy(A) > 0);
    assert!(seen, "{}\n{}", list(&host, A), host.log());
    assert!(busy(A) <= 100);
    assert_eq!(busy(B), 0);
    program.kill().unwrap();
    program.wait().unwrap();
    let idle = eventually(Duration::from_secs(30), || busy(A) == 0);
    assert!(idle, "{}\n{}", list(&host, A), host.log());
}

/// Returns the processes that have used the GPU in the last second, each with its GPU use in
/// percent.
fn uses(list: &str) -> Vec<(u64, u64)> {
    let lines = list.lines().filter(|line| line.contains("process") && line.contains("busy"));
    lines.map(|line| (number(line, "process"), number(line, "busy"))).collect()
}

#[test]
fn nvml_divides_the_vms_gpu_time_among_its_busy_processes() {
    let host = Host::start(&[A, B]);
    assert_eq!(uses(&list(&host, A)), []);
    let mut programs = [0, 1].map(|_| host.spawn(A, "spin", &["loop"]).0);
    let mut pids = programs.each_ref().map(|program| u64::from(program.id()));
    pids.sort_unstable();
    let both_are_listed = || {
        let text = list(&host, A);
        let mut busy = uses(&text);
        busy.sort_unstable();
        let sum: u64 = busy.iter().map(|(_, percent)| percent).sum();
        // The sum can exceed the VM's use, because each process's use is rounded up. Poll, because
        // the two numbers come from two queries, and the load may change between them.
        let is_divided = sum <= number(&text, "busy") + busy.len() as u64;
        is_divided && busy.iter().map(|(pid, _)| *pid).eq(pids)
    };
    assert!(eventually(Duration::from_secs(30), both_are_listed), "{}", list(&host, A));
    assert_eq!(uses(&list(&host, B)), []);
    programs[0].kill().unwrap();
    programs[0].wait().unwrap();
    let left = u64::from(programs[1].id());
    let one = |text: &str| matches!(uses(text)[..], [(pid, _)] if pid == left);
    assert!(eventually(Duration::from_secs(30), || one(&list(&host, A))), "{}", list(&host, A));
    programs[1].kill().unwrap();
    programs[1].wait().unwrap();
}

#[test]
fn nvml_names_a_setting_as_the_reason_if_a_cap_or_other_vms_slow_the_vm_down() {
    const IDLE: u64 = 1;
    const SETTING: u64 = 2;
    let host = Host::start(&[A, B]);
    let shows = |vm, reasons: u64| {
        let line = format!("reasons on gpu 0: {reasons}\n");
        let shown = || list(&host, vm).contains(&line);
        let seen = eventually(Duration::from_secs(30), shown);
        assert!(seen, "expected {reasons}:\n{}\n{}", list(&host, vm), host.log());
    };
    shows(A, IDLE);
    for kernels in [&["loop"][..], &["forever"]] {
        let (mut program, _) = host.spawn(A, "spin", kernels);
        shows(A, 0);
        host.ask(&["vm", "set", A.name, "--compute-max", "11%"]);
        shows(A, SETTING);
        host.ask(&["vm", "set", A.name, "--compute-max", "100%"]);
        shows(A, 0);
        let (mut other, _) = host.spawn(B, "spin", kernels);
        shows(A, SETTING);
        shows(B, SETTING);
        host.ask(&["vm", "pause", A.name]);
        shows(A, SETTING);
        shows(B, 0);
        host.ask(&["vm", "resume", A.name]);
        for program in [&mut program, &mut other] {
            program.kill().unwrap();
            program.wait().unwrap();
        }
        shows(A, IDLE);
        shows(B, IDLE);
    }
}

#[test]
fn nvml_shows_the_pcie_link_that_the_host_reports() {
    let mut host = Host::start(&[A]);
    // Without NVML on the host, the guest's NVML doesn't know the PCIe link.
    assert!(!list(&host, A).contains("Pcie"));
    let mut nvml = Nvml::install(&mut host, &[A]);
    let shows = |host: &Host, values: [u64; 4]| {
        let names = ["MaxPcieLinkGeneration", "MaxPcieLinkWidth"];
        let current = ["CurrPcieLinkGeneration", "CurrPcieLinkWidth"];
        let lines = [names, current].concat().into_iter().zip(values);
        let lines: Vec<String> =
            lines.map(|(name, value)| format!("nvmlDeviceGet{name} on gpu 0: {value}\n")).collect();
        let shown = || lines.iter().all(|line| list(host, A).contains(line));
        assert!(eventually(Duration::from_secs(30), shown), "{}\n{}", list(host, A), host.log());
    };
    nvml.say("link 0 1 8 5 16");
    shows(&host, [5, 16, 1, 8]);
    // When it has work, the GPU raises the speed of its link.
    nvml.say("link 0 5 16 5 16");
    shows(&host, [5, 16, 5, 16]);
}

#[test]
fn nvml_reports_the_same_through_the_kernel_driver() {
    let host = Host::start(&[A]);
    let program = dist().join("programs/static/memoryseen");
    for args in [&[][..], &["list"]] {
        let output =
            host.uml(A).args(["--timeout", "120", "--"]).arg(&program).args(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{output:?}\n{}", host.log());
        assert!(text.contains("memoryseen: PASS"), "{output:?}");
    }
}
