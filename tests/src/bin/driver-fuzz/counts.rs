//! Counts the results of each operation. All attackers count in the same memory, so that the counts
//! remain when an attacker is killed.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

/// An operation that attackers perform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Op {
    Open,
    Dup,
    Close,
    Info,
    Query,
    Start,
    Alloc,
    Pin,
    Release,
    Kick,
    Wait,
    Submit,
    Unknown,
    Map,
    Unmap,
    Move,
    Advise,
    Protect,
    Withhold,
    Fill,
    Read,
    Poll,
    Signal,
    Fork,
    ChildIoctl,
    ChildMap,
}

use Op::*;

/// All operations, with their names in the table and their weights, which determine how often an
/// operation is chosen.
pub const OPS: [(Op, &str, u64); 26] = [
    (Open, "open", 3),
    (Dup, "dup", 2),
    (Close, "close", 2),
    (Info, "INFO", 2),
    (Query, "QUERY", 4),
    (Start, "START", 6),
    (Alloc, "ALLOC", 12),
    (Pin, "PIN", 16),
    (Release, "RELEASE", 8),
    (Kick, "KICK", 8),
    (Wait, "WAIT", 4),
    (Submit, "SUBMIT", 10),
    (Unknown, "unknown ioctl", 1),
    (Map, "mmap", 12),
    (Unmap, "munmap", 4),
    (Move, "mremap", 6),
    (Advise, "madvise", 10),
    (Protect, "mprotect", 3),
    (Withhold, "userfaultfd", 3),
    (Fill, "fill", 10),
    (Read, "read, write, seek", 2),
    (Poll, "poll", 2),
    (Signal, "signal", 4),
    (Fork, "fork", 1),
    // These operations have weight 0, because they aren't chosen. The children that `Fork` starts
    // perform and count them.
    (ChildIoctl, "ioctl in a child", 0),
    (ChildMap, "mmap in a child", 0),
];

/// The ioctls of programs that use the device. For these, the uAPI header lists all errors.
const IOCTLS: [Op; 9] = [Info, Query, Start, Alloc, Pin, Release, Kick, Wait, Submit];
/// The results that every ioctl may have: the errors that the uAPI header lists for all ioctls, and
/// those of the system call itself. EPROTO isn't included, because it occurs only if the device
/// violates the specification.
const DOCUMENTED: [c_int; 11] = [
    0,
    libc::EBADF,
    libc::EFAULT,
    libc::ENOTCONN,
    libc::EPIPE,
    libc::EINVAL,
    libc::EDQUOT,
    libc::ENOMEM,
    libc::EINTR,
    libc::EAGAIN,
    libc::EOPNOTSUPP,
];

/// Number of errno values that are counted separately. Higher values are counted as the last one.
const ERRNOS: usize = 136;

type Table = [[AtomicU64; ERRNOS]; OPS.len()];

/// The counts of all operations' results, in a memory file that processes share.
pub struct Counts {
    table: &'static Table,
    file: c_int,
}

impl Counts {
    /// Creates a file with counts of 0, and maps it.
    pub fn new() -> Self {
        // SAFETY: the name is a C string.
        let file = unsafe { libc::memfd_create(c"counts".as_ptr(), 0) };
        // SAFETY: the call takes no pointers.
        let resized = unsafe { libc::ftruncate(file, size_of::<Table>() as i64) };
        assert!(resized == 0, "no file in memory: {}", std::io::Error::last_os_error());
        Self::inherited(file)
    }

    /// Maps the counts of the parent process, which are in this file.
    pub fn inherited(file: c_int) -> Self {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: this creates a new mapping, which is never unmapped. The file is as long as the
        // table. The table consists of atomic integers, for which all bit patterns are valid.
        let table = unsafe {
            let (null, len) = (std::ptr::null_mut(), size_of::<Table>());
            let at = libc::mmap(null, len, protection, libc::MAP_SHARED, file, 0);
            assert!(at != libc::MAP_FAILED, "no memory: {}", std::io::Error::last_os_error());
            &*at.cast()
        };
        Self { table, file }
    }

    /// Returns the descriptor of the file with the counts, which children inherit.
    pub fn file(&self) -> c_int {
        self.file
    }

    /// Counts a result of an operation: 0 for success, or an errno.
    pub fn add(&self, op: Op, errno: c_int) {
        let index = usize::try_from(errno).unwrap_or(ERRNOS).min(ERRNOS - 1);
        self.table[op as usize][index].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the results of an operation: each errno with its count.
    fn results(&self, op: Op) -> Vec<(c_int, u64)> {
        let counts = self.table[op as usize].iter().map(|count| count.load(Ordering::Relaxed));
        (0..).zip(counts).filter(|(_, count)| *count > 0).collect()
    }

    /// Prints a table with the results of all operations.
    pub fn print(&self, seconds: f64) {
        println!("{:<18} {:>10} {:>9}  results", "operation", "executions", "a second");
        let mut sum = 0;
        for (op, name, _) in OPS {
            let results = self.results(op);
            let all: u64 = results.iter().map(|(_, count)| count).sum();
            let words: Vec<String> = results
                .iter()
                .map(|(errno, count)| format!("{} {count}", errno_name(*errno)))
                .collect();
            println!("{name:<18} {all:>10} {:>9.0}  {}", all as f64 / seconds, words.join(", "));
            sum += all;
        }
        println!("{:<18} {sum:>10} {:>9.0}", "all", sum as f64 / seconds);
    }

    /// Returns descriptions of the results that an operation must not have according to the uAPI
    /// header.
    pub fn wrong(&self) -> Vec<String> {
        let is_wrong = |op: Op, errno: c_int| match op {
            Start => {
                !DOCUMENTED.contains(&errno) && ![libc::EBUSY, libc::EREMOTEIO].contains(&errno)
            }
            Wait => !DOCUMENTED.contains(&errno) && errno != libc::ETIMEDOUT,
            ChildIoctl | ChildMap => ![libc::EPERM, libc::EBADF].contains(&errno),
            _ => IOCTLS.contains(&op) && !DOCUMENTED.contains(&errno),
        };
        let mut wrong = vec![];
        for (op, name, _) in OPS {
            for (errno, count) in self.results(op) {
                if is_wrong(op, errno) {
                    let errno = errno_name(errno);
                    wrong.push(format!(
                        "{name} returned {errno} {count} times, which isn't documented"
                    ));
                }
            }
        }
        wrong
    }
}

fn errno_name(errno: c_int) -> String {
    if errno == 0 {
        return "ok".into();
    }
    // SAFETY: the function returns a static string, or null for an unknown errno.
    let name = unsafe { strerrorname_np(errno) };
    if name.is_null() {
        return errno.to_string();
    }
    // SAFETY: the name isn't null, and it's a C string.
    unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

unsafe extern "C" {
    /// A function of the C library that exists since glibc 2.32.
    fn strerrorname_np(errno: c_int) -> *const std::ffi::c_char;
}
