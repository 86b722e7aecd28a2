//! Bad arguments and bad files: one line, exit code 2, nothing left behind.

#[allow(dead_code)]
mod support;

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use support::{Device, softgpu};

const DEVICE: &str = env!("CARGO_BIN_EXE_vhost-device-cuda");
const BROKER: &str = env!("CARGO_BIN_EXE_vcudad");

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("virtio-cuda-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn check(program: &str, arguments: &[&str], says: &str) {
    let (code, said) = refused(program, arguments);
    assert_eq!(code, Some(2), "{arguments:?}: {said}");
    // The log may have lines before it.
    let last = said.lines().last().unwrap_or_default();
    assert!(last.contains(says), "{arguments:?}: {said}");
    assert_eq!(said.lines().filter(|line| line.starts_with("v")).count(), 1, "{said}");
}

#[test]
fn bad_arguments_of_the_device_are_refused() {
    let folder = folder("arguments");
    let path = |name: &str| folder.join(name).display().to_string();
    let (socket, file) = (path("socket"), path("file"));
    std::fs::write(&file, "not a library").unwrap();
    let with = |more: &[&str], says| {
        check(DEVICE, &[&["--socket-path", &socket], more].concat(), says);
        assert!(!folder.join("socket").exists());
    };
    with(&["--memory-max", "5Q"], "5Q");
    with(&["--memory-max", "0"], "memory.max");
    with(&["--colour"], "--colour");
    with(&["--driver-library", &path("none")], "missing");
    with(&["--driver-library", &file], "cannot load");
    with(&["--sessions-max", "0"], "sessions.max");
    with(&["--compute-weight", "10001"], "compute.weight");
    with(&["--compute-weight", "-1"], "from 1 to 10000");
    with(&["--memory-max", "-1"], "'-1' is not a size");
    with(&["--compute-max", "0.5%"], "compute.max");
    with(&["--compute-max", "half"], "'half'");
    with(&["--class", "fast"], "fast");
    with(&["--gpus", "0,0"], "twice");
    with(&["--uid", "4294967295"], "uid: 4294967295 is out of range: it must be from 1");
    with(&["--gid", "4294967295"], "gid: 4294967295 is out of range: it must be from 1");
    check(DEVICE, &["--socket-path", &path("no/socket")], "cannot listen");
    check(DEVICE, &["--socket-path", &file], "not a socket");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "not a library");
    check(DEVICE, &[], "--socket-path");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn bad_files_of_the_broker_are_refused() {
    let folder = folder("files");
    let file = folder.join("vcudad.toml");
    let name = file.display().to_string();
    let socket = folder.join("socket").display().to_string();
    let vm = format!("[[vm]]\nname = \"a\"\nsocket = \"{socket}\"\nmemory.max = \"1G\"\n");
    for (text, says) in [
        (format!("{vm}colour = 1\n"), "colour"),
        (format!("warm = 1\n{vm}"), "warm"),
        (vm.replace("1G", "1Q"), "1Q"),
        ("state_dir = \"\"\ncontrol_socket = \"\"\n".into(), "no [[vm]]"),
        (format!("{vm}compute.weight = 0\n"), "compute.weight: 0"),
        (format!("driver_library = \"/none\"\n{vm}"), "missing"),
    ] {
        std::fs::write(&file, text).unwrap();
        check(BROKER, &["--config", &name], says);
        assert!(!std::path::Path::new(&socket).exists());
    }
    check(BROKER, &["--config", "/none"], "/none");
    // Nowhere, as in the file: what is refused then is something else.
    std::fs::write(&file, "").unwrap();
    let nowhere = ["--config", &name, "--state-dir", "", "--control-socket", ""];
    check(BROKER, &nowhere, "no [[vm]]");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_socket_in_use_is_refused_and_a_stale_one_replaced() {
    let device = Device::start(&[]);
    let socket = device.socket.display().to_string();
    check(DEVICE, &["--socket-path", &socket, "--driver-library", "softgpu"], "in use");
    assert!(device.socket.exists());
    drop(device);
    let folder = folder("stale");
    let stale = folder.join("socket");
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    let socket = stale.display().to_string();
    // It gets past the socket, and is refused for something else.
    check(DEVICE, &["--socket-path", &socket, "--driver-library", "/none"], "missing");
    assert!(!stale.exists());
    std::fs::remove_dir_all(folder).unwrap();
}

/// Runs a program that is to refuse: its exit code and what it said.
fn refused(program: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut child = Command::new(program)
        .args(arguments)
        .env("VIRTIO_CUDA_SOFTGPU", softgpu())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), said)
}
