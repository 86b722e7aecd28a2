//! Checks that programs don't notice it when another version of vcudad takes over in the same
//! process.

use std::time::Duration;

use virtio_cuda_tests::continuity::{Programs, vms};
use virtio_cuda_tests::{Host, eventually};

/// Makes the broker execute its program file again, and waits until the new vcudad has taken over.
fn replace(host: &Host) {
    let count = || host.log().matches("vcudad took over").count();
    let before = count();
    // SAFETY: kill takes no pointers. The broker hasn't been reaped, so its pid is valid.
    unsafe { libc::kill(host.pid() as i32, libc::SIGUSR2) };
    let taken = eventually(Duration::from_secs(60), || count() > before);
    assert!(taken, "{}", host.log());
}

#[test]
fn programs_continue_and_their_memory_stays_charged() {
    let mut host = Host::start(&vms());
    let mut programs = Programs::start(&host);
    for _ in 0..3 {
        replace(&host);
        programs.check(&host);
    }
    programs.end(&host);
    assert!(host.end().success());
}
