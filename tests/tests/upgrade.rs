//! Programs don't notice that another version of vcudad takes over.

use std::time::Duration;

use virtio_cuda_tests::{A, B, Host, eventually, roomy};

/// Makes another vcudad take over, and waits until it has.
fn replace(host: &Host) {
    let count = || host.log().matches("vcudad took over").count();
    let before = count();
    // SAFETY: kill takes no pointers. The broker hasn't been reaped.
    unsafe { libc::kill(host.pid() as i32, libc::SIGUSR2) };
    let taken = eventually(Duration::from_secs(60), || count() > before);
    assert!(taken, "{}", host.log());
}

#[test]
fn programs_continue_and_their_memory_stays_charged() {
    let mut host = Host::start(&[A, B].map(|vm| roomy(vm).0));
    let idle = (host.settled_memory(A), host.memory(B));
    let (mut a, _) = host.spawn(A, "spin", &["hold=512", "loop", "input"]);
    let (mut b, _) = host.spawn(B, "spin", &["hold=64", "loop", "input"]);
    // Its kernel is taken off the GPU again and again.
    let (mut endless, _) = host.spawn(B, "spin", &["forever"]);
    let held = (host.memory(A), host.memory(B));
    for _ in 0..3 {
        replace(&host);
        assert_eq!((host.memory(A), host.memory(B)), held);
        assert!(host.run(A, "vectoradd", &[]).status.success());
    }
    assert!(endless.try_wait().unwrap().is_none(), "{}", host.log());
    endless.kill().unwrap();
    endless.wait().unwrap();
    for program in [&mut a, &mut b] {
        drop(program.stdin.take());
        assert!(program.wait().unwrap().success(), "{}", host.log());
    }
    let is_free = || (host.look(A).ok(), host.look(B).ok()) == (Some(idle.0), Some(idle.1));
    assert!(eventually(Duration::from_secs(10), is_free), "{}", host.log());
    assert!(host.end().success());
}
