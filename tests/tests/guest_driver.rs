//! Tests of the guest driver in user-mode Linux. Its selftest covers invalid ioctls, forked children,
//! other sessions' regions, limits, and unbinding while sessions are live.

use std::path::Path;
use std::process::Command;
use virtio_cuda_tests::{A, Host};

fn selftest(args: &[&str]) {
    let name = format!("vcuda-selftest-{}{}", args.concat(), std::process::id());
    let out = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&out).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest-driver/selftest");
    let built =
        Command::new("make").arg("-C").arg(folder).arg(format!("OUT={}", out.display())).output();
    assert!(built.as_ref().is_ok_and(|make| make.status.success()), "{built:?}");
    let host = Host::start(&[A]);
    let output = host
        .uml(A)
        .args(["--timeout", "120", "--"])
        .arg(out.join("selftest"))
        .args(args)
        .output()
        .unwrap();
    std::fs::remove_dir_all(&out).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let wrong: Vec<&str> = text.lines().filter(|line| line.starts_with("not ok")).collect();
    assert!(output.status.success() && wrong.is_empty(), "{wrong:#?}\n{output:?}\n{}", host.log());
    assert!(text.contains("selftest: PASS"), "{text}");
}

#[test]
fn the_drivers_selftest_passes() {
    selftest(&[]);
}

/// JAX doesn't look for GPUs without this name.
#[test]
fn the_device_has_the_name_of_nvidias_control_device() {
    let host = Host::start(&[A]);
    let test = ["/bin/sh", "-c", "[ /dev/nvidiactl -ef /dev/virtio-cuda0 ]"];
    let output = host.uml(A).args(["--timeout", "120", "--"]).args(test).output().unwrap();
    assert!(output.status.success(), "{output:?}\n{}", host.log());
}

#[test]
fn the_device_can_be_unbound_while_sessions_are_live() {
    selftest(&["unbind"]);
}
