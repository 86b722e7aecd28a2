//! A host with VMs, for end-to-end tests: `vcudad` from the staged files, and programs run as a
//! VM's guests, through vhost-user or in user-mode Linux.
//!
//! `VIRTIO_CUDA_DIST` names the staged files (`make build` makes `target/dist`);
//! `VIRTIO_CUDA_DRIVER` the driver library that the workers load (softgpu if not set).

pub mod front_end;
pub mod nvml;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Where `make build` staged what is tested.
pub fn dist() -> PathBuf {
    std::env::var_os("VIRTIO_CUDA_DIST")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/dist"), PathBuf::from)
}

/// A VM of the test's host.
#[derive(Clone, Copy, Debug)]
pub struct Vm {
    /// Its name.
    pub name: &'static str,
    /// `memory.max`.
    pub memory_max: &'static str,
    /// The user of its processes.
    pub uid: u32,
}

/// The first of two VMs that most tests have.
pub const A: Vm = Vm { name: "a", memory_max: "2G", uid: 61_301 };
/// The second.
pub const B: Vm = Vm { name: "b", memory_max: "3G", uid: 61_302 };

/// The driver library that the tests are run with.
fn driver() -> String {
    std::env::var("VIRTIO_CUDA_DRIVER").unwrap_or_else(|_| "softgpu".into())
}

/// The VM with room for several sessions, whose contexts take half a GiB each on a GPU and nothing on
/// softgpu; and its quota in MiB.
pub fn roomy(vm: Vm) -> (Vm, u64) {
    let (memory_max, mib) = if driver() == "softgpu" { ("2G", 2048) } else { ("8G", 8192) };
    (Vm { memory_max, ..vm }, mib)
}

/// A running `vcudad` with its VMs; ends with the value.
pub struct Host {
    broker: Child,
    dir: PathBuf,
    env: Vec<(String, String)>,
}

impl Host {
    /// Starts VMs, and waits until their sockets are there.
    pub fn start(vms: &[Vm]) -> Self {
        Self::start_with(&vms.iter().map(|vm| (*vm, "")).collect::<Vec<_>>())
    }

    /// As `start`; each VM with further lines of the configuration.
    pub fn start_with(vms: &[(Vm, &str)]) -> Self {
        Self::start_in(&[], vms)
    }

