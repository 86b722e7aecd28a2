//! A broker for tests, and its client.
#![allow(dead_code, reason = "not every test uses all of it")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use host_test_support::{program, softgpu, wait_for};

pub const BROKER: &str = env!("CARGO_BIN_EXE_vcudad");

/// A broker with two GPUs of 8 GiB each.
pub struct Broker {
    pub child: Child,
    folder: PathBuf,
}

impl Broker {
    pub fn command(folder: &Path, vms: &str) -> Command {
        Self::command_of(Path::new(BROKER), 0, folder, vms)
    }

    pub fn command_of(program: &Path, warm_workers: u32, folder: &Path, vms: &str) -> Command {
        let place = |name: &str| folder.join(name).display().to_string();
        let text = format!(
            "driver_library = \"softgpu\"\nwarm_workers = {warm_workers}\nstate_dir = \"{}\"\n\
             control_socket = \"{}\"\nsocket_folders = [\"{}\", \"{}\"]\n{}",
            place("state"),
            place("control"),
            folder.display(),
            place("gone"),
            vms.replace("DIR", &folder.display().to_string())
        );
        std::fs::write(folder.join("vcudad.toml"), text).unwrap();
        let mut command = Command::new(program);
        command
            .arg("--config")
            .arg(folder.join("vcudad.toml"))
            .env("VIRTIO_CUDA_SOFTGPU", softgpu())
            .env("SOFTGPU_DEVICES", "2")
            .env("SOFTGPU_MEMORY", "8G")
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        command
    }

    /// Starts a broker and waits until its control API accepts connections.
    pub fn start(folder: &Path, vms: &str) -> Self {
        Self::started(folder, Self::command(folder, vms))
    }

    pub fn started(folder: &Path, command: Command) -> Self {
        let log = std::fs::File::create(folder.join("log")).unwrap();
        Self::started_with(folder, command, log)
    }

    /// Starts a broker with this command, whose standard error goes to `log`, and waits until its
    /// control API accepts connections.
    pub fn started_with(folder: &Path, mut command: Command, log: std::fs::File) -> Self {
        let child = command.stderr(log).spawn().unwrap();
        let mut broker = Self { child, folder: folder.to_owned() };
        let since = Instant::now();
        while UnixStream::connect(folder.join("control")).is_err() {
            assert!(broker.child.try_wait().unwrap().is_none(), "{}", broker.log());
            assert!(since.elapsed() < Duration::from_secs(60), "{}", broker.log());
            std::thread::sleep(Duration::from_millis(10));
        }
        broker
    }

    /// Returns the size of the kernel's table of the broker's descriptors.
    pub fn descriptor_table(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
        size.trim().parse().unwrap()
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Sends a request to the control API. Returns the HTTP status and the body.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> (u16, serde_json::Value) {
        self.send(method, path, body).wait()
    }

    /// Sends a request to the control API, without waiting for the reply.
    pub fn send(&self, method: &str, path: &str, body: &str) -> Reply {
        Reply::to(&self.folder.join("control"), method, path, body)
    }

    pub fn add(&self, name: &str, more: &str) -> (u16, serde_json::Value) {
        self.send_add(name, more).wait()
    }

    /// Does the same as [`Self::add`], without waiting for the reply.
    pub fn send_add(&self, name: &str, more: &str) -> Reply {
        let socket = self.folder.join(name);
        let body = format!(r#"{{"name": "{name}", "socket": "{}", {more}}}"#, socket.display());
        self.send("POST", "/v1/vms", &body)
    }

    /// Returns the name, weight and memory.max of each VM that is served, sorted by name.
    pub fn vms(&self) -> Vec<(String, u64, u64)> {
        let (status, vms) = self.ask("GET", "/v1/vms", "");
        assert_eq!(status, 200);
        let of = |vm: &serde_json::Value| {
            let settings = &vm["settings"];
            let number = |value: &serde_json::Value| value.as_u64().unwrap();
            let name = vm["name"].as_str().unwrap().to_owned();
            (name, number(&settings["compute"]["weight"]), number(&settings["memory"]["max"]))
        };
        let vms = vms.as_array().unwrap().iter();
        vms.filter(|vm| vm["state"] != "not_added").map(of).collect()
    }

    pub fn end(mut self) {
        // SAFETY: the child hasn't been reaped, so its process ID can't have been reused.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGTERM) };
        assert!(self.child.wait().unwrap().success(), "{}", self.log());
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("{:.10000}", self.log());
        }
    }
}

/// A spawner that outlives the broker.
pub struct Spawner(Child);

impl Spawner {
    pub fn start(socket: &Path) -> Self {
        let mut command = Command::new(program("vhost-cuda-spawner"));
        command.env("VIRTIO_CUDA_SOFTGPU", softgpu());
        command.env("SOFTGPU_DEVICES", "2").env("SOFTGPU_MEMORY", "8G");
        let child = command.arg("--listen").arg(socket).stderr(Stdio::null()).spawn().unwrap();
        // The socket's file exists before the spawner listens on the socket, so wait until it
        // listens.
        wait_for("the spawner", || host_ipc::listener::in_use().contains(socket));
        Self(child)
    }
}

impl Drop for Spawner {
    fn drop(&mut self) {
        // The spawner ends its processes before it exits.
        // SAFETY: the child hasn't been reaped, so its process ID can't have been reused.
        unsafe { libc::kill(self.0.id() as i32, libc::SIGTERM) };
        let _ = self.0.wait();
    }
}

/// The reply to a request, which may not have arrived.
pub struct Reply(UnixStream);

impl Reply {
    /// Sends a request to this socket.
    pub fn to(socket: &Path, method: &str, path: &str, body: &str) -> Self {
        let mut stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: vcudad\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        Self(stream)
    }

