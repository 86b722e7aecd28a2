//! Replaces pages of the program with pages of guest memory, and restores private pages later.
//!
//! The kernel copies the contents. If this library copied them itself, an address sanitizer would
//! end the program, because it doesn't permit reading the bytes between the program's buffers.

use crate::copiers;
use crate::error::TransportError;
use std::mem::ManuallyDrop;
use std::os::fd::RawFd;
use std::sync::{Mutex, PoisonError};

/// The length in bytes of the slices in which several threads copy pages.
const SLICE: usize = 2 << 20;

/// Anonymous private memory that isn't part of the program yet.
pub struct Fresh {
    pub at: *mut u8,
    pub len: usize,
}

impl Fresh {
    /// Maps private memory, and copies a part of a file into it.
    pub fn copy_of(fd: RawFd, offset: u64, len: usize) -> Result<Self, TransportError> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let fresh = Fresh { at: map(len, flags, -1, 0)?, len };
        let start = fresh.at as usize;
        let failed = Mutex::new(None);
        copiers::each_slice(len, SLICE, &|job| {
            let at = start + job.from;
            // Allocate the pages all at once. Without this, each page would cause a page fault.
            // SAFETY: the memory is mapped, and not in use yet.
            unsafe { libc::madvise(at as *mut _, job.len, libc::MADV_POPULATE_WRITE) };
            let offset = offset + job.from as u64;
            if let Err(error) = transfer(libc::SYS_pread64, fd, at, offset, job.len) {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(fresh),
        }
    }

    /// Moves the memory to `vaddr`, replacing any existing mapping there. Doesn't allocate memory,
    /// so it can be called in a forked child.
    ///
    /// # Safety
    /// The caller must own `len` bytes at `vaddr` and allow them to be replaced.
    pub unsafe fn move_to(self, vaddr: usize) -> Result<(), TransportError> {
        let Fresh { at, len } = self;
        std::mem::forget(self);
        // SAFETY: `self` owned the memory at `at`, and the caller owns the range at `vaddr`.
        unsafe { move_to(at, vaddr, len) }
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and nothing else uses it.
        unsafe { libc::munmap(self.at.cast(), self.len) };
    }
}

/// Replaces the pages in a range with pages of a file, into which their contents are copied.
///
/// # Safety
/// The caller must own the range and allow its pages to be replaced.
pub unsafe fn exchange_for(
    vaddr: usize,
    fd: RawFd,
    offset: u64,
    len: usize,
) -> Result<(), TransportError> {
    write_to(fd, vaddr, offset, len)?;
    // SAFETY: the caller owns the range.
    unsafe { share(vaddr, fd, offset, len) }
}

/// Replaces the pages in a range with pages of a file.
///
/// # Safety
/// The same as for [`exchange_for`].
pub unsafe fn share(
    vaddr: usize,
    fd: RawFd,
    offset: u64,
    len: usize,
) -> Result<(), TransportError> {
    let pages = Fresh { at: map(len, libc::MAP_SHARED, fd, offset)?, len };
    // SAFETY: the caller owns the range.
    unsafe { pages.move_to(vaddr) }
}

/// Replaces the pages in a range with anonymous private memory that has the contents of a file.
///
/// # Safety
/// The same as for [`exchange_for`].
pub unsafe fn restore(
    vaddr: usize,
    fd: RawFd,
    offset: u64,
    len: usize,
) -> Result<(), TransportError> {
    // SAFETY: the caller owns the range.
    unsafe { Fresh::copy_of(fd, offset, len)?.move_to(vaddr) }
}

/// Writes memory to a file. Fails if the memory isn't mapped.
pub fn write_to(fd: RawFd, vaddr: usize, offset: u64, len: usize) -> Result<(), TransportError> {
    transfer(libc::SYS_pwrite64, fd, vaddr, offset, len)
}

/// The size of the stack on which pages are replaced.
const STACK: usize = 256 << 10;

/// Runs a function that replaces pages of `len` bytes in total. Runs it on another stack and with
/// signals blocked, so that nothing writes to this thread's stack meanwhile, and the pages can be
/// part of that stack. The function must not panic.
pub fn apart<T>(
    len: usize,
    function: impl FnOnce() -> Result<T, TransportError>,
) -> Result<T, TransportError> {
    // For ranges longer than a slice, helpers copy, too. `keep` ensures that they don't write to
    // the pages that are replaced.
    let _kept = (len > SLICE).then(copiers::keep);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let stack = Fresh { at: map(STACK, flags, -1, 0)?, len: STACK };
    let mut call = Call { function: ManuallyDrop::new(function), result: None };
    let (run, data) = (entry(&call), (&raw mut call).cast());
    // SAFETY: the signal sets are valid, and all bits of a signal set can be 0. `run` gets the
    // address of the `Call` of its own type. If the pages that contain `call` are replaced, their
    // contents are copied.
    unsafe {
        let (mut all, mut earlier): (libc::sigset_t, libc::sigset_t) =
            (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut earlier);
        call_on(stack.at.add(STACK), run, data);
        libc::pthread_sigmask(libc::SIG_SETMASK, &earlier, std::ptr::null_mut());
    }
    call.result.unwrap_or(Err(TransportError::Unsupported { what: "replacing pages" }))
}

struct Call<F, T> {
    function: ManuallyDrop<F>,
    result: Option<Result<T, TransportError>>,
}

type Entry = unsafe extern "C" fn(*mut libc::c_void);

fn entry<F: FnOnce() -> Result<T, TransportError>, T>(_: &Call<F, T>) -> Entry {
    /// # Safety
    /// The argument must be the address of a `Call<F, T>` that hasn't run.
    unsafe extern "C" fn run<F: FnOnce() -> Result<T, TransportError>, T>(call: *mut libc::c_void) {
        let call = call.cast::<Call<F, T>>();
        // SAFETY: the caller passes the address of a valid call that hasn't run. Reading its
        // function doesn't write to the call, whose page the function may replace. The result is
        // written after the function has returned.
        unsafe {
            let function = ManuallyDrop::into_inner((&raw const (*call).function).read());
            let result = function();
            (*call).result = Some(result);
        }
    }
    run::<F, T>
}

/// Calls a function on the stack that ends at `top`.
///
/// # Safety
/// The stack must be large enough for the function, and nothing else may use it. `function` must
/// accept `data`.
unsafe fn call_on(top: *mut u8, function: Entry, data: *mut libc::c_void) {
    // SAFETY: the caller guarantees a valid stack and function. `top` is page-aligned, as the ABI
    // requires. The function preserves the stack pointer and the callee-saved register that holds
    // the old stack pointer.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!(
            "mov r12, rsp",
            "mov rsp, {top}",
            "call {function}",
            "mov rsp, r12",
            top = in(reg) top,
            function = in(reg) function,
            in("rdi") data,
            out("r12") _,
            clobber_abi("C"),
        );
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!(
            "mov x20, sp",
            "mov sp, {top}",
            "blr {function}",
            "mov sp, x20",
            top = in(reg) top,
            function = in(reg) function,
            in("x0") data,
            out("x20") _,
            clobber_abi("C"),
        );
    }
}

