//! Checks that a guest process can't read the memory of another guest process.

use std::io::Write;
use virtio_cuda_tests::{A, B, Host, Vm};

fn stdout(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Starts a process in VM `holder` that pins memory, and a kernel in VM `reader` that reads this
/// memory's address. Checks that the kernel fails.
fn peek(host: &Host, holder: Vm, reader: Vm) {
    let (mut hold, address) = host.spawn(holder, "pinnedpeek", &["hold"]);
    let output = host.run(reader, "pinnedpeek", &["read", address.trim()]);
    assert!(
        stdout(&output).contains("cudaErrorIllegalAddress"),
        "{address}: {output:?}\n{}",
        host.log()
    );
    hold.stdin.as_mut().unwrap().flush().unwrap();
    drop(hold.stdin.take());
    assert!(hold.wait().unwrap().success());
}

#[test]
fn a_kernel_cannot_read_another_processs_pinned_memory() {
    let host = Host::start(&[A, B]);
    peek(&host, A, A);
    peek(&host, A, B);
}

#[test]
fn a_kernel_cannot_read_memory_that_was_never_attached() {
    let host = Host::start(&[A]);
    // Addresses in the program's stack and code, in an unmapped page, and in the kernel's half of
    // the address space.
    for address in ["0x7ffffffde000", "0x400000", "0x300000000000", "0xffff888000000000"] {
        let output = host.run(A, "pinnedpeek", &["read", address]);
        assert!(stdout(&output).contains("cudaErrorIllegalAddress"), "{address}: {output:?}");
    }
}

#[test]
fn fresh_device_memory_holds_nothing_of_another_session() {
    let host = Host::start(&[A, B]);
    for (writer, reader) in [(A, A), (A, B)] {
        let fill = host.run(writer, "leak", &["fill", "256"]);
        assert!(fill.status.success(), "{fill:?}\n{}", host.log());
        let look = host.run(reader, "leak", &["look", "256"]);
        assert!(look.status.success(), "{look:?}\n{}", host.log());
    }
}
