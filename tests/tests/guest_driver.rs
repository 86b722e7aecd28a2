//! Tests the guest driver in user-mode Linux. Its selftest covers invalid ioctls, forked children,
//! other sessions' regions, limits, and unbinding while sessions are open. Another test program
//! covers the limits per user.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use virtio_cuda_tests::{A, Host, dist};

fn selftest(program: &str, args: &[&str]) {
    let name = format!("vcuda-{program}-{}{}", args.concat(), std::process::id());
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
        .arg(out.join(program))
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
    selftest("selftest", &[]);
}

#[test]
fn no_user_can_take_all_sessions_or_all_memory() {
    selftest("users", &[]);
}

/// A Python program that exports events as several users until the device refuses. Its processes
/// keep their exports until all of them are done. They also try to pass as another user.
const HOARD: &str = r#"
import os, socket, subprocess, sys
started = []
for name, user, most in [("first", 1001, 9999), ("second", 1001, 1), ("other", 1002, 3), ("root", 0, 3)]:
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([sys.argv[1], "--peer", "ipc::hoarder"], stdin=theirs,
        stdout=subprocess.PIPE, user=user, group=user, extra_groups=[], text=True,
        env=os.environ | {"VIRTIO_CUDA_USER": "1002"})
    ours.send(most.to_bytes(4, "little"))
    print(name, process.stdout.readline(), flush=True)
    started.append((process, ours))
for process, ours in started:
    ours.send(b"1")
    process.wait()
"#;

/// The guest driver reports the user of each session to the host, which limits the exports of each
/// user.
#[test]
fn no_user_can_take_all_exports() {
    let host = Host::start(&[A]);
    let mut uml = host.uml(A);
    uml.args(["--timeout", "300", "--", "python3", "-c", HOARD]);
    let output = uml.arg(dist().join("tests/cuda-conformance")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let expected = ["first Some((6144, ", "second Some((0, ", "other None", "root None"];
    let fits = expected.iter().all(|line| text.contains(line));
    assert!(fits && text.matches("OUT_OF_MEMORY").count() == 2, "{output:?}\n{}", host.log());
    let why = "refused an export: the guest's user 1001 has 6144, the maximum for one";
    assert!(host.log().contains(why), "{}", host.log());
}

/// JAX uses GPUs only if the file /dev/nvidiactl exists, so the device must also have this name.
#[test]
fn the_device_has_the_name_of_nvidias_control_device() {
    let host = Host::start(&[A]);
    let test = ["/bin/sh", "-c", "[ /dev/nvidiactl -ef /dev/virtio-cuda0 ]"];
    let output = host.uml(A).args(["--timeout", "120", "--"]).args(test).output().unwrap();
    assert!(output.status.success(), "{output:?}\n{}", host.log());
}

/// The CDI specification gives a container the device file /dev/nvidiaN for each GPU that the
/// container may use.
#[test]
fn a_container_sees_the_gpus_whose_files_it_has() {
    let host = Host::start(&[A]);
    let program = virtio_cuda_tests::dist().join("programs/static/deviceinfo");
    let script = format!(
        "see() {{ {} | grep -c 'devices: 1'; }}
        see
        ln -s virtio-cuda0 /dev/nvidia3; see
        ln -s virtio-cuda0 /dev/nvidia0; see",
        program.display()
    );
    let test = ["/bin/sh", "-c", &script];
    let library = format!("LD_LIBRARY_PATH={}", virtio_cuda_tests::dist().join("guest").display());
    let mut command = host.uml(A);
    let output = command.args(["--timeout", "120", "--env", &library, "--"]).args(test).output();
    let output = output.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let counts: Vec<_> = text.lines().filter(|line| line.len() == 1).collect();
    assert_eq!(counts, ["1", "0", "1"], "{output:?}\n{}", host.log());
}

#[test]
fn the_device_can_be_unbound_while_sessions_are_live() {
    selftest("selftest", &["unbind"]);
}

/// If the host doesn't respond, programs in the guest don't start, and this message is the only
/// explanation in the guest.
#[test]
fn the_kernel_log_says_that_the_host_does_not_respond() {
    let host = Host::start(&[A]);
    let kill = |signal: &str| Command::new("kill").args([signal, &host.pid().to_string()]).status();
    let program = dist().join("programs/static/vectoradd");
    let script = format!(
        "{} & for i in $(seq 300); do dmesg | grep -q 'has waited 3 s for the host' && \
         echo found && break; sleep 0.1; done; echo searched; wait $!",
        program.display()
    );
    // Wait until the device process runs, because without it, the guest doesn't boot.
    assert!(host.run(A, "vectoradd", &[]).status.success(), "{}", host.log());
    let mut uml = host.uml(A);
    uml.args(["--timeout", "120", "--", "/bin/sh", "-c", &script]).stdout(Stdio::piped());
    assert!(kill("-STOP").unwrap().success());
    let mut uml = uml.spawn().unwrap();
    let mut lines = BufReader::new(uml.stdout.take().unwrap()).lines().map_while(Result::ok);
    let before: Vec<String> =
        lines.by_ref().take_while(|line| !line.contains("searched")).collect();
    assert!(kill("-CONT").unwrap().success());
    assert!(before.iter().any(|line| line.trim() == "found"), "{before:?}\n{}", host.log());
    assert!(lines.any(|line| line.contains("PASS")), "{}", host.log());
    assert!(uml.wait().unwrap().success(), "{}", host.log());
}
