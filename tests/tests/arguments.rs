//! Checks that invalid arguments and configuration files cause a clear message and exit code 2, and
//! that the program leaves nothing behind.

use std::path::Path;
use std::process::Command;
use virtio_cuda_tests::{A, Host, dist, processes};

fn refused(program: &str, args: &[&str], says: &str) {
    let output = Command::new(dist().join("bin").join(program)).args(args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{program} {args:?}: {text}");
    assert!(text.contains(says), "{program} {args:?} said: {text}");
}

fn with_config(config: &str, says: &str) {
    let dir = std::env::temp_dir().join(format!("vcuda-arguments-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("bad.toml");
    // Use other directories than the default ones, which another vcudad on this machine may use.
    let text = if config.contains("state_dir") {
        config.to_owned()
    } else {
        format!("state_dir = \"DIR/state\"\ncontrol_socket = \"DIR/control\"\n{config}")
    };
    std::fs::write(&file, text.replace("DIR", dir.to_str().unwrap())).unwrap();
    refused("vcudad", &["--config", file.to_str().unwrap()], says);
    assert!(!Path::new(&dir.join("s")).exists(), "a socket was left behind");
    let left = processes().into_iter().find(|pid| {
        // All processes of the broker have arguments with paths in this directory, so this finds
        // them.
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.contains(dir.to_str().unwrap())
    });
    assert_eq!(left, None, "a process was left behind");
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_bad_file_is_refused_with_its_key() {
    let vm = "[[vm]]\nname = \"a\"\nsocket = \"DIR/s\"\n";
    with_config(&format!("{vm}memory.max = \"1G\"\nmemory.min = \"1G\"\n"), "min");
    with_config(&format!("{vm}memory.max = \"many\"\n"), "many");
    with_config(vm, "memory.max");
    with_config("colour = \"blue\"\n", "colour");
    with_config("state_dir = \"\"\ncontrol_socket = \"\"\n", "[[vm]]");
    with_config(
        &format!("driver_library = \"/nonexistent/libcuda.so.1\"\n{vm}memory.max = \"1G\"\n"),
        "/nonexistent/libcuda.so.1",
    );
}

#[test]
fn bad_arguments_are_refused() {
    refused("vcudad", &["--config", "/nonexistent/file"], "/nonexistent/file");
    refused("vcudad", &["--colour"], "--colour");
    refused("vhost-device-cuda", &[], "--socket-path");
    refused("vhost-device-cuda", &["--socket-path", "/tmp/s", "--memory-max", "x"], "x");
    refused("vhost-device-cuda", &["--socket-path", "/nonexistent/dir/s"], "/nonexistent/dir");
}

#[test]
fn a_socket_in_use_is_left_alone() {
    let host = Host::start(&[A]);
    let socket = host.socket(A);
    refused("vhost-device-cuda", &["--socket-path", socket.to_str().unwrap()], "in use");
    assert!(host.run(A, "vectoradd", &[]).status.success(), "{}", host.log());
}
