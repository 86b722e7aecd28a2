//! The state of the guest's kernel and of the driver, and checks of that state after an attack.

use std::ffi::{CStr, OsStr};
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use protocol::plain::Plain;
use protocol::uapi::{self, Facts, Gpu, IocAlloc, IocQuery, IocStart};
use protocol::windows;
use virtio_cuda_tests::eventually;

const PINNED_MAX: &str = "/sys/module/virtio_cuda/parameters/pinned_max";
const REFERENCES: &str = "/sys/module/virtio_cuda/refcnt";
const KMEMLEAK: &str = "/sys/kernel/debug/kmemleak";
/// Maximum time until the memory and the sessions of ended programs are freed. A session ends
/// within about a second, but the guest may be busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// How much less memory may be free after an attack than before it, in bytes. A leak of a few dozen
/// regions exceeds this.
const TOLERANCE: u64 = 8 << 20;
/// The tolerance with a debug kernel, in bytes. It's larger because such a kernel records
/// allocations and delays the reuse of memory.
const TOLERANCE_OF_DEBUG_KERNEL: u64 = 64 << 20;

/// Writes a line to the kernel's log. Only warnings after this line count.
pub fn mark_log() {
    fs::write("/dev/kmsg", "driver-fuzz: the attack begins").expect("root can write to the log");
}

/// Returns whether the kernel still checks the use of locks (lockdep). It stops checking after the
/// first problem.
pub fn checks_locks() -> bool {
    let text = fs::read_to_string("/proc/lockdep_stats").unwrap_or_default();
    let debug_locks = text.lines().find_map(|line| line.trim().strip_prefix("debug_locks:"));
    debug_locks.is_some_and(|value| value.trim() == "1")
}

/// Returns the amount of free memory in bytes, after asking the kernel to drop its caches.
fn free_memory() -> u64 {
    // SAFETY: the call takes no pointers.
    unsafe { libc::sync() };
    let _ = fs::write("/proc/sys/vm/drop_caches", "3");
    // Free memory consists of the free pages of all zones and the free pages in each CPU's own
    // list.
    let text = fs::read_to_string("/proc/zoneinfo").unwrap_or_default();
    let number = |line: &str| {
        let line = line.trim_start();
        let of_zone = line.strip_prefix("nr_free_pages ");
        of_zone.or(line.strip_prefix("count: "))?.trim().parse::<u64>().ok()
    };
    text.lines().filter_map(number).sum::<u64>() * windows::PAGE_BYTES
}

/// Returns the module's reference count, which is the number of open files of the device.
fn references() -> u64 {
    let text = fs::read_to_string(REFERENCES).unwrap_or_default();
    text.trim().parse().expect("the driver can be unloaded")
}

/// The state before an attack, which is compared with the state after it.
pub struct Before {
    free: u64,
}

impl Before {
    /// Waits until no program uses the device, and records the amount of free memory.
    pub fn new() -> Self {
        eventually(PATIENCE, || references() == 0);
        Self { free: free_memory() }
    }

    /// Checks that everything has been freed after an attack. Returns descriptions of what hasn't.
    pub fn compare(&self, device: &CStr) -> Vec<String> {
        let mut wrong = vec![];
        if !eventually(PATIENCE, || references() == 0) {
            wrong.push(format!("{} files are still open", references()));
        }
        let mut last = (0, 0);
        if !eventually(PATIENCE, || {
            last = usage(device);
            last == (0, 0)
        }) {
            wrong.push(format!("the host still has {} sessions, with {} bytes", last.0, last.1));
        }
        if let Err(error) = pinned_is_zero(device) {
            wrong.push(error);
        }
        let mut free = 0;
        let is_debug = Path::new(KMEMLEAK).exists();
        let tolerance = if is_debug { TOLERANCE_OF_DEBUG_KERNEL } else { TOLERANCE };
        if !eventually(PATIENCE, || {
            free = free_memory();
            free + tolerance >= self.free
        }) {
            wrong.push(format!("{} KiB aren't free again", (self.free - free) >> 10));
        }
        println!("free memory: {} KiB before, {} KiB after", self.free >> 10, free >> 10);
        wrong.extend(leaks());
        wrong
    }
}

fn path(device: &CStr) -> &Path {
    Path::new(OsStr::from_bytes(device.to_bytes()))
}

fn open(device: &CStr) -> fs::File {
    fs::File::options().read(true).write(true).open(path(device)).expect("root can open the device")
}

