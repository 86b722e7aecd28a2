//! A host with VMs for end-to-end tests. It runs the staged `vcudad`. It also runs programs as
//! guest programs of the VMs, either directly over vhost-user or in user-mode Linux.
//!
//! `VIRTIO_CUDA_DIST` is the directory of staged files (default: `target/dist`, which `make build`
//! creates). `VIRTIO_CUDA_DRIVER` is the workers' driver library (default: softgpu).

pub mod continuity;
pub mod nvml;
pub mod random;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Returns the directory of staged files.
pub fn dist() -> PathBuf {
    std::env::var_os("VIRTIO_CUDA_DIST")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/dist"), PathBuf::from)
}

/// A VM on the test host. Its settings are in vcudad's configuration file.
#[derive(Clone, Copy, Debug)]
pub struct Vm {
    pub name: &'static str,
    /// The VM's `memory.max`.
    pub memory_max: &'static str,
    /// The uid of the VM's processes on the host.
    pub uid: u32,
}

/// The first of the two VMs that most tests use.
pub const A: Vm = Vm { name: "a", memory_max: "2G", uid: 61_301 };
/// The second of the two VMs that most tests use.
pub const B: Vm = Vm { name: "b", memory_max: "3G", uid: 61_302 };

/// Returns the driver library that workers load.
fn driver() -> String {
    std::env::var("VIRTIO_CUDA_DRIVER").unwrap_or_else(|_| "softgpu".into())
}

/// Returns a VM with a quota for several sessions, and that quota in MiB. On a GPU, the quota is
/// larger, because a context needs half a GiB there.
pub fn roomy(vm: Vm) -> (Vm, u64) {
    let (memory_max, mib) = if driver() == "softgpu" { ("2G", 2048) } else { ("8G", 8192) };
    (Vm { memory_max, ..vm }, mib)
}

/// Returns the path of the file in which the workers' softgpu counts the memory of the host's GPUs.
/// It's beside the host's directory `dir`, in which tests look for what a host leaves behind.
fn softgpu_memory(dir: &Path) -> PathBuf {
    dir.with_extension("memory")
}

/// A running `vcudad` with its VMs. Dropping it stops `vcudad` and its spawner. It panics if
/// softgpu has aborted a worker because of strict mode.
pub struct Host {
    broker: Child,
    /// The spawner, if the test started it separately. `None` if the broker started its own
    /// spawner.
    spawner: Option<Child>,
    dir: PathBuf,
    env: Vec<(String, String)>,
}

impl Host {
    /// Starts `vcudad` with these VMs and waits for their sockets.
    pub fn start(vms: &[Vm]) -> Self {
        Self::start_with(&vms.iter().map(|vm| (*vm, "")).collect::<Vec<_>>())
    }

    /// Does the same as `start`, with additional configuration lines per VM.
    pub fn start_with(vms: &[(Vm, &str)]) -> Self {
        Self::start_in(&[], vms)
    }

    /// Does the same as `start`, with a spawner that the test starts separately, so that it
    /// outlives the broker. If no broker connects within `seconds`, the spawner ends all sessions.
    pub fn start_beside_spawner(vms: &[Vm], seconds: u32) -> Self {
        let vms: Vec<_> = vms.iter().map(|vm| (*vm, "")).collect();
        Self::start_as(&[], &vms, Some(seconds))
    }

    /// Does the same as `start_with`, with additional environment variables for `vcudad`.
    pub fn start_in(env: &[(&str, &str)], vms: &[(Vm, &str)]) -> Self {
        Self::start_as(env, vms, None)
    }

    fn start_as(env: &[(&str, &str)], vms: &[(Vm, &str)], spawner: Option<u32>) -> Self {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("vcuda-test-{}-{count}", std::process::id()));
        // A test run that was killed may have left a directory with this name, which contains stale
        // sockets.
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        // The device processes run as other users, which must be able to reach the sockets in this
        // directory.
        std::fs::set_permissions(&dir, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        let driver = driver();
        let (state, control) = (dir.join("state"), dir.join("control.sock"));
        let mut config = format!(
            "driver_library = \"{driver}\"\nwarm_workers = 2\n\
             state_dir = \"{}\"\ncontrol_socket = \"{}\"\nsocket_folders = [\"{}\"]\n",
            state.display(),
            control.display(),
            dir.display()
        );
        for (vm, settings) in vms {
            config += &format!(
                "[[vm]]\nname = \"{}\"\nsocket = \"{}\"\nmemory.max = \"{}\"\nuid = {}\n{settings}\n",
                vm.name,
                dir.join(vm.name).display(),
                vm.memory_max,
                vm.uid
            );
        }
        std::fs::write(dir.join("vcudad.toml"), config).unwrap();
        // The fake NVML, in a broker without root's privileges, must be able to read this file.
        let softgpu_memory = softgpu_memory(&dir);
        std::fs::write(&softgpu_memory, "").unwrap();
        let softgpu_memory = softgpu_memory.display().to_string();
        let own = [("SOFTGPU_STRICT", "1"), ("SOFTGPU_MEMORY_FILE", &softgpu_memory)];
        let env: Vec<(String, String)> =
            own.iter().chain(env).map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let spawner = spawner.map(|seconds| launch_spawner(&dir, &env, seconds));
        let broker = launch(&dir, &env);
        let mut host = Self { broker, spawner, dir, env };
        let all: Vec<Vm> = vms.iter().map(|(vm, _)| *vm).collect();
        host.wait_until_ready(&all);
        host
    }

