//! Tests memory.max. The guest sees the quota as the device's memory size, and can't use more than
//! that.

use std::process::Child;
use std::time::Duration;

use serde_json::{Value, json};
use virtio_cuda_tests::nvml::Nvml;
use virtio_cuda_tests::{A, B, Host, Vm, eventually, roomy};

fn allocation(host: &Host, vm: virtio_cuda_tests::Vm, size: &str) -> String {
    let output = host.run(vm, "deviceinfo", &["alloc", size]);
    assert!(output.status.success(), "{output:?}\n{}", host.log());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_guest_sees_its_quota_as_the_devices_memory() {
    let host = Host::start(&[A, B]);
    assert_eq!(host.memory(A).1, 2048);
    assert_eq!(host.memory(B).1, 3072);
}

#[test]
fn an_allocation_beyond_the_quota_is_refused_and_the_program_continues() {
    let host = Host::start(&[A, B]);
    assert!(allocation(&host, A, "1G").contains("granted"));
    assert!(allocation(&host, A, "2049M").contains("refused (cudaErrorMemoryAllocation)"));
    assert!(allocation(&host, B, "2049M").contains("granted"));
}

#[test]
fn the_quota_applies_to_the_vm_and_not_to_each_process() {
    let (vm, _) = roomy(A);
    let host = Host::start(&[vm]);
    let (free, _) = host.settled_memory(vm);
    let (mut first, _) = host.spawn(vm, "spin", &["hold=1024", "idle", "3"]);
    let with_first = host.memory(vm).0;
    assert!(with_first + 1024 <= free, "{with_first} of {free}");
    assert!(allocation(&host, vm, &format!("{}M", with_first + 2)).contains("refused"));
    assert!(first.wait().unwrap().success());
    assert_eq!(host.memory(vm).0, free);
}

#[test]
fn programs_that_use_all_there_is_get_exactly_the_quota() {
    let host = Host::start(&[A]);
    let output = host.run(A, "outofmemory", &[]);
    assert!(output.status.success(), "{output:?}\n{}", host.log());
}

#[test]
fn every_way_of_taking_memory_is_charged_and_threads_at_once_get_no_more_than_there_is() {
    let (vm, mib) = roomy(A);
    let host = Host::start(&[vm]);
    let output = host.run(vm, "../quota/memoryquota", &[&mib.to_string()]);
    assert!(output.status.success(), "{output:?}\n{}", host.log());
}

/// On a GPU, `tests/gpu/quotas.sh memory` makes the same comparison with NVIDIA's NVML.
#[test]
fn the_ledger_charges_all_memory_that_the_driver_has_allocated() {
    let (vm, mib) = roomy(A);
    let mut host = Host::start(&[vm]);
    // With overcommitted memory, workers don't keep what programs have freed, so a program can tell
    // what it's charged for from the memory that it sees.
    host.configure("memory.overcommit = 1.5");
    let mut nvml = Nvml::install(&mut host, &[vm]);
    nvml.report_softgpu(&host);
    // The broker charges for contexts once it has measured one.
    let reserved = || host.ask(&["gpu", "ls"])[0]["memory_reserved"].as_u64().unwrap();
    assert!(eventually(Duration::from_secs(60), || reserved() > 0), "{}", host.log());
    let mut program = host.command(vm, "../quota/memoryquota", &[&mib.to_string()]);
    let library = nvml.let_use(&mut program).display().to_string();
    let output = program.arg(format!("nvml={library}")).output().unwrap();
    assert!(output.status.success(), "{output:?}\n{}", host.log());
    assert!(!host.log().contains("memory.slack"), "{}", host.log());
}

#[test]
fn overcommitted_vms_run_out_of_memory_when_the_gpu_is_full() {
    const BIG: Vm = Vm { memory_max: "2G", ..B };
    let mut host = Host::start_in(&[("SOFTGPU_MEMORY", "4G")], &[(A, ""), (BIG, "")]);
    host.configure("memory.overcommit = 4.0");
    host.restart(&[A, BIG]);
    // The GPU has less than twice the memory that the two VMs may use together.
    let fill = ["hold=1600", "idle"];
    let (mut first, _) = host.spawn(A, "spin", &fill);
    assert!(allocation(&host, BIG, "1600M").contains("granted"));
    host.ask(&["vm", "set", A.name, "--memory-max", "3800M"]);
    let (mut second, _) = host.spawn(A, "spin", &fill);
    let refused = allocation(&host, BIG, "1600M");
    assert!(refused.contains("refused (cudaErrorMemoryAllocation)"), "{refused}");
    let rejected = host.ask(&["vm", "show", BIG.name])["stats"]["gpus"][0].clone();
    assert_eq!(rejected["memory_rejected"], json!(0), "the quota has room: {rejected}");
    for program in [&mut first, &mut second] {
        program.kill().unwrap();
        program.wait().unwrap();
    }
    let free =
        eventually(Duration::from_secs(60), || allocation(&host, BIG, "1600M").contains("granted"));
    assert!(free, "{}", host.log());
}

/// Setting the stack limit frees local memory, which the next launch of a graph needs again. The
/// program does this in each of its contexts.
#[test]
fn local_memory_of_graphs_does_not_exceed_the_quota() {
    const QUOTA: u64 = 1 << 30;
    const VM: Vm = Vm { memory_max: "1G", ..A };
    // Give softgpu enough memory for three contexts, so that only the quota limits them.
    let host = Host::start_in(&[("SOFTGPU_MEMORY", "64G")], &[(VM, "")]);
    let (mut program, line) = host.spawn(VM, "graphlocal", &[]);
    assert_eq!(line, "granted refused refused", "{}", host.log());
    let account = host.ask(&["vm", "show", VM.name])["stats"]["gpus"][0].clone();
    let used = account["memory_used"].as_u64().unwrap();
    assert!((QUOTA / 2..=QUOTA).contains(&used), "{account}");
    drop(program.stdin.take());
    assert!(program.wait().unwrap().success(), "{}", host.log());
}

#[test]
fn five_thousand_threads_with_streams_of_their_own_fit_into_a_small_vm() {
    // On a GPU, the quota must be larger, because a context needs half a GiB.
    let memory_max = if roomy(A).1 == 2048 { "512M" } else { "1G" };
    let vm = Vm { memory_max, ..A };
    let host = Host::start(&[vm]);
    let case = "thread_exit::thousands_of_threads_leave_little_memory";
    let output = host.run(vm, "../../tests/cuda-conformance", &["--run-one", "--legacy", case]);
    assert!(output.status.success(), "{output:?}\n{}", host.log());
}

#[test]
fn a_context_that_does_not_fit_is_refused_and_nothing_stays_charged() {
    const CONTEXT: u64 = 64 << 20;
    const SMALL: Vm = Vm { memory_max: "48M", ..A };
    let mut host = Host::start(&[SMALL, B]);
    let mut nvml = Nvml::install(&mut host, &[SMALL, B]);
    // The broker measures the size of a context as the memory that NVML reports for a ready worker.
    let ready = || host.warm_workers();
    assert!(eventually(Duration::from_secs(60), || !ready().is_empty()), "{}", host.log());
    let warm = ready()[0];
    nvml.say(&format!("process 0 {warm} {CONTEXT}"));
    let reserved = || host.ask(&["gpu", "ls"])[0]["memory_reserved"].as_u64().unwrap();
    let learned = eventually(Duration::from_secs(60), || reserved() >= CONTEXT);
    assert!(learned, "{}\n{}", host.ask(&["gpu", "ls"]), host.log());

    let account = |vm: Vm| host.ask(&["vm", "show", vm.name])["stats"]["gpus"][0].clone();
    let refused = host.run(SMALL, "vectoradd", &[]);
    let says = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success(), "{refused:?}\n{}", host.log());
    assert!(says.contains("cudaErrorMemoryAllocation"), "{says}\n{}", host.log());
    assert!(account(SMALL)["memory_rejected"].as_u64() > Some(0), "{}", account(SMALL));
    // The session's worker creates no context for it, not even for a moment.
    const NO_ROOM: &str = "the memory limit has no room for a context";
    assert!(host.log().contains(NO_ROOM), "{}", host.log());
    let nothing = |account: Value| {
        let kinds = account["memory_by_kind"].as_object().unwrap().values();
        account["memory_used"] == json!(0) && kinds.into_iter().all(|bytes| *bytes == json!(0))
    };
    let free = eventually(Duration::from_secs(60), || nothing(account(SMALL)));
    assert!(free, "{}\n{}", account(SMALL), host.log());

    // A program in VM B is charged for its context, and the charge is released when the program
    // exits.
    let (mut program, _) = host.spawn(B, "spin", &["loop"]);
    assert_eq!(account(B)["memory_by_kind"]["context"], json!(CONTEXT), "{}", account(B));
    // It has the warm worker that could not serve the first session.
    assert!(host.log().contains(&format!("worker={warm}")), "{}", host.log());
    program.kill().unwrap();
    program.wait().unwrap();
    let free = eventually(Duration::from_secs(60), || nothing(account(B)));
    assert!(free, "{}\n{}", account(B), host.log());

    // If the quota has room for one context, the program that failed above works.
    host.ask(&["vm", "set", SMALL.name, "--memory-max", "256M"]);
    let output = host.run(SMALL, "vectoradd", &[]);
    assert!(output.status.success(), "{output:?}\n{}", host.log());
}