/// Returns the number of the VM's sessions and the device memory in bytes that they use, as the
/// host reports them.
fn usage(device: &CStr) -> (u32, u64) {
    let file = open(device);
    let mut answer = vec![0u8; uapi::QUERY_MAX];
    let query = IocQuery {
        answer: answer.as_mut_ptr() as u64,
        answer_len: answer.len() as u32,
        reserved: 0,
    };
    // SAFETY: `query` describes a buffer of `answer_len` bytes, and the driver writes at most that
    // many.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), uapi::IOC_QUERY, &query) };
    assert!(done == 0, "QUERY fails: {}", std::io::Error::last_os_error());
    let facts = Facts::from_bytes(&answer).expect("the answer has facts");
    let gpu = Gpu::from_bytes(&answer[size_of::<Facts>()..]).expect("the answer has a GPU");
    (facts.processes, gpu.memory_used)
}

/// Checks that no region counts against the driver's parameter `pinned_max` any more: exactly that
/// amount can be allocated, and not a page more.
fn pinned_is_zero(device: &CStr) -> Result<(), String> {
    const MAX: u64 = 8 << 20;
    let before = fs::read_to_string(PINNED_MAX).expect("the driver has the parameter");
    fs::write(PINNED_MAX, (MAX >> 20).to_string()).expect("root can set the parameter");
    let file = open(device);
    let mut start = IocStart::zeroed();
    let allocate = |len| {
        let mut alloc = IocAlloc { vaddr: windows::PINNED.start, len, ..IocAlloc::zeroed() };
        // SAFETY: the driver reads and writes only this structure.
        unsafe { libc::ioctl(file.as_raw_fd(), uapi::IOC_ALLOC, &mut alloc) == 0 }
    };
    // SAFETY: the driver reads and writes only this structure.
    let started = eventually(PATIENCE, || unsafe {
        libc::ioctl(file.as_raw_fd(), uapi::IOC_START, &mut start) == 0
    });
    let result = if !started {
        Err(format!("no session starts: {}", std::io::Error::last_os_error()))
    } else if allocate(MAX + 4096) {
        Err("pinned_max can be exceeded".into())
    } else if !eventually(PATIENCE, || allocate(MAX)) {
        Err("regions that nobody has still count against pinned_max".into())
    } else {
        Ok(())
    };
    fs::write(PINNED_MAX, before.trim()).expect("root can set the parameter");
    result
}

/// Returns the leaks of the driver that kmemleak has found, if the kernel has it.
fn leaks() -> Vec<String> {
    let found = || fs::read_to_string(KMEMLEAK).unwrap_or_default();
    if !Path::new(KMEMLEAK).exists() {
        return vec![];
    }
    // Scan twice. A scan can miss a leak if an old pointer to it is still on a stack. It can also
    // report memory that isn't leaked, if the only pointer to it is in a register.
    for _ in 0..2 {
        let _ = fs::write(KMEMLEAK, "scan");
    }
    let found = found();
    let is_driver = |leak: &&str| leak.contains("vcuda") || leak.contains("virtio_cuda");
    found
        .split("unreferenced object")
        .filter(is_driver)
        .map(|leak| format!("leaked{leak}"))
        .collect()
}

/// Unloads the driver, loads it again, and waits until the device exists.
pub fn reload(module: &Path, device: &CStr) -> Result<(), String> {
    let error = |doing| format!("cannot {doing}: {}", std::io::Error::last_os_error());
    // SAFETY: the name is a C string.
    if unsafe { libc::syscall(libc::SYS_delete_module, c"virtio_cuda".as_ptr(), libc::O_NONBLOCK) }
        != 0
    {
        return Err(error("unload the driver"));
    }
    let file = fs::File::open(module).map_err(|error| format!("{}: {error}", module.display()))?;
    // SAFETY: the module's parameters are passed as a C string.
    if unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) } != 0 {
        return Err(error("load the driver"));
    }
    match eventually(PATIENCE, || path(device).exists()) {
        true => Ok(()),
        false => Err("the device isn't there after the driver was loaded again".into()),
    }
}

/// Sets `pinned_max`: the maximum amount of memory in MiB that all programs together may share with
/// the device.
pub fn limit_pinned(mib: u64) {
    fs::write(PINNED_MAX, mib.to_string()).expect("root can set the parameter");
}

/// Lets all users open the device and use userfaultfd. Also mounts debugfs, in which root finds
/// kmemleak.
pub fn open_to_all(device: &CStr) {
    // Ignore an error: older kernels don't have this setting, and always allow it.
    let _ = fs::write("/proc/sys/vm/unprivileged_userfaultfd", "1");
    // SAFETY: the arguments are C strings, or null where that is allowed.
    unsafe {
        libc::chmod(device.as_ptr(), 0o666);
        let (kind, at) = (c"debugfs", c"/sys/kernel/debug");
        libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, std::ptr::null());
    }
}

/// Runs a CUDA program, which must pass.
pub fn heartbeat(program: &Path) -> Result<(), String> {
    let output = Command::new(program)
        .env("VIRTIO_CUDA_ARENA_BYTES", "1048576")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{} fails: {output:?}", program.display())),
    }
}
