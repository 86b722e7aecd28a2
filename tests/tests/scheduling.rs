//! Tests scheduling. If a worker stops during its window or never yields the GPU, its session must
//! end, and the other VM must continue. A paused VM must leave the GPU, and later continue where it
//! was.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use virtio_cuda_tests::{A, B, Host, Vm, eventually};

/// Time limit for a step in a test, far longer than any step takes. If a step reaches it, the test
/// fails.
const NEVER: Duration = Duration::from_secs(60);

/// Returns a VM's statistics.
fn stats(host: &Host, vm: Vm) -> Value {
    host.ask(&["vm", "show", vm.name])["stats"].clone()
}

fn number(stats: &Value, pointer: &str) -> u64 {
    let value = stats.pointer(pointer).and_then(Value::as_u64);
    value.unwrap_or_else(|| panic!("no {pointer} in {stats}"))
}

/// Returns whether a VM's program launches further kernels.
fn goes_on(host: &Host, vm: Vm) -> bool {
    let launches = || number(&stats(host, vm), "/activity/launches");
    let before = launches();
    eventually(NEVER, || launches() > before)
}

/// Sends a signal to a worker.
fn signal(pid: i32, signal: i32) {
    // SAFETY: kill takes no pointers, and the worker belongs to this test's host.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0, "signal {signal} to {pid}");
}