/// Checks that a program's session ends, and that the log contains this reason.
fn ends(host: &Host, program: &mut Child, why: &str) {
    let mut status = None;
    eventually(Duration::from_secs(60), || {
        status = program.try_wait().unwrap();
        status.is_some()
    });
    let log = host.log();
    assert!(status.is_some_and(|status| !status.success()), "{status:?}\n{log}");
    assert!(log.contains(why), "{log}");
}

/// The host's vcudad uses two GPUs: VM A is on GPU 1, and VM B is on GPU 0. NVML also reports a
/// third GPU, number 2, which vcudad doesn't use.
#[test]
fn a_session_that_uses_memory_on_a_gpu_that_is_not_its_own_ends() {
    let vms = [(A, "gpus = [1]"), (B, "gpus = [0]")];
    let mut host = Host::start_in(&[("SOFTGPU_DEVICES", "2")], &vms);
    let mut nvml = Nvml::install(&mut host, &[A, B]);
    nvml.say("gpu GPU-ffffffff-0000-0000-0000-000000000000 1073741824");
    host.restart(&[A, B]);
    let (mut other, _) = host.spawn(B, "spin", &["loop"]);
    // vcudad trusts the process IDs in NVML's reports only after it has seen one of its workers
    // there.
    nvml.say(&format!("process 0 {} 1", host.workers(B)[0]));

    for gpu in [0, 2] {
        let (mut program, _) = host.spawn(A, "spin", &["loop"]);
        nvml.say(&format!("process {gpu} {} 1", host.workers(A)[0]));
        ends(&host, &mut program, "which isn't one of the session's GPUs");
    }
    assert_eq!(other.try_wait().unwrap(), None, "{}", host.log());
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn a_session_that_uses_more_time_than_it_is_charged_ends() {
    let mut host = Host::start(&[A, B]);
    host.configure("compute.on_excess = \"end\"");
    let mut nvml = Nvml::install(&mut host, &[A, B]);
    // The fake NVML reports that both VMs' workers use the GPU, but A's program has started no
    // kernel, so A isn't charged.
    let (mut other, _) = host.spawn(B, "spin", &["forever"]);
    let (mut program, _) = host.spawn(A, "spin", &["hold=1", "idle"]);
    let ids = [B, A].map(|vm| host.workers(vm)[0]);
    nvml.say(&format!("busy 0 {} 60\nbusy 0 {} 40", ids[0], ids[1]));
    // Look at the workers, because the program makes no more CUDA calls and doesn't notice that its
    // session has ended.
    let ended = eventually(Duration::from_secs(60), || host.workers(A).is_empty());
    let (why, log) = ("more GPU time for the VM than was charged to it", host.log());
    assert!(ended && log.contains(why), "{log}");
    program.kill().unwrap();
    program.wait().unwrap();
    assert_eq!(other.try_wait().unwrap(), None, "{}", host.log());
    other.kill().unwrap();
    other.wait().unwrap();
}

/// The driver frees a worker's memory when the last file descriptor for it is closed. A worker may
/// have passed descriptors to another process. In that case, the memory outlives the worker.
#[test]
fn a_vm_ends_for_what_its_ended_worker_has_left() {
    const LEFT: u64 = 1 << 30;
    let mut host = Host::start(&[A, B]);
    let mut nvml = Nvml::install(&mut host, &[A, B]);
    let (mut other, _) = host.spawn(B, "spin", &["loop"]);
    let shown = |vm: Vm, key: &str| host.ask(&["vm", "show", vm.name])[key].clone();
    let restarts = || shown(A, "stats")["device_restarts"].as_u64().unwrap();
    let reserved = || host.ask(&["gpu", "ls"])[0]["memory_reserved"].as_u64().unwrap();
    let before = reserved();
    // Runs a program and kills it. NVML reports the memory of its worker even after the worker has
    // exited. Returns the worker's process ID.
    let end_one = |nvml: &mut Nvml| {
        let (mut program, _) = host.spawn(A, "spin", &["loop"]);
        let worker = host.workers(A)[0];
        nvml.say(&format!("left 0 {worker} {LEFT}"));
        let seen = || host.ask(&["gpu", "ls"])[0]["memory_driver"].as_u64() == Some(LEFT);
        assert!(eventually(Duration::from_secs(60), seen), "{}", host.log());
        program.kill().unwrap();
        program.wait().unwrap();
        worker
    };

    // First case: the VM's device process holds the descriptors, so restarting that process frees
    // the memory.
    let first = end_one(&mut nvml);
    let why = format!("the driver still reports worker {first} of VM 'a'");
    let reported = || host.log().contains(&why);
    assert!(eventually(Duration::from_secs(60), reported), "{}", host.log());
    assert!(reserved() >= before + LEFT, "{}", host.ask(&["gpu", "ls"]));
    nvml.say(&format!("freed {first}"));
    assert!(eventually(Duration::from_secs(60), || restarts() == 1), "{}", host.log());
    assert!(eventually(Duration::from_secs(60), || reserved() == before), "{}", host.log());
    assert!(eventually(Duration::from_secs(60), || host.socket(A).exists()), "{}", host.log());
    assert!(host.run(A, "vectoradd", &[]).status.success(), "{}", host.log());
    assert_eq!(shown(A, "state"), json!("running"), "{}", host.log());

    // Second case: another program holds the descriptors, so the memory isn't freed when the device
    // process ends.
    let ended = eventually(Duration::from_secs(60), || host.workers(A).is_empty());
    assert!(ended, "{}", host.log());
    let second = end_one(&mut nvml);
    let failed = || shown(A, "state") == json!("failed");
    assert!(eventually(Duration::from_secs(60), failed), "{}", host.log());
    assert!(host.log().contains("such as the VMM"), "{}", host.log());
    assert!(restarts() >= 2);
    assert_eq!(other.try_wait().unwrap(), None, "{}", host.log());
    nvml.say(&format!("freed {second}"));
    assert!(eventually(Duration::from_secs(60), || reserved() == before), "{}", host.log());
    host.ask(&["vm", "restart", A.name]);
    assert!(eventually(Duration::from_secs(60), || host.socket(A).exists()), "{}", host.log());
    assert!(host.run(A, "vectoradd", &[]).status.success(), "{}", host.log());
    other.kill().unwrap();
    other.wait().unwrap();
}
