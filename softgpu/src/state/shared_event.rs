//! The state of an interprocess event, which several processes record and wait for.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::shared_file::{Contents, SharedFile, is_gone};
use cuda_api::error::{CuError, CuResult};
use cuda_api::ipc::HandleBytes;

/// The interval at which a thread that waits for another process's record checks whether it was
/// reached.
const POLL: Duration = Duration::from_micros(100);
const BYTES: u64 = size_of::<Page>() as u64;

/// The page of memory that the processes share.
#[repr(C)]
struct Page {
    /// The number of times that the event was recorded.
    recorded: AtomicU64,
    /// The number of the latest record that its stream has reached.
    reached: AtomicU64,
    /// The ID of the process that recorded the event last.
    recorder: AtomicU32,
}

/// An interprocess event, as this process sees it.
pub(crate) struct SharedEvent {
    file: SharedFile,
    /// This process's mapping of the file.
    page: NonNull<Page>,
    /// Whether another process created the event.
    pub(crate) imported: bool,
}

impl SharedEvent {
    fn new(file: SharedFile, imported: bool) -> CuResult<Self> {
        // SAFETY: address 0 lets Linux choose an unused address.
        let address = unsafe { file.map(0, BYTES)? };
        let page = NonNull::new(address as *mut Page).ok_or(CuError::OUT_OF_MEMORY)?;
        Ok(Self { file, page, imported })
    }

    fn page(&self) -> &Page {
        // SAFETY: the mapping is aligned and as long as the page, and it exists until this object
        // is dropped. All members are atomic, so other processes may change them at any time.
        unsafe { self.page.as_ref() }
    }

    /// Creates an interprocess event.
    pub(crate) fn create() -> CuResult<Self> {
        Self::new(SharedFile::create(Contents::Event, BYTES, BYTES)?, false)
    }

    /// Opens an event that another process created.
    pub(crate) fn open(handle: &HandleBytes) -> CuResult<Self> {
        Self::new(SharedFile::open(Contents::Event, handle)?, true)
    }

    /// Returns the bytes with which another process can open the event.
    pub(crate) fn handle(&self) -> HandleBytes {
        self.file.handle()
    }

    /// Starts a record of the event, and returns its number.
    pub(crate) fn record(&self) -> u64 {
        self.page().recorder.store(std::process::id(), Ordering::Relaxed);
        self.page().recorded.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Marks a record as reached by its stream.
    pub(crate) fn reach(&self, record: u64) {
        self.page().reached.fetch_max(record, Ordering::AcqRel);
    }

    /// Returns the number of the latest record.
    pub(crate) fn latest(&self) -> u64 {
        self.page().recorded.load(Ordering::Acquire)
    }

    /// Returns whether the stream has reached a record. Record 0 means that the event was never
    /// recorded, so it counts as reached. If the recording process has exited, the stream never
    /// reaches the record, so this returns true to end the wait.
    pub(crate) fn is_reached(&self, record: u64) -> bool {
        self.page().reached.load(Ordering::Acquire) >= record
            || is_gone(self.page().recorder.load(Ordering::Relaxed) as i32)
    }

    /// Waits until the stream has reached a record.
    pub(crate) fn wait(&self, record: u64) {
        while !self.is_reached(record) {
            std::thread::sleep(POLL);
        }
    }
}

impl Drop for SharedEvent {
    fn drop(&mut self) {
        // SAFETY: this object mapped the page, and nothing else refers to it.
        unsafe { libc::munmap(self.page.as_ptr().cast(), BYTES as usize) };
    }
}

// SAFETY: the mapping belongs to the process, not to a thread, and all members are atomic.
unsafe impl Send for SharedEvent {}
// SAFETY: all members are atomic, so several threads may access the mapping at once.
unsafe impl Sync for SharedEvent {}
