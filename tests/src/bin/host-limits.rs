//! Checks that a kernel enforces the limits that `vcudad` sets on a VM's processes:
//! `memory.host_max`, `pids.max`, and `cpu.max`. The program runs as root in a user-mode Linux
//! guest, whose kernel has all cgroup controllers, and starts a `vcudad` in it.
//! tests/tests/host_limits.rs starts the program.
//!
//! In each case, one VM reaches its limit, while the programs of another VM must pass.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use virtio_cuda_tests::{A, B, Host, Vm, eventually};

const CGROUPS: &str = "/sys/fs/cgroup";
/// Maximum time that a step may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The last of the threads that the device process starts for a front end.
const CONNECTION: &str = "connection";

const MEMORY: Vm = A;
const UNHARMED: Vm = B;
const PIDS: Vm = Vm { name: "c", memory_max: "1G", uid: 61_303 };
const CPU: Vm = Vm { name: "d", memory_max: "1G", uid: 61_304 };

fn main() {
    mount("cgroup2", CGROUPS);
    // Mount a file system for sockets, which can't be on the host's file system. TMPDIR is /run and
    // not /tmp, because /tmp may contain this checkout.
    mount("tmpfs", "/run");
    // The default is half of the guest's memory, which is less than the sum of the VMs'
    // `memory.max`.
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
    a_front_end_is_refused_alone(&host);
    a_missing_thread_is_explained(&host);
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

/// Returns a number from a file in a VM's cgroup: the number after `key`, or the only number if
/// `key` is empty.
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

/// Checks `memory.host_max`. With softgpu, device memory is memory of the worker, so programs can
/// reach this limit.
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
    // The kernel has killed only the largest worker, so the small program's worker still runs.
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
    // The peak can exceed the limit: a worker that was started in advance has several threads when
    // it joins the VM's cgroup, and the kernel always permits joining.
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

/// A function that sets a limit so that the VM's device process can use this many more of a
/// resource.
type Set<'a> = &'a dyn Fn(u64);

/// If the device process lacks a thread, a descriptor, or an epoll watch for a front end, it must
/// refuse only that front end. This must be true in each of the steps in which it accepts a front
/// end.
fn a_front_end_is_refused_alone(host: &Host) {
    const WATCHES: &str = "/proc/sys/fs/epoll/max_user_watches";
    let device = host.device(PIDS).unwrap();
    let pids_max = cgroup(host, PIDS).join("pids.max");
    let threads = || number(host, PIDS, "pids.current", "");
    let before = idle_threads(host, PIDS);
    // Don't count the one descriptor that the process keeps at the end of its table.
    let all = fs::read_dir(format!("/proc/{device}/fd")).unwrap().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
    let open = numbers.filter(|number| *number < 10_000).count() as u64;
    let (old, watches) = (descriptors(device, None), fs::read_to_string(WATCHES).unwrap());
    let set_threads = |room: u64| fs::write(&pids_max, (before + room).to_string()).unwrap();
    let set_files = |room: u64| {
        descriptors(device, Some(open + room));
    };
    let set_watches = |room: u64| fs::write(WATCHES, room.to_string()).unwrap();
    // The second value is the smallest tested amount. It's 1 for descriptors, because a process
    // without a free descriptor can't even accept and refuse a front end.
    let limits: [(&str, u64, Set<'_>); 3] = [
        ("pids.max", 0, &set_threads),
        ("RLIMIT_NOFILE", 1, &set_files),
        ("max_user_watches", 0, &set_watches),
    ];
    for (limit, least, set) in limits {
        let enough = (least..64).find(|&room| {
            set(room);
            let served = is_served(host, PIDS);
            let says = || format!("{limit} with {room} left\n{}", host.log());
            assert!(eventually(PATIENCE, || threads() == before), "threads remain: {}", says());
            assert_eq!(host.device(PIDS), Some(device), "the device has ended: {}", says());
            served
        });
        set_threads(48);
        descriptors(device, Some(old));
        fs::write(WATCHES, watches.trim()).unwrap();
        let refused = enough.expect("a front end is served at last") - least;
        assert!(refused > 2, "{limit}: {refused}");
        passes(host, PIDS);
        assert_eq!(idle_threads(host, PIDS), before, "{}", host.log());
        println!("{limit}: {refused} front ends were refused alone");
    }
}

/// If any of the threads for a program can't be started, the program must get errors and never
/// wrong results. Its messages must name the limit, or refer to the log that does.
fn a_missing_thread_is_explained(host: &Host) {
    let pids_max = cgroup(host, PIDS).join("pids.max");
    let threads = || number(host, PIDS, "pids.current", "");
    let before = idle_threads(host, PIDS);
    let enough = (0..64).find(|room| {
        fs::write(&pids_max, (before + room).to_string()).unwrap();
        let mut command = host.command(PIDS, "threads", &[]);
        let output = command.env("VIRTIO_CUDA_LOG", "warn").output().unwrap();
        let ended = eventually(PATIENCE, || threads() == before);
        assert!(ended, "threads remain: {output:?}\n{}", host.log());
        let says = String::from_utf8_lossy(&output.stderr);
        assert!(!says.contains("result == expected"), "{room} left: {says}\n{}", host.log());
        let named = ["pids.max", "the host's log says why"].iter().any(|text| says.contains(text));
        assert!(output.status.success() || named, "{room} left: {says}\n{}", host.log());
        output.status.success()
    });
    fs::write(&pids_max, "48").unwrap();
    let failed = enough.expect("the program runs at last");
    passes(host, PIDS);
    println!("pids.max: {failed} programs failed, and named the limit");
}

/// Waits until a VM has no sessions and no front ends. Returns the number of threads that the VM's
/// processes then have.
fn idle_threads(host: &Host, vm: Vm) -> u64 {
    let device = host.device(vm).unwrap();
    let serves = || has_thread(device, &["vring_worker", "vhost-user", CONNECTION]);
    let idle = eventually(PATIENCE, || host.workers(vm).is_empty() && !serves());
    assert!(idle, "{}", host.log());
    number(host, vm, "pids.current", "")
}

/// Returns whether a process has a thread with one of these names.
fn has_thread(process: i32, names: &[&str]) -> bool {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    let mut found = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    found.any(|name| names.contains(&name.trim()))
}

/// Connects a front end, and returns whether the device process serves it. It may respond to a front
/// end before it starts the last thread, and then refuse it.
fn is_served(host: &Host, vm: Vm) -> bool {
    // VHOST_USER_GET_FEATURES, version 1, without a payload.
    const GET_FEATURES: [u32; 3] = [1, 1, 0];
    let mut front_end = UnixStream::connect(host.socket(vm)).unwrap();
    front_end.set_read_timeout(Some(PATIENCE)).unwrap();
    // Ignore an error, because the device process may already have closed the connection.
    let _ = front_end.write_all(&GET_FEATURES.map(u32::to_ne_bytes).concat());
    let mut is_open = || match front_end.read(&mut [0]) {
        Ok(bytes) => bytes > 0,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
        Err(error) => panic!("neither served nor refused: {error}\n{}", host.log()),
    };
    if !is_open() {
        return false;
    }
    // It has responded. Now, either the last thread starts, or the connection ends.
    let device = host.device(vm).unwrap();
    front_end.set_nonblocking(true).unwrap();
    let mut is_closed = || match front_end.read(&mut [0; 64]) {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    };
    let mut serves = false;
    let is_decided = eventually(PATIENCE, || {
        serves = has_thread(device, &[CONNECTION]);
        serves || is_closed()
    });
    assert!(is_decided, "neither served nor refused\n{}", host.log());
    serves
}

/// Returns a process's limit of descriptors, and changes it to `max` if that isn't `None`.
fn descriptors(pid: i32, max: Option<u64>) -> u64 {
    let mut old = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `old` is writable, and a null pointer means that the limit doesn't change.
    let result = unsafe { libc::prlimit(pid, libc::RLIMIT_NOFILE, std::ptr::null(), &mut old) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    if let Some(max) = max {
        let new = libc::rlimit { rlim_cur: max, ..old };
        // SAFETY: the new limit is readable, and a null pointer means that the old limit isn't
        // returned.
        let result = unsafe { libc::prlimit(pid, libc::RLIMIT_NOFILE, &new, std::ptr::null_mut()) };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    }
    old.rlim_cur
}

fn cpu_time_is_limited(host: &Host) {
    let (mut program, _) = host.spawn(CPU, "spin", &["loop"]);
    let used = || number(host, CPU, "cpu.stat", "usage_usec");
    let (before, since) = (used(), Instant::now());
    std::thread::sleep(Duration::from_secs(3));
    let (used, elapsed) = (used() - before, since.elapsed().as_micros() as u64);
    assert!(number(host, CPU, "cpu.stat", "nr_throttled") > 0, "{}", host.log());
    // The kernel measures CPU time in ticks, so the first periods may use more than their quota.
    // Therefore, allow a quarter instead of a fifth.
    assert!(used <= elapsed / 4, "{used} of {elapsed} us");
    passes(host, UNHARMED);
    program.kill().unwrap();
    program.wait().unwrap();
    println!("cpu.max: {used} of {elapsed} us, at most a fifth");
}
