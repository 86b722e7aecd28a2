//! How much memory of each device is allocated.
//!
//! Processes for which `SOFTGPU_MEMORY_FILE` names the same file share the memory of the devices, as
//! they would on a real GPU. Each process counts what it has allocated in its own slot of that file.
//! It holds a lock on the slot, which the kernel releases when the process exits, however it ends.
//! All of these processes can write to the file, so each of them could make the others run out of
//! memory.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cuda_api::error::{CuError, CuResult};

/// Maximum value of `SOFTGPU_DEVICES`.
pub(crate) const MAX_DEVICES: usize = 16;

/// The environment variable with the path of the file, or with `fd:` and the number of an inherited
/// descriptor.
const FILE: &str = "SOFTGPU_MEMORY_FILE";
/// The maximum number of processes that can share the devices' memory.
const SLOTS: usize = 1024;
/// The byte of the file whose lock a process holds while it compares the sum of all slots with the
/// size of a device. The locks of the slots are on the bytes before it.
const SUM: usize = SLOTS;

/// The bytes that one process has allocated on each device of the host.
#[repr(C)]
struct Slot([AtomicU64; MAX_DEVICES]);

/// The contents of the file.
#[repr(C)]
struct Slots([Slot; SLOTS]);

/// A file in which several processes count what they have allocated.
///
/// The locks are POSIX record locks: they belong to the process and not to a descriptor, so a child
/// doesn't inherit them, and another process can find out who holds a lock. Closing any descriptor
/// of the file would release them, so this process has only one.
pub(crate) struct SharedCounts {
    file: File,
    /// The file, which stays mapped until the process exits.
    slots: &'static Slots,
    /// The index of this process's slot.
    own: usize,
    /// Serializes this process's threads, because the file's lock excludes only other processes.
    summing: Mutex<()>,
}

impl SharedCounts {
    /// Opens the file that `SOFTGPU_MEMORY_FILE` names. Returns `None` if the variable isn't set.
    pub(crate) fn from_env() -> CuResult<Option<Arc<Self>>> {
        let Some(name) = std::env::var_os(FILE).filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let name = name.to_string_lossy();
        let opened = match name.strip_prefix("fd:").map(str::parse) {
            // SAFETY: the variable says that this process has inherited the descriptor for this
            // purpose, so nothing else in the process owns it. `fcntl` in `claim` fails if it isn't
            // open.
            Some(Ok(descriptor)) => Ok(unsafe { File::from_raw_fd(descriptor) }),
            Some(Err(_)) => Err(std::io::ErrorKind::InvalidInput.into()),
            None => {
                let mut options = OpenOptions::new();
                options.read(true).write(true).create(true).truncate(false).mode(0o600);
                options.open(&*name)
            }
        };
        match opened.and_then(Self::claim) {
            Ok(counts) => Ok(Some(Arc::new(counts))),
            Err(error) => {
                crate::log::line(&format!("cannot use {FILE}={name}: {error}"));
                Err(CuError::OPERATING_SYSTEM)
            }
        }
    }

    /// Maps the file, and takes a slot that no other process has.
    fn claim(file: File) -> std::io::Result<Self> {
        let size = size_of::<Slots>();
        match file.metadata()?.len() {
            // If another process does this at the same time, the result is the same.
            0 => file.set_len(size as u64)?,
            len if len == size as u64 => {}
            _ => return Err(std::io::Error::other("it isn't a softgpu memory file")),
        }
        // SAFETY: no existing mapping is replaced.
        let address = unsafe {
            let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
            libc::mmap(std::ptr::null_mut(), size, access, kind, file.as_raw_fd(), 0)
        };
        if address == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: the mapping has this size, is never unmapped, and is aligned to a page. `Slots`
        // consists of atomics, so other processes may change it at any time.
        let slots = unsafe { &*address.cast::<Slots>() };
        for own in 0..SLOTS {
            if lock(&file, own, libc::F_WRLCK, libc::F_SETLK).is_ok() {
                // The process that had the slot before may have been killed.
                slots.0[own].0.iter().for_each(|used| used.store(0, Ordering::SeqCst));
                return Ok(Self { file, slots, own, summing: Mutex::new(()) });
            }
        }
        Err(std::io::Error::other(format!("{SLOTS} processes use it, or it can't be locked")))
    }

