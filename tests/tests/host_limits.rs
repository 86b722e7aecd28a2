//! Tests the limits on the processes of a VM with a kernel that enforces them. That's the kernel of
//! a user-mode Linux guest, in which another `vcudad` runs. The program that runs in the guest is
//! src/bin/host-limits.rs.

use virtio_cuda_tests::{A, Host, dist};

#[test]
fn a_kernel_enforces_the_limits_of_a_vms_processes() {
    let host = Host::start(&[A]);
    let dist = dist().canonicalize().unwrap();
    let output = host
        .uml(A)
        .args(["--cpus", "2", "--timeout", "600", "--env"])
        .arg(format!("VIRTIO_CUDA_DIST={}", dist.display()))
        .args(["--env", "VIRTIO_CUDA_DRIVER=softgpu", "--env", "TMPDIR=/run", "--"])
        .arg(env!("CARGO_BIN_EXE_host-limits"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("host-limits: PASS"), "{output:?}");
    print!("{text}");
}
