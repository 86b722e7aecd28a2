//! Checks that after a kill -9 of a guest process, a worker, or a VM, other sessions continue, and
//! the memory is freed within a second.

use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::time::{Duration, Instant};
use virtio_cuda_tests::{A, B, Host, dist, eventually, kill_9, roomy};

fn host() -> Host {
    Host::start(&[A, B].map(|vm| roomy(vm).0))
}

/// Returns the free memory in VM A and VM B when no other session exists.
fn idle_memory(host: &Host) -> (u64, u64) {
    (host.settled_memory(A).0, host.memory(B).0)
}

/// Returns whether a condition becomes true within a second. The last check must begin within that
/// second, but may end later, because it may start a program, which is slow on a busy machine.
fn within_a_second(mut is_so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        let is_last = start.elapsed() >= Duration::from_secs(1);
        if is_so() {
            return true;
        }
        if is_last {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Checks that VM A's free memory is back at `idle` MiB within a second.
fn freed_within_a_second(host: &Host, idle: u64) {
    // The query fails as long as the ended VM's connection exists, because the VM's memory isn't
    // sealed, so the device accepts no other front end.
    let freed = within_a_second(|| host.look(A).is_ok_and(|(free, _)| free == idle));
    assert!(freed, "{} of {idle} MiB are free", host.memory(A).0);
}

fn end(mut child: Child) {
    let _ = child.kill();
    child.wait().unwrap();
}

#[test]
fn kill_9_of_a_guest_process_frees_its_memory_and_leaves_the_others_alone() {
    let host = host();
    let idle = idle_memory(&host);
    for mode in ["loop", "forever"] {
        let (victim, _) = host.spawn(A, "spin", &["hold=512", mode]);
        let (mut neighbour, _) = host.spawn(A, "spin", &["hold=64", "loop", "input"]);
        let (mut other_vm, _) = host.spawn(B, "spin", &["hold=64", "loop", "input"]);
        let held = host.memory(A).0;
        assert!(held + 512 + 64 <= idle.0);
        kill_9(victim.id() as i32);
        end(victim);
        // The other program in the VM still has its own memory allocated.
        let freed = within_a_second(|| host.memory(A).0 >= held + 512);
        assert!(freed, "{mode}: not free after a second");
        assert!(neighbour.wait().unwrap().success());
        assert!(other_vm.wait().unwrap().success());
        freed_within_a_second(&host, idle.0);
    }
    assert_eq!(idle_memory(&host), idle);
}

#[test]
fn kill_9_of_a_worker_ends_its_session_alone() {
    let host = host();
    let idle = idle_memory(&host);
    let (mut victim, _) = host.spawn(A, "spin", &["hold=512", "loop"]);
    // Wait until only one worker is left, because those of earlier queries may still be exiting.
    let mut workers = Vec::new();
    let one = eventually(Duration::from_secs(60), || {
        workers = host.workers(A);
        workers.len() == 1
    });
    assert!(one, "{workers:?}\n{}", host.log());
    let (mut neighbour, _) = host.spawn(A, "spin", &["hold=64", "loop", "input"]);
    let (mut other_vm, _) = host.spawn(B, "spin", &["hold=64", "loop", "input"]);
    kill_9(workers[0]);
    let mut status = None;
    let told = eventually(Duration::from_secs(60), || {
        status = victim.try_wait().unwrap();
        status.is_some()
    });
    assert!(told, "the guest process got no error when its session ended");
    assert_eq!(status.and_then(|status| status.code()).map(|code| code != 0), Some(true));
    assert!(neighbour.wait().unwrap().success());
    assert!(other_vm.wait().unwrap().success());
    freed_within_a_second(&host, idle.0);
    assert_eq!(idle_memory(&host), idle);
    assert!(host.log().contains("worker"), "the log names the worker");
}

#[test]
fn kill_9_of_a_vm_frees_its_processes_memory() {
    let host = host();
    let idle = idle_memory(&host);
    let ready = std::env::temp_dir().join(format!("vcuda-ready-{}", std::process::id()));
    let _ = std::fs::remove_file(&ready);
    let spin = dist().join("programs/static/spin");
    let script = format!("exec {} hold=512 loop > {}", spin.display(), ready.display());
    let vm = host.uml(A).args(["--", "/bin/sh", "-c", &script]).spawn().unwrap();
    let runs = eventually(Duration::from_secs(60), || {
        std::fs::read_to_string(&ready).is_ok_and(|text| text.contains("ready"))
    });
    assert!(runs, "the guest's program did not start:\n{}", host.log());
    let (mut other_vm, _) = host.spawn(B, "spin", &["hold=64", "loop", "input"]);
    let kernels: Vec<i32> = virtio_cuda_tests::processes()
        .into_iter()
        .filter(|pid| {
            let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.contains("uml/linux") && line.contains(host.socket(A).to_str().unwrap())
        })
        .collect();
    assert!(!kernels.is_empty());
    for pid in kernels {
        // Ignore errors: killing one process of the VM may have ended others.
        // SAFETY: kill takes no pointers, and this test started the VM's processes.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
    freed_within_a_second(&host, idle.0);
    assert!(other_vm.wait().unwrap().success());
    assert_eq!(idle_memory(&host), idle);
    end(vm);
    let _ = std::fs::remove_file(&ready);
}

#[test]
fn ctrl_c_ends_a_program_with_an_endless_kernel() {
    // Restore the default action of SIGINT, because shells start background commands with SIGINT
    // ignored, and children inherit that.
    // SAFETY: SIG_DFL isn't a handler function.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
    let host = host();
    let idle = idle_memory(&host);
    let (mut program, _) = host.spawn(A, "spin", &["hold=512", "forever"]);
    // SAFETY: kill takes no pointers, and this test started the process.
    assert_eq!(unsafe { libc::kill(program.id() as i32, libc::SIGINT) }, 0);
    let mut status = None;
    let ended = eventually(Duration::from_secs(20), || {
        status = program.try_wait().unwrap();
        status.is_some()
    });
    assert!(ended, "the program is still running");
    assert_eq!(status.and_then(|status| status.signal()), Some(libc::SIGINT));
    freed_within_a_second(&host, idle.0);
}

/// In this test, the program runs in a guest, so it waits in the guest driver when it gets SIGINT.
#[test]
fn ctrl_c_ends_a_program_with_an_endless_kernel_in_a_vm() {
    let host = host();
    let idle = idle_memory(&host);
    let spin = dist().join("programs/static/spin");
    let output = host
        .uml(A)
        .args(["--timeout", "120"])
        // If the program ignored SIGINT, `timeout` would kill it after 20 s, and the exit status
        // would be 137.
        .args(["--", "timeout", "--preserve-status", "--signal=INT", "--kill-after=20", "3"])
        .arg(spin)
        .args(["hold=512", "forever"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(128 + libc::SIGINT), "{output:?}\n{}", host.log());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("spin: ready"), "{text}");
    freed_within_a_second(&host, idle.0);
}