    /// Stops the broker, starts another one, and waits for the sockets of these VMs.
    pub fn restart(&mut self, vms: &[Vm]) {
        self.end();
        self.broker = launch(&self.dir, &self.env);
        self.wait_until_ready(vms);
    }

    /// Sends a signal to the broker and waits until it has exited. Its spawner continues to run.
    pub fn kill_broker(&mut self, signal: i32) -> ExitStatus {
        // SAFETY: kill takes no pointers. The child hasn't been reaped, so its pid is valid.
        unsafe { libc::kill(self.broker.id() as i32, signal) };
        self.broker.wait().unwrap()
    }

    /// Starts a broker after [`Self::kill_broker`], and waits until it has taken over the sessions.
    pub fn start_broker(&mut self) {
        let count = |host: &Self| host.log().matches("vcudad took over").count();
        let before = count(self);
        self.broker = launch(&self.dir, &self.env);
        let taken = eventually(Duration::from_secs(60), || {
            assert!(self.broker.try_wait().unwrap().is_none(), "vcudad exited:\n{}", self.log());
            count(self) > before
        });
        assert!(taken, "{}", self.log());
    }

    /// Kills the spawner with SIGKILL, and waits until both the spawner and the broker have exited.
    pub fn kill_spawner(&mut self) {
        let mut spawner = self.spawner.take().expect("the spawner outlives the broker");
        spawner.kill().unwrap();
        spawner.wait().unwrap();
        self.broker.wait().unwrap();
        // Remove the sockets that the killed processes have left. Otherwise, tests could mistake
        // them for those of the next broker.
        for entry in std::fs::read_dir(&self.dir).unwrap() {
            let path = entry.unwrap().path();
            if std::os::unix::fs::FileTypeExt::is_socket(&path.metadata().unwrap().file_type()) {
                std::fs::remove_file(path).unwrap();
            }
        }
    }

    /// Returns the path of the socket of a separately started spawner.
    pub fn spawner_socket(&self) -> PathBuf {
        spawner_socket(&self.dir)
    }

    /// Returns the inode number of the file that contains the broker's record, which the spawner
    /// keeps open. The number changes whenever the broker writes the whole record, but not when it
    /// only appends lines.
    pub fn record(&self) -> u64 {
        let spawner = self.spawner.as_ref().expect("the spawner outlives the broker").id();
        let folder = std::fs::read_dir(format!("/proc/{spawner}/fd")).unwrap();
        let paths = folder.map(|entry| entry.unwrap().path());
        let is_record = |path: &PathBuf| {
            std::fs::read_link(path).is_ok_and(|link| link.starts_with("/memfd:record (deleted)"))
        };
        let record = paths.into_iter().find(is_record).expect("the spawner keeps a record");
        std::os::unix::fs::MetadataExt::ino(&record.metadata().unwrap())
    }

    fn wait_until_ready(&mut self, vms: &[Vm]) {
        let ready = eventually(Duration::from_secs(60), || {
            assert!(self.broker.try_wait().unwrap().is_none(), "vcudad exited:\n{}", self.log());
            self.control().exists() && vms.iter().all(|vm| self.socket(*vm).exists())
        });
        assert!(ready, "the sockets did not appear:\n{}", self.log());
    }

    /// Sends SIGTERM to the broker if it's still running, and waits until it has exited. Does the
    /// same to a spawner that was started separately.
    pub fn end(&mut self) -> ExitStatus {
        if self.exited().is_none() {
            // SAFETY: kill takes no pointers. The child hasn't been reaped, so its pid is valid.
            unsafe { libc::kill(self.broker.id() as i32, libc::SIGTERM) };
        }
        let status = self.broker.wait().unwrap();
        if let Some(mut spawner) = self.spawner.take() {
            // SAFETY: kill takes no pointers. The child hasn't been reaped, so its pid is valid.
            unsafe { libc::kill(spawner.id() as i32, libc::SIGTERM) };
            assert!(spawner.wait().unwrap().success());
        }
        status
    }