    /// Calls `act` with the number of bytes that all processes have allocated on a device. No other
    /// process can allocate until `act` returns.
    fn with_sum<T>(&self, place: usize, act: impl FnOnce(u64) -> CuResult<T>) -> CuResult<T> {
        let _alone = self.summing.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |_| CuError::OPERATING_SYSTEM;
        lock(&self.file, SUM, libc::F_WRLCK, libc::F_SETLKW).map_err(failed)?;
        let sum = (0..SLOTS).fold(0u64, |sum, slot| sum.saturating_add(self.used(slot, place)));
        let result = act(sum);
        lock(&self.file, SUM, libc::F_UNLCK, libc::F_SETLK).map_err(failed)?;
        result
    }

    /// Returns the bytes that the process with a slot has allocated, which is 0 if the process has
    /// exited.
    fn used(&self, slot: usize, place: usize) -> u64 {
        let used = self.slots.0[slot].0[place].load(Ordering::SeqCst);
        if used == 0 || slot == self.own || is_locked(&self.file, slot) { used } else { 0 }
    }
}

/// Acquires or releases the lock on a byte of the file. Waits for it if `command` is F_SETLKW.
fn lock(file: &File, byte: usize, kind: libc::c_int, command: libc::c_int) -> std::io::Result<()> {
    let wanted = flock(byte, kind);
    loop {
        // SAFETY: the kernel only reads the structure.
        if unsafe { libc::fcntl(file.as_raw_fd(), command, &wanted) } == 0 {
            return Ok(());
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Returns whether another process holds the lock on a byte of the file. If this can't be found out,
/// returns true.
fn is_locked(file: &File, byte: usize) -> bool {
    let mut found = flock(byte, libc::F_WRLCK);
    // SAFETY: the kernel writes only to this structure.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &mut found) };
    result != 0 || libc::c_int::from(found.l_type) != libc::F_UNLCK
}

fn flock(byte: usize, kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: byte as libc::off_t,
        l_len: 1,
        l_pid: 0,
    }
}

/// The memory of one device.
pub(crate) struct DeviceMemory {
    /// The size in bytes.
    size: u64,
    /// The bytes that this process has allocated, if it has the device to itself.
    alone: AtomicU64,
    /// The file in which it counts them otherwise, and the device's index on the host.
    shared: Option<(Arc<SharedCounts>, usize)>,
}

impl DeviceMemory {
    /// Describes `size` bytes of memory. `place` is the device's index on the host.
    pub(crate) fn new(size: u64, place: usize, shared: Option<&Arc<SharedCounts>>) -> Self {
        let shared = shared.map(|counts| (counts.clone(), place));
        Self { size, alone: AtomicU64::new(0), shared }
    }

    /// Returns the size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Returns the number of free bytes.
    pub(crate) fn free(&self) -> CuResult<u64> {
        let used = match &self.shared {
            None => self.alone.load(Ordering::Relaxed),
            Some((counts, place)) => counts.with_sum(*place, Ok)?,
        };
        Ok(self.size.saturating_sub(used))
    }

    /// Counts `bytes` as allocated. Fails if fewer bytes are free.
    pub(crate) fn charge(&self, bytes: u64) -> CuResult {
        let add = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.size);
        match &self.shared {
            None => {
                let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
                let changed = self.alone.fetch_update(set, fetch, add);
                changed.map(drop).map_err(|_| CuError::OUT_OF_MEMORY)
            }
            Some((counts, place)) => counts.with_sum(*place, |used| {
                add(used).ok_or(CuError::OUT_OF_MEMORY)?;
                counts.slots.0[counts.own].0[*place].fetch_add(bytes, Ordering::SeqCst);
                Ok(())
            }),
        }
    }

    /// Counts `bytes` as free again.
    pub(crate) fn uncharge(&self, bytes: u64) {
        match &self.shared {
            None => self.alone.fetch_sub(bytes, Ordering::Relaxed),
            Some((counts, place)) => {
                counts.slots.0[counts.own].0[*place].fetch_sub(bytes, Ordering::SeqCst)
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::path::PathBuf;
    use std::process::{Child, Command, Stdio};

    const MIB: u64 = 1 << 20;
    /// The number of bytes that a child process allocates.
    const BYTES: &str = "SOFTGPU_TEST_BYTES";

    /// The path of a file, which is removed when this is dropped.
    struct Path(PathBuf);

    impl Path {
        fn new(name: &str) -> Self {
            let own = std::process::id();
            Self(std::env::temp_dir().join(format!("softgpu-test-{own}-{name}")))
        }

        fn open(&self) -> File {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).open(&self.0).unwrap()
        }
    }

    impl Drop for Path {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn memory(counts: &Arc<SharedCounts>, place: usize) -> DeviceMemory {
        DeviceMemory::new(64 * MIB, place, Some(counts))
    }

    /// Allocates memory in another process, and keeps it until the process exits.
    fn allocate_elsewhere(file: &std::path::Path, bytes: u64) -> (Child, String) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "state::device_memory::tests::processes_share_a_device_s_memory"])
            .args(["--nocapture", "--test-threads=1"])
            .env(FILE, file)
            .env(BYTES, bytes.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.find_map(|line| Some(line.ok()?.split_once("charged: ")?.1.to_owned()));
        (child, line.unwrap())
    }

    #[test]
    fn processes_share_a_device_s_memory() {
        if let Ok(bytes) = std::env::var(BYTES) {
            let counts = SharedCounts::from_env().unwrap().unwrap();
            let result = memory(&counts, 1).charge(bytes.parse().unwrap());
            println!("charged: {result:?}");
            std::io::stdout().flush().unwrap();
            let _ = std::io::stdin().read_line(&mut String::new());
            return;
        }
        let file = Path::new("shared");
        let counts = Arc::new(SharedCounts::claim(file.open()).unwrap());
        let (first, second) = (memory(&counts, 0), memory(&counts, 1));
        second.charge(10 * MIB).unwrap();
        let ok = format!("{:?}", Ok::<(), ()>(()));
        let (mut other, said) = allocate_elsewhere(&file.0, 40 * MIB);
        assert_eq!((said, second.free(), first.free()), (ok.clone(), Ok(14 * MIB), Ok(64 * MIB)));
        // Memory that one process has allocated isn't available to the others.
        assert_eq!(second.charge(14 * MIB + 1), Err(CuError::OUT_OF_MEMORY));
        let (mut third, said) = allocate_elsewhere(&file.0, 15 * MIB);
        assert_eq!(said, format!("{:?}", Err::<(), _>(CuError::OUT_OF_MEMORY)));
        drop(third.stdin.take());
        third.wait().unwrap();
        second.charge(14 * MIB).unwrap();
        assert_eq!((second.free(), first.free()), (Ok(0), Ok(64 * MIB)));
        // A killed process leaves nothing behind.
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(second.free(), Ok(40 * MIB));
        second.uncharge(24 * MIB);
        let (mut other, said) = allocate_elsewhere(&file.0, 64 * MIB);
        assert_eq!((said, second.free()), (ok, Ok(0)));
        drop(other.stdin.take());
        other.wait().unwrap();
        assert_eq!(second.free(), Ok(64 * MIB));
    }

    #[test]
    fn other_files_are_refused() {
        let file = Path::new("other");
        file.open().write_all(b"something else").unwrap();
        assert!(SharedCounts::claim(file.open()).is_err());
        assert_eq!(std::fs::read(&file.0).unwrap(), b"something else");
    }
}
