//! Replaces pages of the program by pages of guest memory, and back.
//!
//! The kernel copies the contents. Copies by this library would end a program under an address
//! sanitizer, which doesn't allow anybody to read what is between a program's buffers.

use crate::copiers;
use crate::error::TransportError;
use std::mem::ManuallyDrop;
use std::os::fd::RawFd;
use std::sync::{Mutex, PoisonError};

/// The length in bytes of the slices in which several threads copy pages.
const SLICE: usize = 2 << 20;

/// Anonymous private memory that isn't in use yet.
pub struct Fresh {
    pub at: *mut u8,
    pub len: usize,
}

impl Fresh {
    /// Maps memory with the contents of a file.
    pub fn copy_of(fd: RawFd, offset: u64, len: usize) -> Result<Self, TransportError> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let fresh = Fresh { at: map(len, flags, -1, 0)?, len };
        let start = fresh.at as usize;
        let failed = Mutex::new(None);
        copiers::each_slice(len, SLICE, &|job| {
            let at = start + job.from;
            // Without this, the kernel would allocate the pages in a page fault for each.
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
    /// so a forked child can call it.
    ///
    /// # Safety
    /// The caller must own `len` bytes there and allow them to be replaced.
    pub unsafe fn move_to(self, vaddr: usize) -> Result<(), TransportError> {
        let Fresh { at, len } = self;
        std::mem::forget(self);
        // SAFETY: this function owns the memory, and the caller the other range.
        unsafe { move_to(at, vaddr, len) }
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // SAFETY: the memory belongs only to this object.
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

/// Runs a function that replaces `len` bytes of pages, on another stack and with signals blocked.
/// The pages can therefore be part of this thread's stack: nothing writes to them meanwhile. The function
/// must not panic.
pub fn apart<T>(
    len: usize,
    function: impl FnOnce() -> Result<T, TransportError>,
) -> Result<T, TransportError> {
    // Other threads copy longer ranges, too. They must not write to these pages, either.
    let _kept = (len > SLICE).then(copiers::keep);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let stack = Fresh { at: map(STACK, flags, -1, 0)?, len: STACK };
    let mut call = Call { function: ManuallyDrop::new(function), result: None };
    let (run, data) = (entry(&call), (&raw mut call).cast());
    // SAFETY: the signal sets are valid, and all bits of a signal set can be 0. `run` gets the call
    // that it is for. Whatever replaces the pages of `call` keeps their contents.
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
        // SAFETY: the caller passes such a call. Its function is read without a change, which would
        // be lost if the function replaced the page. The result is written after that.
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
/// The stack must be large enough, and nothing else may use it. `function` must accept `data`.
unsafe fn call_on(top: *mut u8, function: Entry, data: *mut libc::c_void) {
    // SAFETY: the function returns with the stack pointer that it got, and keeps the register with
    // the old one. `top` is aligned to a page.
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
/// because address sanitizers check the arguments of the C library's functions.
fn transfer(
    call: libc::c_long,
    fd: RawFd,
    mut vaddr: usize,
    mut offset: u64,
    mut len: usize,
) -> Result<(), TransportError> {
    while len > 0 {
        // SAFETY: the kernel checks that the memory is mapped. Only `copy_of` has the kernel write
        // to memory, which is its own.
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