    /// Returns how the broker exited, or `None` if it's running.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        self.broker.try_wait().unwrap()
    }

    /// Returns the broker's process ID.
    pub fn pid(&self) -> u32 {
        self.broker.id()
    }

    /// Returns the directory of the broker's configuration, log, state, and sockets.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Adds a line at the top of the broker's configuration file, which applies from the broker's
    /// next start or reload.
    pub fn configure(&self, line: &str) {
        let file = self.dir.join("vcudad.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{line}\n{text}")).unwrap();
    }

    /// Returns the path of the broker's control socket.
    pub fn control(&self) -> PathBuf {
        self.dir.join("control.sock")
    }

    /// Returns a vcudactl command for this host.
    pub fn vcudactl(&self, words: &[&str]) -> Command {
        let mut command = Command::new(dist().join("bin/vcudactl"));
        command.arg("--socket").arg(self.control()).args(words).stdin(Stdio::null());
        command
    }

    /// Runs vcudactl, which must succeed, and parses its JSON output.
    pub fn ask(&self, words: &[&str]) -> Value {
        let output = self.vcudactl(&[&["--json"], words].concat()).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}\n{}", self.log());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// Runs vcudactl, which must fail. Returns its exit code and its error message.
    pub fn refused(&self, words: &[&str]) -> (Option<i32>, String) {
        let output = self.vcudactl(words).output().unwrap();
        assert!(!output.status.success(), "{words:?}: {output:?}");
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    /// Returns the metrics, in Prometheus' text format.
    pub fn metrics(&self) -> String {
        let mut stream = UnixStream::connect(self.control()).unwrap();
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: vcudad\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
        page
    }

    /// Returns the log of the host programs, which includes that of the spawner and of the VMs'
    /// processes.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    /// Returns the path of the VM's vhost-user socket.
    pub fn socket(&self, vm: Vm) -> PathBuf {
        self.dir.join(vm.name)
    }

    /// Returns a command that runs a program as a guest program of the VM. There is no real VM: the
    /// guest library in the program connects to the VM's socket itself.
    pub fn command(&self, vm: Vm, program: &str, args: &[&str]) -> Command {
        self.command_in("static", vm, program, args)
    }

    /// Does the same as `command`, for a program in another directory.
    pub fn command_in(&self, folder: &str, vm: Vm, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(dist().join("programs").join(folder).join(program));
        command
            .args(args)
            .env("LD_LIBRARY_PATH", dist().join("guest"))
            .env("VIRTIO_CUDA_SOCKET", self.socket(vm))
            .stdin(Stdio::null());
        command
    }

    /// Returns a command that runs a program in a user-mode Linux guest of the VM. The caller adds
    /// options of `vcuda-run`, `--`, and the program.
    pub fn uml(&self, vm: Vm) -> Command {
        let dist = dist();
        let mut command = Command::new(dist.join("bin/vcuda-run"));
        command
            .args(["--vmm", "uml", "--mem", "1G", "--socket"])
            .arg(self.socket(vm))
            .arg("--uml-kernel")
            .arg(dist.join("uml/linux"))
            .arg("--module")
            .arg(dist.join("guest/virtio_cuda.ko"))
            .arg("--env")
            .arg(format!("LD_LIBRARY_PATH={}", dist.join("guest").display()))
            .stdin(Stdio::null());
        command
    }

    /// Runs a program as in `command` until it exits.
    pub fn run(&self, vm: Vm, program: &str, args: &[&str]) -> Output {
        self.command(vm, program, args).output().unwrap()
    }

    /// Starts a program as in `command` and waits for its first line of output. Returns the process
    /// and that line.
    pub fn spawn(&self, vm: Vm, program: &str, args: &[&str]) -> (Child, String) {
        let mut command = self.command(vm, program, args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = Vec::new();
        let mut byte = [0];
        let stdout = child.stdout.as_mut().expect("it is piped");
        while stdout.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
            line.push(byte[0]);
        }
        assert!(!line.is_empty(), "{program} {args:?} printed nothing:\n{}", self.log());
        (child, String::from_utf8(line).unwrap())
    }

    /// Does the same as [`Self::memory`], but first waits until the broker has measured the size of
    /// a context. The broker gets the size from NVML within a second or two after the first worker
    /// is ready.
    pub fn settled_memory(&self, vm: Vm) -> (u64, u64) {
        let mut last = self.memory(vm);
        if driver() == "softgpu" {
            return last;
        }
        for _ in 0..10 {
            std::thread::sleep(Duration::from_secs(2));
            let now = self.memory(vm);
            if std::mem::replace(&mut last, now) == now {
                break;
            }
        }
        last
    }

    /// Returns the free and total device memory in MiB, as the driver API reports them to a program
    /// in the VM.
    pub fn memory(&self, vm: Vm) -> (u64, u64) {
        self.look(vm).unwrap_or_else(|output| panic!("{output:?}\n{}", self.log()))
    }

    /// Does the same as `memory`, but if the program can't open the device, returns the program's
    /// output as an error.
    pub fn look(&self, vm: Vm) -> Result<(u64, u64), Output> {
        let output = self.run(vm, "deviceinfo", &[]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let Some(line) = text.lines().find(|line| line.contains("free memory:")) else {
            return Err(output);
        };
        let numbers: Vec<u64> =
            line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        Ok((numbers[0], numbers[1]))
    }

    /// Returns the process ids of the workers that execute the VM's sessions.
    pub fn workers(&self, vm: Vm) -> Vec<i32> {
        self.workers_of(vm.uid)
    }

    /// Returns the process ids of idle workers, which don't have a VM's uid yet.
    pub fn warm_workers(&self) -> Vec<i32> {
        self.workers_of(0)
    }

    /// Returns the process id of the VM's device process.
    pub fn device(&self, vm: Vm) -> Option<i32> {
        self.processes_of("vhost-device-cu", vm.uid).first().copied()
    }

    fn workers_of(&self, uid: u32) -> Vec<i32> {
        self.processes_of("vhost-cuda-work", uid)
    }

    /// Returns the spawner's children that have this name and run as this user. The kernel
    /// truncates names to 15 characters.
    fn processes_of(&self, name: &str, uid: u32) -> Vec<i32> {
        let spawner = self.spawner.as_ref().map(Child::id);
        let spawner = spawner.unwrap_or_else(|| spawner_of(self.broker.id()));
        processes()
            .into_iter()
            .filter(|pid| {
                let path = format!("/proc/{pid}/status");
                let status = std::fs::read_to_string(path).unwrap_or_default();
                let is_named = status.starts_with(&format!("Name:\t{name}\n"));
                // Tests that run at the same time use the same uids, so also check that the process
                // is a child of this host's spawner.
                let ours = status.contains(&format!("PPid:\t{spawner}\n"));
                ours && is_named && status.contains(&format!("Uid:\t{uid}\t"))
            })
            .collect()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.end();
        let log = self.log();
        if std::thread::panicking() {
            eprintln!("--- log of the host ---\n{log}");
        } else {
            // In strict mode, softgpu aborts a worker that uses an object in a way that may crash
            // NVIDIA's driver.
            assert!(!log.contains("SOFTGPU_STRICT"), "a worker was aborted:\n{log}");
        }
        let _ = std::fs::remove_file(softgpu_memory(&self.dir));
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn spawner_socket(dir: &Path) -> PathBuf {
    dir.join("spawner.sock")
}

fn log_to(command: &mut Command, dir: &Path) -> Child {
    let log = std::fs::OpenOptions::new().create(true).append(true).open(dir.join("log")).unwrap();
    command.stdout(log.try_clone().unwrap()).stderr(log);
    command.spawn().expect("cannot start vcudad; run `make build` first")
}

fn launch_spawner(dir: &Path, env: &[(String, String)], seconds: u32) -> Child {
    let mut command = Command::new(dist().join("bin/vhost-cuda-spawner"));
    command.arg("--listen").arg(spawner_socket(dir)).envs(env.iter().cloned());
    let spawner = log_to(command.args(["--without-broker", &seconds.to_string()]), dir);
    let listens = eventually(Duration::from_secs(60), || spawner_socket(dir).exists());
    assert!(listens, "the spawner doesn't listen");
    spawner
}

fn launch(dir: &Path, env: &[(String, String)]) -> Child {
    let mut command = Command::new(dist().join("bin/vcudad"));
    command.arg("--config").arg(dir.join("vcudad.toml")).envs(env.iter().cloned());
    if spawner_socket(dir).exists() {
        command.arg("--spawner").arg(spawner_socket(dir));
    }
    log_to(&mut command, dir)
}

/// Returns the process id of a broker's spawner, whose children are the processes of its VMs.
///
/// # Panics
/// Panics if the broker has no spawner.
pub fn spawner_of(broker: u32) -> u32 {
    let is_spawner = |pid: &i32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.starts_with("Name:\tvhost-cuda-spaw\n")
            && status.contains(&format!("PPid:\t{broker}\n"))
    };
    processes().into_iter().find(is_spawner).expect("the broker has a spawner").unsigned_abs()
}

/// Returns the process IDs of all processes on the machine.
pub fn processes() -> Vec<i32> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// Kills a process with SIGKILL.
pub fn kill_9(pid: i32) {
    // SAFETY: kill takes no pointers; the test started the process.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0, "kill -9 {pid}");
}

/// Polls a condition until it holds or `limit` has passed. Returns whether it held.
pub fn eventually(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
