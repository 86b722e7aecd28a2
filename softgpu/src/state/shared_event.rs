//! The state of an event that several processes record and wait for.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::shared_file::{Contents, SharedFile, is_gone};
use cuda_api::error::{CuError, CuResult};
use cuda_api::ipc::HandleBytes;

/// The interval at which a thread that waits for another process checks the event.
const POLL: Duration = Duration::from_micros(100);
const BYTES: u64 = size_of::<Page>() as u64;

/// The memory that the processes share.
#[repr(C)]
struct Page {
    /// The number of records so far.
    recorded: AtomicU64,
    /// The number of the latest record that was reached.
    reached: AtomicU64,
    /// The process that has recorded the event last.
    recorder: AtomicU32,
}

/// An event that several processes share.
pub(crate) struct SharedEvent {
    file: SharedFile,
    /// A mapping of the file.
    page: NonNull<Page>,
    /// Whether another process has created the event.
    pub(crate) imported: bool,
}

impl SharedEvent {
    fn new(file: SharedFile, imported: bool) -> CuResult<Self> {
        // SAFETY: Linux chooses the address.
        let address = unsafe { file.map(0, BYTES)? };
        let page = NonNull::new(address as *mut Page).ok_or(CuError::OUT_OF_MEMORY)?;
        Ok(Self { file, page, imported })
    }

    fn page(&self) -> &Page {
        // SAFETY: the mapping is as long as the page and aligned, and lives until this object is
        // dropped. All members are atomic, because other processes change them.
        unsafe { self.page.as_ref() }
    }

    /// Creates an event.
    pub(crate) fn create() -> CuResult<Self> {
        Self::new(SharedFile::create(Contents::Event, BYTES, BYTES)?, false)
    }

    /// Opens an event of another process.
    pub(crate) fn open(handle: &HandleBytes) -> CuResult<Self> {
        Self::new(SharedFile::open(Contents::Event, handle)?, true)
    }

    /// Returns the bytes with which another process can open the event.
    pub(crate) fn handle(&self) -> HandleBytes {
        self.file.handle()
    }

    /// Records the event, and returns the number of the record.
    pub(crate) fn record(&self) -> u64 {
        self.page().recorder.store(std::process::id(), Ordering::Relaxed);
        self.page().recorded.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Reports that the stream has reached a record.
    pub(crate) fn reach(&self, record: u64) {
        self.page().reached.fetch_max(record, Ordering::AcqRel);
    }

    /// Returns the number of the latest record.
    pub(crate) fn latest(&self) -> u64 {
        self.page().recorded.load(Ordering::Acquire)
    }

    /// Returns whether a record was reached, or the event was never recorded. If the recording process has exited, nothing will reach
    /// it any more, so nobody needs to wait.
    pub(crate) fn is_reached(&self, record: u64) -> bool {
        self.page().reached.load(Ordering::Acquire) >= record
            || is_gone(self.page().recorder.load(Ordering::Relaxed) as i32)
    }

    /// Waits until a record was reached.
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
// SAFETY: as above.
unsafe impl Sync for SharedEvent {}