    /// Waits for the end of the connection, and returns everything that was received.
    pub fn text(mut self) -> String {
        let mut text = String::new();
        self.0.read_to_string(&mut text).unwrap();
        text
    }

    /// Waits until everything that was received meets a condition, and returns it.
    pub fn text_when(mut self, is_met: impl Fn(&str) -> bool) -> String {
        let (mut text, mut part) = (String::new(), [0; 4096]);
        while !is_met(&text) {
            let len = self.0.read(&mut part).unwrap();
            assert!(len > 0, "the connection was closed after: {text}");
            text += std::str::from_utf8(&part[..len]).unwrap();
        }
        text
    }

    /// Waits for the HTTP status and the body.
    pub fn wait(mut self) -> (u16, serde_json::Value) {
        let mut answer = String::new();
        self.0.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.split_once("\r\n\r\n").map_or("", |parts| parts.1);
        (status, serde_json::from_str(body).unwrap_or(serde_json::Value::Null))
    }
}

pub const TWO: &str = "[[vm]]\nname = \"a\"\nsocket = \"DIR/a\"\nmemory.max = \"1G\"\n\
                   [[vm]]\nname = \"b\"\nsocket = \"DIR/b\"\nmemory.max = \"1G\"\n";

/// Copies the broker's programs to a directory, with the program `worker` in place of the worker.
pub fn with_worker(folder: &Path, worker: &str) -> PathBuf {
    with_programs(folder, "vhost-device-cuda", worker)
}

/// Does the same as [`with_worker`], and also puts the program `device` in place of the device
/// process.
pub fn with_programs(folder: &Path, device: &str, worker: &str) -> PathBuf {
    for (from, to) in [
        ("vcudad", "vcudad"),
        (device, "vhost-device-cuda"),
        ("vhost-cuda-spawner", "vhost-cuda-spawner"),
        ("vhost-cuda-supervisor", "vhost-cuda-supervisor"),
        (worker, "vhost-cuda-worker"),
    ] {
        std::fs::copy(program(from), folder.join(to)).unwrap();
    }
    std::os::unix::fs::symlink(program("vhost-cuda-worker"), folder.join("real-worker")).unwrap();
    folder.join("vcudad")
}

/// Builds the driver library `libNAME.so` from tests/NAME/NAME.c, in a directory that also contains
/// softgpu's library, to which the built library passes calls.
pub fn build_driver_library(name: &str, folder: &Path) -> PathBuf {
    // The library is linked with libcuda.so.1, so softgpu's library must have that name.
    let softgpu_here = folder.join("libcuda.so.1");
    std::fs::copy(softgpu(), &softgpu_here).unwrap();
    let library = folder.join(format!("lib{name}.so"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/{name}/{name}.c"));
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wall", "-Werror", "-Wl,--no-as-needed,-rpath,$ORIGIN", "-o"])
        .args([&library, &source, &softgpu_here])
        .status();
    assert!(built.unwrap().success());
    library
}
