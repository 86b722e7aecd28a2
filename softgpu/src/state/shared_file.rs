//! Memory that several processes map. It is a file in /dev/shm, which its creator removes when it
//! frees the memory or exits. If the creator is killed, the next process that creates such a file
//! removes it.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Once;

use cuda_api::error::{CuError, CuResult};
use cuda_api::ipc::HandleBytes;

use super::mapping::{map, unmap};

const DIRECTORY: &str = "/dev/shm";
const PREFIX: &str = "softgpu-";

/// The kind of contents that a shared file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    Memory,
    Event,
}

impl Contents {
    fn magic(self) -> &'static [u8; 16] {
        match self {
            Self::Memory => b"softgpu memory 1",
            Self::Event => b"softgpu event  1",
        }
    }
}

/// The name of a shared file, which consists of its creator's process ID and a random number.
#[derive(Clone, Copy)]
struct Name {
    process: u32,
    number: u64,
}

impl Name {
    fn path(self) -> PathBuf {
        format!("{DIRECTORY}/{PREFIX}{}-{:016x}", self.process, self.number).into()
    }
}

/// Returns the CUDA IPC handle for a file. `words` are the process ID of its creator, its random
/// number, and its size.
pub(crate) fn handle_of(contents: Contents, words: [u64; 3]) -> HandleBytes {
    let mut handle = [0; 64];
    handle[..16].copy_from_slice(contents.magic());
    for (index, word) in words.into_iter().enumerate() {
        handle[16 + 8 * index..][..8].copy_from_slice(&word.to_le_bytes());
    }
    handle
}

/// Returns the three words in a handle: the process ID of the file's creator, the file's random
/// number, and its size.
pub(crate) fn words_of(handle: &HandleBytes) -> [u64; 3] {
    std::array::from_fn(|index| {
        let bytes = &handle[16 + 8 * index..][..8];
        bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    })
}

/// A file that several processes map.
pub(crate) struct SharedFile {
    file: File,
    name: Name,
    contents: Contents,
    /// The number of bytes that the creator has shared. The file may be longer than that.
    pub(crate) size: u64,
}

impl AsRawFd for SharedFile {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

impl SharedFile {
    /// Creates a file of `len` zero bytes.
    pub(crate) fn create(contents: Contents, size: u64, len: u64) -> CuResult<Self> {
        static AT_EXIT: Once = Once::new();
        AT_EXIT.call_once(|| {
            // SAFETY: `remove_own` has no preconditions, so it may be called at exit. If it can't
            // be registered, another process removes the files later.
            unsafe { libc::atexit(remove_own) };
        });
        remove_where(is_gone);
        let mut number = [0; 8];
        // SAFETY: the buffer has this length.
        let filled = unsafe { libc::getrandom(number.as_mut_ptr().cast(), number.len(), 0) };
        if filled != number.len() as isize {
            return Err(CuError::OPERATING_SYSTEM);
        }
        let name = Name { process: std::process::id(), number: u64::from_ne_bytes(number) };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(name.path());
        let file = file.map_err(|_| CuError::OPERATING_SYSTEM)?;
        let shared = Self { file, name, contents, size };
        shared.file.set_len(len).map_err(|_| CuError::OUT_OF_MEMORY)?;
        Ok(shared)
    }

    /// Opens another process's file. Fails with INVALID_CONTEXT if this process created the file,
    /// and with INVALID_VALUE if the file doesn't exist or its creator has exited.
    pub(crate) fn open(contents: Contents, handle: &HandleBytes) -> CuResult<Self> {
        if handle[..16] != contents.magic()[..] {
            return Err(CuError::INVALID_VALUE);
        }
        let [process, number, size] = words_of(handle);
        let process = u32::try_from(process).map_err(|_| CuError::INVALID_VALUE)?;
        if is_gone(process as i32) {
            return Err(CuError::INVALID_VALUE);
        }
        let name = Name { process, number };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).custom_flags(libc::O_NOFOLLOW).open(name.path());
        let file = file.map_err(|_| CuError::INVALID_VALUE)?;
        let found = file.metadata().map_err(|_| CuError::INVALID_VALUE)?;
        // SAFETY: geteuid takes no arguments.
        let own = found.is_file() && found.uid() == unsafe { libc::geteuid() };
        if !own || size == 0 || size > found.len() {
            return Err(CuError::INVALID_VALUE);
        }
        if process == std::process::id() {
            return Err(CuError::INVALID_CONTEXT);
        }
        Ok(Self { file, name, contents, size })
    }

    /// Returns the bytes with which another process can open the file.
    pub(crate) fn handle(&self) -> HandleBytes {
        handle_of(self.contents, [self.name.process.into(), self.name.number, self.size])
    }

    /// Returns the length of the file.
    pub(crate) fn len(&self) -> CuResult<u64> {
        self.file.metadata().map(|found| found.len()).map_err(|_| CuError::OPERATING_SYSTEM)
    }

    /// Maps the whole file at a new address in the range for device memory.
    pub(crate) fn map_new(&self, len: u64) -> CuResult<u64> {
        let start = map(len)?;
        // SAFETY: `map` has just reserved these addresses, and nothing else uses them.
        unsafe { self.map(start, len) }.inspect_err(|_| {
            // SAFETY: `map` has just reserved these addresses, and nothing uses them yet.
            unsafe { unmap(start, len) };
        })
    }

    /// Maps the whole file at an address. Replaces the mapping that is there. If the address is 0,
    /// Linux chooses an unused one.
    ///
    /// # Safety
    ///
    /// Unless the address is 0, the caller must own the memory at this address, and nothing else
    /// may use it.
    pub(crate) unsafe fn map(&self, address: u64, len: u64) -> CuResult<u64> {
        let fixed = if address == 0 { 0 } else { libc::MAP_FIXED };
        // SAFETY: the caller owns the memory that MAP_FIXED replaces. Without MAP_FIXED, mmap
        // replaces nothing.
        let found = unsafe {
            libc::mmap(
                address as *mut libc::c_void,
                len as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE | fixed,
                self.file.as_raw_fd(),
                0,
            )
        };
        if found == libc::MAP_FAILED {
            return Err(CuError::OUT_OF_MEMORY);
        }
        Ok(found as u64)
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        // After a fork, the child has copies of its parent's objects, but it must not remove the
        // parent's files.
        if self.name.process == std::process::id() {
            let _ = std::fs::remove_file(self.name.path());
        }
    }
}

/// Removes all files that this process has created. Called at exit.
extern "C" fn remove_own() {
    let own = std::process::id() as i32;
    remove_where(|process| process == own);
}

/// Removes the files of each process for whose ID `is_meant` returns true.
fn remove_where(is_meant: impl Fn(i32) -> bool) {
    for entry in std::fs::read_dir(DIRECTORY).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'));
        let process = process.and_then(|(process, _)| process.parse().ok());
        if process.is_some_and(&is_meant) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Returns whether no process has this ID.
pub(crate) fn is_gone(process: i32) -> bool {
    // SAFETY: kill with signal 0 only checks whether the process exists.
    let result = unsafe { libc::kill(process, 0) };
    result < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}
