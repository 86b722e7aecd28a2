//! Handles accesses to mapped files that have become shorter.
//!
//! A program that has registered memory of a shared file, or another process that can write the
//! file, can truncate the file at any time. If the worker then accessed a page beyond the file's
//! end, SIGBUS would end the worker. Instead, a signal handler replaces the page with private
//! memory that contains zeros.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use protocol::windows::PAGE_BYTES;

/// The maximum number of ranges that can be watched at the same time. If an access to any further
/// range hits a page that its file no longer contains, the worker exits.
const MAX: usize = 1024;

/// The start and end of a watched range, or zeros if the entry is unused.
struct Watched {
    start: AtomicUsize,
    end: AtomicUsize,
}

static WATCHED: [Watched; MAX] =
    [const { Watched { start: AtomicUsize::new(0), end: AtomicUsize::new(0) } }; MAX];
/// A lock that is held while the ranges change. The signal handler reads them without the lock.
static CHANGING: Mutex<()> = Mutex::new(());
/// The action for SIGBUS that was in effect before `install`.
static EARLIER: OnceLock<libc::sigaction> = OnceLock::new();

/// A guard. The range is watched while this value exists.
pub struct Watch(&'static Watched);

impl Drop for Watch {
    fn drop(&mut self) {
        let _changing = CHANGING.lock().unwrap_or_else(|error| error.into_inner());
        self.0.end.store(0, Ordering::Release);
        self.0.start.store(0, Ordering::Release);
    }
}

/// Returns whether a file can become shorter.
pub fn can_shrink(file: BorrowedFd<'_>) -> bool {
    // SAFETY: the descriptor is open, and this fcntl takes no further argument, so it accesses no
    // memory.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    seals < 0 || seals & libc::F_SEAL_SHRINK == 0
}

/// Watches a range in which files are mapped as shared memory. Returns `None` if too many ranges
/// are watched.
///
/// # Safety
///
/// The range must stay mapped and must not be used for anything else until the returned value is
/// dropped.
pub unsafe fn watch(start: usize, len: usize) -> Option<Watch> {
    let _changing = CHANGING.lock().unwrap_or_else(|error| error.into_inner());
    let free = WATCHED.iter().find(|range| range.start.load(Ordering::Relaxed) == 0)?;
    free.start.store(start, Ordering::Release);
    free.end.store(start + len, Ordering::Release);
    Some(Watch(free))
}

/// Installs a handler for SIGBUS in this process.
pub fn install() -> io::Result<()> {
    // SAFETY: zero is a valid value for all fields of the structure.
    let (mut action, mut earlier): (libc::sigaction, libc::sigaction) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = on_sigbus;
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: both structures are valid and outlive the call. The handler makes only calls that are
    // safe in a signal handler.
    if unsafe { libc::sigaction(libc::SIGBUS, &action, &mut earlier) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let _ = EARLIER.set(earlier);
    Ok(())
}

extern "C" fn on_sigbus(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid structure, which contains an address for SIGBUS.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    let page = address & !(PAGE_BYTES as usize - 1);
    let is_watched = |range: &Watched| {
        // A range that is being removed doesn't match, because its end is set to 0 first.
        let start = range.start.load(Ordering::Acquire);
        start != 0 && start <= page && page < range.end.load(Ordering::Acquire)
    };
    if code == libc::BUS_ADRERR && WATCHED.iter().any(is_watched) {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: the page is in a watched range. Whoever called `watch` guarantees that the range
        // stays mapped and contains nothing else, so only pages of the truncated file are replaced.
        let mapped = unsafe {
            libc::mmap(page as *mut libc::c_void, PAGE_BYTES as usize, access, flags, -1, 0)
        };
        if mapped != libc::MAP_FAILED {
            return;
        }
    }
    // Restore the earlier action. The access is repeated when this handler returns, and then causes
    // that action.
    if let Some(earlier) = EARLIER.get() {
        // SAFETY: the structure is valid, because sigaction filled it in.
        unsafe { libc::sigaction(libc::SIGBUS, earlier, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, FromRawFd, OwnedFd};

    use super::*;
    use crate::region::{Piece, Region, RegionKind};

    #[test]
    fn a_truncated_file_reads_as_zeros() {
        install().unwrap();
        // SAFETY: the name is a C string. The descriptor is new, so nothing else owns it.
        let file = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"shared".as_ptr(), 0)) };
        let truncate = |len| {
            // SAFETY: ftruncate takes no pointers.
            assert_eq!(unsafe { libc::ftruncate(file.as_raw_fd(), len) }, 0);
        };
        truncate(4 * PAGE_BYTES as i64);
        let piece = Piece { file: file.as_fd(), offset: 0, len: 4 * PAGE_BYTES };
        let region = Region::map(1, RegionKind::User, 0x10_4000_0000, &[piece]).unwrap();
        let byte = |page: usize| region.base().wrapping_add(page * PAGE_BYTES as usize);
        // SAFETY: the region has four pages, so all accessed addresses are mapped.
        unsafe {
            (0..4).for_each(|page| byte(page).write_volatile(7));
            truncate(PAGE_BYTES as i64);
            assert_eq!([0, 1, 3].map(|page| byte(page).read_volatile()), [7, 0, 0]);
            byte(2).write_volatile(8);
            assert_eq!(byte(2).read_volatile(), 8);
        }
    }

    #[test]
    fn ranges_can_be_reused() {
        for _ in 0..2 * MAX {
            // SAFETY: nothing accesses the range, so the signal handler never replaces a page in
            // it.
            assert!(unsafe { watch(0x1000, 0x1000) }.is_some());
        }
    }
}
