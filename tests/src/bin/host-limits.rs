//! Checks that a kernel enforces the limits that `vcudad` sets on a VM's processes: `memory.host_max`,
//! `pids.max`, and `cpu.max`. Runs as root in a user-mode Linux guest, whose kernel has all cgroup
//! controllers, and starts a `vcudad` there; tests/tests/host_limits.rs starts it.
//!
//! In each case, one VM reaches its limit, and the programs of another one must pass.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use virtio_cuda_tests::{A, B, Host, Vm, eventually};

const CGROUPS: &str = "/sys/fs/cgroup";
/// How long a step may take.
const PATIENCE: Duration = Duration::from_secs(60);

const MEMORY: Vm = A;
const UNHARMED: Vm = B;
const PIDS: Vm = Vm { name: "c", memory_max: "1G", uid: 61_303 };
const CPU: Vm = Vm { name: "d", memory_max: "1G", uid: 61_304 };

fn main() {
    mount("cgroup2", CGROUPS);
    // Sockets can't be on the host's file system. TMPDIR is /run, since this checkout may be in /tmp.
    mount("tmpfs", "/run");
    // By default, softgpu's device has half of the guest's memory, which is less than the sum of
    // the VMs' `memory.max`.
    let env = [("SOFTGPU_MEMORY", "8G")];
    let vms = [
        (MEMORY, "memory.host_max = \"192M\""),
        (UNHARMED, ""),
        (PIDS, "pids.max = 48"),
        (CPU, "cpu.max = \"20000 100000\""),
    ];
    let host = Host::start_in(&env, &vms);
    memory_is_limited(&host);
    processes_are_limited(&host);
    cpu_time_is_limited(&host);
    println!("host-limits: PASS");
}

fn mount(kind: &str, target: &str) {
    let [kind, target] = [kind, target].map(|text| std::ffi::CString::new(text).unwrap());
    // SAFETY: the arguments are C strings, or null where that is allowed.
    let result =
        unsafe { libc::mount(kind.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
    assert!(result == 0, "mounting {target:?}: {}", std::io::Error::last_os_error());
}

/// Returns the directory of a VM's cgroup.
fn cgroup(host: &Host, vm: Vm) -> PathBuf {
    Path::new(CGROUPS).join(format!("virtio-cuda-{}/vm-{}", host.pid(), vm.name))
}

/// Returns a number from a file of a VM's cgroup. `key` is empty if the file contains nothing else.
fn number(host: &Host, vm: Vm, file: &str, key: &str) -> u64 {
    let path = cgroup(host, vm).join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let value = text.lines().find_map(|line| match line.split_once(' ') {
        Some((name, value)) => (name == key).then_some(value),
        None => key.is_empty().then_some(line),
    });
    let value = value.unwrap_or_else(|| panic!("{path:?} has no {key}: {text}"));
    value.parse().unwrap_or_else(|_| panic!("{path:?}: {text}"))
}

fn passes(host: &Host, vm: Vm) {
    let output = host.run(vm, "vectoradd", &[]);
    assert!(output.status.success(), "VM {}: {output:?}\n{}", vm.name, host.log());
}

/// softgpu's device memory is memory of the worker.
fn memory_is_limited(host: &Host) {
    passes(host, MEMORY);
    let (mut small, _) = host.spawn(MEMORY, "spin", &["fill=16", "idle"]);
    let large = host.run(MEMORY, "spin", &["fill=512", "idle", "1"]);
    let says = String::from_utf8_lossy(&large.stderr);
    assert!(!large.status.success(), "the limit is exceeded: {large:?}\n{}", host.log());
    assert!(says.contains("cudaErrorDevicesUnavailable"), "{says}\n{}", host.log());
    assert!(number(host, MEMORY, "memory.events", "oom_kill") > 0);
    let peak = number(host, MEMORY, "memory.peak", "");
    assert!(peak <= 192 << 20, "{peak}");
    // Only the largest worker has ended.
    assert_eq!(small.try_wait().unwrap(), None, "{}", host.log());
    small.kill().unwrap();
    small.wait().unwrap();
    for vm in [MEMORY, UNHARMED] {
        passes(host, vm);
    }
    println!("memory.host_max: the kernel ended a worker at {} MiB", peak >> 20);
}

fn processes_are_limited(host: &Host) {
    passes(host, PIDS);
    let mut programs: Vec<Child> = vec![];
    let failed = (0..48).find_map(|_| {
        let mut program = host.command(PIDS, "spin", &["loop"]);
        let program = program.stdout(Stdio::piped()).stderr(Stdio::piped());
        programs.push(program.spawn().unwrap());
        std::thread::sleep(Duration::from_millis(300));
        let index =
            programs.iter_mut().position(|program| program.try_wait().unwrap().is_some())?;
        Some(programs.remove(index).wait_with_output().unwrap())
    });
    let failed: Output = failed.unwrap_or_else(|| panic!("all programs run\n{}", host.log()));
    assert!(!failed.status.success(), "{failed:?}");
    let limited = eventually(PATIENCE, || number(host, PIDS, "pids.events", "max") > 0);
    assert!(limited, "{failed:?}\n{}", host.log());
    let peak = number(host, PIDS, "pids.peak", "");
    // The peak can exceed the limit: a worker that was started in advance joins the VM's cgroup
    // with several threads, which the kernel always permits.
    assert!(peak < 2 * 48, "{peak}");
    passes(host, UNHARMED);
    let count = programs.len();
    for mut program in programs {
        program.kill().unwrap();
        program.wait().unwrap();
    }
    let works = eventually(PATIENCE, || host.run(PIDS, "vectoradd", &[]).status.success());
    assert!(works, "nothing runs after the limit was reached\n{}", host.log());
    println!("pids.max: {count} programs ran at a time, with at most {peak} threads");
}

fn cpu_time_is_limited(host: &Host) {
    let (mut program, _) = host.spawn(CPU, "spin", &["loop"]);
    let used = || number(host, CPU, "cpu.stat", "usage_usec");
    let (before, since) = (used(), Instant::now());
    std::thread::sleep(Duration::from_secs(3));
    let (used, elapsed) = (used() - before, since.elapsed().as_micros() as u64);
    assert!(number(host, CPU, "cpu.stat", "nr_throttled") > 0, "{}", host.log());
    // The kernel measures in ticks, so the first periods may use more than their quota.
    assert!(used <= elapsed / 4, "{used} of {elapsed} us");
    passes(host, UNHARMED);
    program.kill().unwrap();
    program.wait().unwrap();
    println!("cpu.max: {used} of {elapsed} us, at most a fifth");
}
