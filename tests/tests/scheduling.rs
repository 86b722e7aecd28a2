//! If a worker stops during its window or never yields the GPU, its session ends, and the other VM
//! continues.

use std::process::{Child, Stdio};
use std::time::Duration;

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

/// Returns whether a VM's program is still launching kernels.
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
    // The worker's memory has been freed, and the VM can start programs again.
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
    // The timeout is counted even though the program exited immediately.
    let timeouts = |vm| number(&stats(&host, vm), "/gpus/0/kernel_timeouts");
    assert_eq!((timeouts(A), timeouts(B)), (1, 0), "{}", host.log());
    // The endless kernel ended when its worker was killed.
    assert!(eventually(NEVER, || host.workers(A).is_empty()), "{}", host.log());
    assert!(goes_on(&host, B), "{}", host.log());
    end_running(&host, other);
    // Kernels that don't exceed the timeout still run.
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
    // Each eviction but the last was followed by a return.
    let windows = |vm| number(&stats(&host, vm), "/gpus/0/windows");
    assert!(windows(A) >= 3, "{}", host.log());
    // A program that is killed while its kernel is off the GPU leaves nothing behind.
    end_running(&host, endless);
    assert!(eventually(NEVER, || host.workers(A).is_empty()), "{}", host.log());
    let again = host.run(A, "vectoradd", &[]);
    assert!(again.status.success(), "{again:?}\n{}", host.log());
    end_running(&host, other);
}
