//! Programs don't notice that another version of vcudad takes over in the same process.

use std::time::Duration;

use virtio_cuda_tests::continuity::{Programs, vms};
use virtio_cuda_tests::{Host, eventually};

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
    let mut host = Host::start(&vms());
    let mut programs = Programs::start(&host);
    for _ in 0..3 {
        replace(&host);
        programs.check(&host);
    }
    programs.end(&host);
    assert!(host.end().success());
}