/// Maps readable and writable memory at an address that the kernel chooses.
fn map(len: usize, flags: i32, fd: RawFd, offset: u64) -> Result<*mut u8, TransportError> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: without MAP_FIXED, the new mapping can't overlap an existing one.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, fd, offset as i64) };
    if at == libc::MAP_FAILED {
        return Err(TransportError::last("mmap"));
    }
    Ok(at.cast())
}

/// Moves a mapping of `len` bytes to `vaddr`, replacing any existing mapping there.
///
/// # Safety
/// The caller must own both ranges.
unsafe fn move_to(from: *mut u8, vaddr: usize, len: usize) -> Result<(), TransportError> {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: the caller owns both ranges.
    let at = unsafe { libc::mremap(from.cast(), len, len, flags, vaddr as *mut libc::c_void) };
    if at == libc::MAP_FAILED {
        return Err(TransportError::last("mremap"));
    }
    Ok(())
}

/// Reads a file into memory or writes memory to a file, with `call`. Calls the kernel directly,
/// because address sanitizers check the memory that is passed to the C library's functions.
fn transfer(
    call: libc::c_long,
    fd: RawFd,
    mut vaddr: usize,
    mut offset: u64,
    mut len: usize,
) -> Result<(), TransportError> {
    while len > 0 {
        // SAFETY: the kernel checks that the memory is mapped. Only `copy_of` makes the kernel
        // write to memory, and that memory is a new mapping that nothing else uses.
        let done = unsafe { libc::syscall(call, fd, vaddr, len, offset) };
        let done = match usize::try_from(done) {
            Ok(0) => return Err(TransportError::Unsupported { what: "copying pages" }),
            Ok(done) => done,
            Err(_) if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {
                continue;
            }
            Err(_) => return Err(TransportError::last("copying pages")),
        };
        (vaddr, offset, len) = (vaddr + done, offset + done as u64, len - done);
    }
    Ok(())
}
