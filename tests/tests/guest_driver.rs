//! Runs the guest driver's selftest in user-mode Linux. It covers invalid ioctls, forked children,
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

#[test]
fn the_device_can_be_unbound_while_sessions_are_live() {
    selftest(&["unbind"]);
}