/// Ends a program that must still be running.
fn end_running(host: &Host, mut child: Child) {
    let status = child.try_wait().unwrap();
    assert!(status.is_none(), "the program has exited: {status:?}\n{}", host.log());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_worker_that_stops_loses_the_gpu_and_its_session_and_the_other_vm_continues() {
    let host = Host::start(&[A, B]);
    let (mut stopped, _) = host.spawn(A, "spin", &["hold=512", "loop"]);
    let (other, _) = host.spawn(B, "spin", &["hold=64", "loop"]);
    let workers = host.workers(A);
    let [worker] = workers[..] else { panic!("{workers:?}\n{}", host.log()) };
    signal(worker, libc::SIGSTOP);
    let mut status = None;
    let ended = eventually(NEVER, || {
        status = stopped.try_wait().unwrap();
        status.is_some()
    });
    assert!(ended, "the guest program did not exit\n{}", host.log());
    assert_eq!(status.map(|status| status.success()), Some(false));
    assert!(host.log().contains("its heartbeat stopped"), "{}", host.log());
    assert!(goes_on(&host, B), "{}", host.log());
    end_running(&host, other);
    // The memory of the stopped worker was freed, so the VM can start programs again.
    let again = host.run(A, "vectoradd", &[]);
    assert!(again.status.success(), "{again:?}\n{}", host.log());
    assert!(eventually(NEVER, || host.workers(A).is_empty()), "{}", host.log());
}

#[test]
fn a_kernel_above_its_timeout_ends_its_session_with_702_and_the_other_vm_continues() {
    let host = Host::start_with(&[(A, "compute.kernel_timeout = \"500ms\""), (B, "")]);
    let (other, _) = host.spawn(B, "spin", &["hold=64", "loop"]);
    let mut command = host.command(A, "spin", &["hold=64", "forever"]);
    let endless = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let output = endless.wait_with_output().unwrap();
    let says = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{output:?}\n{}", host.log());
    assert!(says.contains("cudaErrorLaunchTimeout"), "{says}\n{}", host.log());
    // The timeout must be counted, even though the program exited immediately after it.
    let timeouts = |vm| number(&stats(&host, vm), "/gpus/0/kernel_timeouts");
    assert_eq!((timeouts(A), timeouts(B)), (1, 0), "{}", host.log());
    // The endless kernel has ended, because its worker was killed.
    assert!(eventually(NEVER, || host.workers(A).is_empty()), "{}", host.log());
    assert!(goes_on(&host, B), "{}", host.log());
    end_running(&host, other);
    // Kernels that are shorter than the timeout still run.
    let again = host.run(A, "vectoradd", &[]);
    assert!(again.status.success(), "{again:?}\n{}", host.log());
}

#[test]
fn a_kernel_that_never_ends_is_evicted_for_other_vms_and_continues() {
    let host = Host::start(&[A, B]);
    let (endless, _) = host.spawn(A, "spin", &["hold=64", "forever"]);
    let (other, _) = host.spawn(B, "spin", &["hold=64", "loop"]);
    let evictions = |vm| number(&stats(&host, vm), "/gpus/0/evictions");
    assert!(eventually(NEVER, || evictions(A) >= 3), "{}", host.log());
    assert!(goes_on(&host, B), "{}", host.log());
    // The kernel must return to the GPU between evictions, so the VM had a window for each
    // eviction.
    let windows = |vm| number(&stats(&host, vm), "/gpus/0/windows");
    assert!(windows(A) >= 3, "{}", host.log());
    // A program is killed while its kernel is off the GPU. Its worker must exit, and the VM must
    // still work.
    end_running(&host, endless);
    assert!(eventually(NEVER, || host.workers(A).is_empty()), "{}", host.log());
    let again = host.run(A, "vectoradd", &[]);
    assert!(again.status.success(), "{again:?}\n{}", host.log());
    end_running(&host, other);
}

#[test]
fn a_kernel_behind_a_host_function_that_returns_late_is_evicted_too() {
    let host = Host::start(&[A, B]);
    let (mut late, _) = host.spawn(A, "spin", &["late"]);
    let (other, _) = host.spawn(B, "spin", &["loop"]);
    assert!(goes_on(&host, B), "{}", host.log());
    let of_a = |key| number(&stats(&host, A), key);
    assert_eq!(of_a("/gpus/0/evictions"), 0, "it waits for the host\n{}", host.log());
    // Let the host function return, so that the kernel begins while B has the GPU.
    drop(late.stdin.take());
    let before = of_a("/gpus/0/windows");
    assert!(eventually(NEVER, || of_a("/gpus/0/evictions") >= 3), "{}", host.log());
    assert!(of_a("/gpus/0/windows") > before, "{}", host.log());
    assert!(goes_on(&host, B), "{}", host.log());
    end_running(&host, late);
    end_running(&host, other);
}

/// Sends a POST request to the control API, which must succeed.
fn post(host: &Host, path: &str) {
    let mut stream = UnixStream::connect(host.control()).unwrap();
    write!(stream, "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}\n{}", host.log());
}

fn state(host: &Host, vm: Vm) -> String {
    host.ask(&["vm", "show", vm.name])["state"].as_str().unwrap().to_owned()
}

/// Waits until a VM uses no GPU: it gets no more windows, and isn't charged for GPU time or copies.
fn is_off(host: &Host, vm: Vm) -> bool {
    let used = || {
        let stats = stats(host, vm);
        ["/gpus/0/windows", "/gpus/0/gpu_ns", "/gpus/0/copied_ns"].map(|key| number(&stats, key))
    };
    eventually(NEVER, || {
        let before = used();
        std::thread::sleep(Duration::from_millis(300));
        used() == before
    })
}

#[test]
fn a_pause_longer_than_its_timeout_does_not_end_an_evicted_kernel() {
    let host = Host::start_with(&[(A, "compute.kernel_timeout = \"6s\""), (B, "")]);
    let mut command = host.command(A, "spin", &["hold=64", "forever"]);
    let mut endless = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let windows = || number(&stats(&host, A), "/gpus/0/windows");
    // After this much GPU time, the program's kernel is running.
    let gpu_ns = || number(&stats(&host, A), "/gpus/0/gpu_ns");
    assert!(eventually(NEVER, || gpu_ns() > 300_000_000), "{}", host.log());
    let before = windows();
    let evictions = || number(&stats(&host, A), "/gpus/0/evictions");
    host.ask(&["vm", "pause", A.name]);
    assert_eq!(state(&host, A), "paused");
    assert!(is_off(&host, A), "{}", host.log());
    assert_eq!(evictions(), 1, "{}", host.log());
    // While A is paused, B can use the GPU all the time.
    let (other, _) = host.spawn(B, "spin", &["hold=64", "loop"]);
    assert!(goes_on(&host, B), "{}", host.log());
    std::thread::sleep(Duration::from_secs(8));
    assert_eq!(endless.try_wait().unwrap(), None, "{}", host.log());
    assert_eq!(number(&stats(&host, A), "/sessions"), 1, "{}", host.log());
    assert_eq!((windows(), evictions()), (before, 1), "{}", host.log());
    post(&host, "/v1/vms/a/resume");
    assert_eq!(state(&host, A), "running");
    assert!(eventually(NEVER, || windows() > before), "{}", host.log());
    // As soon as A is resumed, the kernel's time on the GPU counts again, so the kernel reaches its
    // timeout.
    let output = endless.wait_with_output().unwrap();
    let says = String::from_utf8_lossy(&output.stderr);
    assert!(says.contains("cudaErrorLaunchTimeout"), "{says}\n{}", host.log());
    end_running(&host, other);
}

#[test]
fn programs_of_a_paused_vm_wait_and_complete() {
    let host = Host::start(&[A, B]);
    let mut reader =
        host.vcudactl(&["events", "--vm", A.name]).stdout(Stdio::piped()).spawn().unwrap();
    let (mut running, _) = host.spawn(A, "spin", &["hold=64", "loop", "input"]);
    let (other, _) = host.spawn(B, "spin", &["hold=64", "loop"]);
    post(&host, "/v1/vms/a/pause");
    post(&host, "/v1/vms/a/pause");
    assert!(is_off(&host, A), "{}", host.log());
    // A session that starts while the VM is paused can do anything except work on the GPU.
    let mut new = host.command(A, "vectoradd", &[]).stdout(Stdio::piped()).spawn().unwrap();
    let sessions = || number(&stats(&host, A), "/sessions");
    assert!(eventually(NEVER, || sessions() == 2), "{}", host.log());
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(new.try_wait().unwrap(), None, "{}", host.log());
    assert!(goes_on(&host, B), "{}", host.log());
    let metrics = host.ask(&["stats"]);
    assert_eq!(metrics["vms"][0]["paused"], Value::Bool(true), "{metrics}");
    host.ask(&["vm", "resume", A.name]);
    host.ask(&["vm", "resume", A.name]);
    assert!(new.wait().unwrap().success(), "{}", host.log());
    assert!(goes_on(&host, A), "{}", host.log());
    // End the program, which checks that all of its kernels have run.
    drop(running.stdin.take());
    assert!(running.wait().unwrap().success(), "{}", host.log());
    end_running(&host, other);
    reader.kill().unwrap();
    let mut events = String::new();
    reader.stdout.take().unwrap().read_to_string(&mut events).unwrap();
    reader.wait().unwrap();
    for event in ["paused by the control API", "resumed by the control API"] {
        assert_eq!(events.matches(event).count(), 1, "{events}");
    }
}

#[test]
fn the_worker_of_a_program_that_ends_waits_for_a_window_but_not_for_long() {
    let host = Host::start(&[A]);
    let (program, _) = host.spawn(A, "spin", &["hold=64", "loop"]);
    host.ask(&["vm", "pause", A.name]);
    let since = Instant::now();
    end_running(&host, program);
    // The VM is paused, so its worker gets no window and must exit without one.
    assert!(eventually(NEVER, || host.workers(A).is_empty()), "{}", host.log());
    assert!(since.elapsed() >= Duration::from_millis(500), "{:?}", since.elapsed());
}

#[test]
fn a_worker_that_does_not_exit_after_its_session_is_killed() {
    let host = Host::start(&[A]);
    let (program, _) = host.spawn(A, "spin", &["hold=64", "loop"]);
    let workers = host.workers(A);
    let [worker] = workers[..] else { panic!("{workers:?}\n{}", host.log()) };
    signal(worker, libc::SIGSTOP);
    end_running(&host, program);
    assert!(eventually(NEVER, || host.workers(A).is_empty()), "{}", host.log());
    let other = host.run(A, "vectoradd", &[]);
    assert!(other.status.success(), "{other:?}\n{}", host.log());
}

#[test]
fn a_paused_vm_stays_paused_after_a_restart_and_can_be_removed() {
    let mut host = Host::start(&[A, B]);
    host.ask(&["vm", "pause", A.name]);
    host.ask(&["vm", "pause", B.name]);
    host.restart(&[A, B]);
    let mut waits = host.command(A, "vectoradd", &[]).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!((state(&host, A), waits.try_wait().unwrap()), ("paused".into(), None));
    host.ask(&["vm", "resume", A.name]);
    assert!(waits.wait().unwrap().success(), "{}", host.log());
    // Remove a VM while one of its sessions waits for the GPU.
    let mut waits = host.command(B, "vectoradd", &[]);
    let mut waits = waits.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(eventually(NEVER, || number(&stats(&host, B), "/sessions") == 1), "{}", host.log());
    host.ask(&["vm", "rm", "--force", B.name]);
    assert!(!waits.wait().unwrap().success(), "{}", host.log());
}
