//! Bad arguments cause a one-line message and exit status 2, and no files are left behind.

use std::os::unix::net::UnixStream;
use std::process::Command;

use host_test_support::refusal::check;
use host_test_support::{Device, Folder, softgpu, wait_for};

const DEVICE: &str = env!("CARGO_BIN_EXE_vhost-device-cuda");

#[test]
fn bad_arguments_of_the_device_are_refused() {
    let folder = Folder::new("arguments");
    let path = |name: &str| folder.join(name).display().to_string();
    let (socket, file) = (path("socket"), path("file"));
    std::fs::write(&file, "not a library").unwrap();
    let with = |more: &[&str], expected| {
        check(DEVICE, &[&["--socket-path", &socket], more].concat(), expected);
        assert!(!folder.join("socket").exists());
    };
    with(&["--memory-max", "5Q"], "5Q");
    with(
        &["--memory-max", "0"],
        "'--memory-max <SIZE>': device memory is allocated in blocks of 2M",
    );
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
    with(&["--socket-group", "no-such-group"], "group 'no-such-group' does not exist");
    check(DEVICE, &["--socket-path", &path("no/socket")], "its directory does not exist");
    check(DEVICE, &["--socket-path", &file], "not a socket");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "not a library");
    check(DEVICE, &[], "--socket-path");
}

#[test]
fn a_socket_in_use_is_refused_and_a_stale_one_replaced() {
    let device = Device::start(&[]);
    let socket = device.socket.display().to_string();
    check(DEVICE, &["--socket-path", &socket, "--driver-library", "softgpu"], "in use");
    assert!(device.socket.exists());
    drop(device);
    let folder = Folder::new("stale");
    let stale = folder.join("socket");
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    let mut device = Command::new(DEVICE)
        .arg("--socket-path")
        .arg(&stale)
        .args(["--driver-library", "softgpu"])
        .env("VIRTIO_CUDA_SOFTGPU", softgpu())
        .spawn()
        .unwrap();
    wait_for("the socket", || UnixStream::connect(&stale).is_ok());
    // SAFETY: `kill` accesses no memory. The child hasn't been waited for, so it still has this ID.
    unsafe { libc::kill(device.id() as libc::pid_t, libc::SIGTERM) };
    assert!(device.wait().unwrap().success());
    assert!(!stale.exists());
}