    /// As `start_with`; `vcudad` with variables in its environment.
    pub fn start_in(env: &[(&str, &str)], vms: &[(Vm, &str)]) -> Self {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("vcuda-test-{}-{count}", std::process::id()));
        // A run that was killed may have left one of this name, and in it sockets that nobody serves.
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        // The devices run as users of their own, and look the socket's folder up.
        std::fs::set_permissions(&dir, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        let driver = driver();
        let (state, control) = (dir.join("state"), dir.join("control.sock"));
        let mut config = format!(
            "driver_library = \"{driver}\"\nwarm_workers = 2\n\
             state_dir = \"{}\"\ncontrol_socket = \"{}\"\n",
            state.display(),
            control.display()
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
        let env: Vec<(String, String)> =
            env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let broker = launch(&dir, &env);
        let mut host = Self { broker, dir, env };
        let all: Vec<Vm> = vms.iter().map(|(vm, _)| *vm).collect();
        host.wait_until_ready(&all);
        host
    }

    /// Ends the broker and starts it again, and waits until these VMs' sockets are there.
    pub fn restart(&mut self, vms: &[Vm]) {
        self.end();
        self.broker = launch(&self.dir, &self.env);
        self.wait_until_ready(vms);
    }

    fn wait_until_ready(&mut self, vms: &[Vm]) {
        let ready = eventually(Duration::from_secs(60), || {
            assert!(self.broker.try_wait().unwrap().is_none(), "vcudad ended:\n{}", self.log());
            self.control().exists() && vms.iter().all(|vm| self.socket(*vm).exists())
        });
        assert!(ready, "the sockets are not there:\n{}", self.log());
    }

    fn end(&mut self) {
        // SAFETY: a signal to our own child, which has not been reaped yet.
        unsafe { libc::kill(self.broker.id() as i32, libc::SIGTERM) };
        let _ = self.broker.wait();
    }

    /// The broker's control socket.
    pub fn control(&self) -> PathBuf {
        self.dir.join("control.sock")
    }

    /// The operator's command line, on this host.
    pub fn vcudactl(&self, words: &[&str]) -> Command {
        let mut command = Command::new(dist().join("bin/vcudactl"));
        command.arg("--socket").arg(self.control()).args(words).stdin(Stdio::null());
        command
    }

    /// Runs vcudactl, which is to succeed, and reads what it prints.
    pub fn ask(&self, words: &[&str]) -> Value {
        let output = self.vcudactl(&[&["--json"], words].concat()).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}\n{}", self.log());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// Runs vcudactl, which is to be refused, and gives its exit code and what it says.
    pub fn refused(&self, words: &[&str]) -> (Option<i32>, String) {
        let output = self.vcudactl(words).output().unwrap();
        assert!(!output.status.success(), "{words:?}: {output:?}");
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    /// What the host's programs have logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    /// The VM's vhost-user socket.
    pub fn socket(&self, vm: Vm) -> PathBuf {
        self.dir.join(vm.name)
    }

    /// A program of the VM's guest, without a VM: the library speaks vhost-user itself.
    pub fn command(&self, vm: Vm, program: &str, args: &[&str]) -> Command {
        self.command_in("static", vm, program, args)
    }

    /// As `command`, of another folder of programs.
    pub fn command_in(&self, folder: &str, vm: Vm, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(dist().join("programs").join(folder).join(program));
        command
            .args(args)
            .env("LD_LIBRARY_PATH", dist().join("guest"))
            .env("VIRTIO_CUDA_SOCKET", self.socket(vm))
            .stdin(Stdio::null());
        command
    }

    /// Runs such a program to its end.
    pub fn run(&self, vm: Vm, program: &str, args: &[&str]) -> Output {
        self.command(vm, program, args).output().unwrap()
    }

    /// Starts such a program, and waits for its first line, which it returns too.
    pub fn spawn(&self, vm: Vm, program: &str, args: &[&str]) -> (Child, String) {
        let mut command = self.command(vm, program, args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = Vec::new();
        let mut byte = [0];
        let stdout = child.stdout.as_mut().expect("it is piped");
        while stdout.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
            line.push(byte[0]);
        }
        assert!(!line.is_empty(), "{program} {args:?} said nothing:\n{}", self.log());
        (child, String::from_utf8(line).unwrap())
    }

    /// As `memory`, once what a context takes is known: NVML tells that of the first that is ready,
    /// within a second or two.
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

    /// Free and total device memory in MiB, as a guest of the VM sees them.
    pub fn memory(&self, vm: Vm) -> (u64, u64) {
        self.look(vm).unwrap_or_else(|output| panic!("{output:?}\n{}", self.log()))
    }

    /// As `memory`; the program's output if the device can't be opened now.
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

    /// The workers that execute sessions of the VM.
    pub fn workers(&self, vm: Vm) -> Vec<i32> {
        self.workers_of(vm.uid)
    }

    /// The workers that wait for a session: they have no user of their own yet.
    pub fn warm_workers(&self) -> Vec<i32> {
        self.workers_of(0)
    }

    fn workers_of(&self, uid: u32) -> Vec<i32> {
        processes()
            .into_iter()
            .filter(|pid| {
                let path = format!("/proc/{pid}/status");
                let status = std::fs::read_to_string(path).unwrap_or_default();
                let is_worker = status.starts_with("Name:\tvhost-cuda-work");
                // Tests that run beside this one have hosts with the same users.
                let ours = status.contains(&format!("PPid:\t{}\n", self.broker.id()));
                ours && is_worker && status.contains(&format!("Uid:\t{uid}\t"))
            })
            .collect()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.end();
        if std::thread::panicking() {
            eprintln!("--- log of the host ---\n{}", self.log());
        }
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn launch(dir: &Path, env: &[(String, String)]) -> Child {
    let log = std::fs::OpenOptions::new().create(true).append(true).open(dir.join("log")).unwrap();
    Command::new(dist().join("bin/vcudad"))
        .arg("--config")
        .arg(dir.join("vcudad.toml"))
        .envs(env.iter().cloned())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .expect("vcudad starts: has `make build` been run?")
}

/// All processes.
pub fn processes() -> Vec<i32> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// Ends a process as `kill -9` does.
pub fn kill_9(pid: i32) {
    // SAFETY: a signal to a process that the test started.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0, "kill -9 {pid}");
}

/// Asks until it is so, or the time is over.
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
