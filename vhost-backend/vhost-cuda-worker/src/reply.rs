//! Sends the replies to commands: into the arena, or to the device process for a SUBMIT request. A
//! posted command gets no reply.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use protocol::plain::Plain;
use protocol::ring::Shared;
use protocol::table;
use protocol::uapi;
use protocol::uapi::{Cmd, Reply};

use super::region::Region;
use host_ipc::eventfd::notify;

/// CUDA_ERROR_UNKNOWN, the result of a command whose [`ReplyTo`] was dropped.
const CUDA_ERROR_UNKNOWN: u32 = 999;
/// CUDA_ERROR_INVALID_VALUE, the result of a command whose reply slot is too small.
const CUDA_ERROR_INVALID_VALUE: u32 = 1;
/// The result of a command that can't be executed yet, because the broker must first decide about
/// its memory. Finishing a command with this result sends no reply, but stores the reply channel;
/// see [`take_unfinished`]. This isn't a CUresult.
pub const UNDECIDED: u32 = u32::MAX;
const REPLY_BYTES: usize = size_of::<Reply>();

thread_local! {
    /// The reply channel of a command that was finished with [`UNDECIDED`] on this thread.
    static UNFINISHED: RefCell<Option<ReplyTo>> = const { RefCell::new(None) };
}

/// Takes the reply channel of the command that was just finished with [`UNDECIDED`] on this thread,
/// which is the ring reader's.
pub(super) fn take_unfinished() -> Option<ReplyTo> {
    UNFINISHED.take()
}

/// Sends the reply to one command. It can be used only once, on any thread.
pub struct ReplyTo {
    target: Option<Target>,
    posted: Arc<PostedError>,
    state: u32,
}

enum Target {
    /// The reply goes to a slot in the arena of a RING region. `slot` is the slot's offset in the
    /// arena.
    Arena { ring: Arc<RingRegion>, slot: usize, bytes: usize },
    /// The reply goes to the device process, in response to a SUBMIT request.
    Plain { out: Arc<dyn PlainAnswers>, request: u64, bytes: usize },
    /// The command was posted, so it gets no reply. Its error, if any, is recorded, unless the API
    /// table marks the call as quiet.
    Posted { opcode: u32 },
}

/// Sends replies to SUBMIT requests to the device process.
pub trait PlainAnswers: Send + Sync {
    /// Sends one reply, which consists of a [`Reply`] header and the encoded outputs.
    fn send(&self, request: u64, answer: &[u8]);
}

impl ReplyTo {
    /// Creates the reply channel of a command from the ring. Returns `None` if the reply slot isn't
    /// inside the arena, which violates the protocol.
    pub(super) fn ring(
        ring: &Arc<RingRegion>,
        cmd: &Cmd,
        posted: &Arc<PostedError>,
    ) -> Option<Self> {
        let target = if cmd.flags & uapi::CMD_WAITED == 0 {
            Target::Posted { opcode: cmd.opcode }
        } else {
            let (slot, bytes) = (cmd.reply as usize, cmd.reply_len as usize);
            let fits = slot.checked_add(bytes).is_some_and(|end| end <= ring.arena_len);
            if !fits || bytes < REPLY_BYTES || slot % 8 != 0 {
                return None;
            }
            Target::Arena { ring: ring.clone(), slot, bytes }
        };
        Some(Self { target: Some(target), posted: posted.clone(), state: uapi::REPLY_DONE })
    }

    /// Creates the reply channel of a SUBMIT request. The reply may be up to `bytes` bytes long.
    pub fn plain(
        out: Arc<dyn PlainAnswers>,
        request: u64,
        bytes: usize,
        posted: &Arc<PostedError>,
    ) -> Self {
        let target = Some(Target::Plain { out, request, bytes });
        Self { target, posted: posted.clone(), state: uapi::REPLY_DONE }
    }

    /// Sets the flag in this reply that tells the guest that there is kernel output to fetch.
    pub fn with_output(mut self) -> Self {
        self.state |= uapi::REPLY_OUTPUT;
        self
    }

    /// Returns whether the command was posted, which means that its guest thread doesn't wait for
    /// it.
    pub fn is_posted(&self) -> bool {
        matches!(self.target, Some(Target::Posted { .. }))
    }

    /// Returns the number of bytes of encoded outputs that fit into the reply.
    pub fn room(&self) -> usize {
        match &self.target {
            Some(Target::Arena { bytes, .. } | Target::Plain { bytes, .. }) => {
                bytes.saturating_sub(REPLY_BYTES)
            }
            _ => 0,
        }
    }

    /// Returns the address and length of the guest memory for the encoded outputs, if the reply
    /// goes to the arena. The driver can write large outputs there directly, before
    /// [`ReplyTo::finish_in_place`] is called.
    ///
    /// The guest may write to this memory at any time, so code must not create references to it.
    /// The pointer is valid until this `ReplyTo` is finished or dropped.
    pub fn place(&self) -> Option<(*mut u8, usize)> {
        match &self.target {
            Some(Target::Arena { ring, slot, bytes }) => {
                Some((ring.arena().wrapping_add(slot + REPLY_BYTES), bytes - REPLY_BYTES))
            }
            _ => None,
        }
    }

    /// Sends the CUresult and the encoded outputs. If the outputs don't fit into the reply, sends
    /// CUDA_ERROR_INVALID_VALUE without outputs.
    pub fn finish(mut self, result: u32, answer: &[u8]) {
        if result == UNDECIDED {
            UNFINISHED.set(Some(self));
            return;
        }
        self.send(result, Some(answer), answer.len());
    }

    /// Sends the CUresult and outputs whose `len` bytes have already been written at
    /// [`ReplyTo::place`].
    pub fn finish_in_place(mut self, result: u32, len: usize) {
        self.send(result, None, len);
    }

    fn send(&mut self, result: u32, answer: Option<&[u8]>, len: usize) {
        let Some(target) = self.target.take() else { return };
        match target {
            Target::Posted { opcode } => self.posted.record(opcode, result),
            Target::Arena { ring, slot, bytes } => {
                let (result, answer, len) = if len > bytes - REPLY_BYTES {
                    (CUDA_ERROR_INVALID_VALUE, None, 0)
                } else {
                    (result, answer, len)
                };
                let words = [self.state, result, len as u32, self.posted.take()];
                ring.write_reply(slot, words, answer);
            }
            Target::Plain { out, request, bytes } => {
                let answer = answer.unwrap_or_default();
                let (result, answer) = if REPLY_BYTES + answer.len() > bytes {
                    (CUDA_ERROR_INVALID_VALUE, [].as_slice())
                } else {
                    (result, answer)
                };
                let reply = Reply {
                    state: self.state,
                    result,
                    len: answer.len() as u32,
                    posted_error: self.posted.take(),
                };
                out.send(request, &[reply.as_bytes(), answer].concat());
            }
        }
    }
}

impl Drop for ReplyTo {
    fn drop(&mut self) {
        self.send(CUDA_ERROR_UNKNOWN, Some(&[]), 0);
    }
}

/// A RING region with the eventfd that wakes its guest. The region contains a header page, a ring
/// and an arena.
pub(super) struct RingRegion {
    /// The region, which stays mapped as long as this value exists.
    region: Arc<Region>,
    shared: Shared,
    arena_offset: usize,
    arena_len: usize,
    wake: Arc<OwnedFd>,
}

impl RingRegion {
    pub(super) fn new(
        region: Arc<Region>,
        ring_bytes: usize,
        wake: Arc<OwnedFd>,
    ) -> Result<Self, protocol::ring::BadRing> {
        let arena_offset = uapi::RING_HEADER_BYTES.saturating_add(ring_bytes);
        let Some(arena_len) = region.len().checked_sub(arena_offset) else {
            return Err(protocol::ring::BadRing);
        };
        // SAFETY: the region is page-aligned, and it's long enough for the header and the ring, as
        // was checked above. `region` keeps it mapped as long as this value exists, and every user
        // of the ring holds this value.
        let shared = unsafe { Shared::new(region.base(), ring_bytes)? };
        Ok(Self { region, shared, arena_offset, arena_len, wake })
    }

    /// Returns the shared memory of the ring. It may be used only as long as this value exists.
    pub(super) fn shared(&self) -> Shared {
        self.shared
    }

    fn arena(&self) -> *mut u8 {
        self.region.base().wrapping_add(self.arena_offset)
    }

    /// Wakes the guest process if it's sleeping.
    pub(super) fn wake_guest(&self) {
        if self.shared.must_wake_guest() {
            notify(&*self.wake);
        }
    }

    fn write_reply(
        &self,
        slot: usize,
        [state, result, len, posted]: [u32; 4],
        answer: Option<&[u8]>,
    ) {
        let place = self.arena().wrapping_add(slot);
        let words = place.cast::<u32>();
        if let Some(answer) = answer {
            // SAFETY: `ReplyTo::ring` checked that the slot is in the arena, and `send` checked
            // that the reply fits into the slot. The region is mapped, and there are no Rust
            // references to it.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    answer.as_ptr(),
                    place.add(REPLY_BYTES),
                    answer.len(),
                );
            }
        }
        // SAFETY: `ReplyTo::ring` checked that the slot has room for a `Reply` and is aligned to 8
        // bytes. The slot stays mapped, and the guest accesses it only with atomics.
        unsafe {
            (*words.add(1).cast::<AtomicU32>()).store(result, Ordering::Relaxed);
            (*words.add(2).cast::<AtomicU32>()).store(len, Ordering::Relaxed);
            (*words.add(3).cast::<AtomicU32>()).store(posted, Ordering::Relaxed);
            (*words.cast::<AtomicU32>()).store(state, Ordering::Release);
        }
        self.wake_guest();
    }
}

/// The first error of a posted command that hasn't been reported to the guest yet.
#[derive(Default)]
pub struct PostedError {
    error: AtomicU32,
    /// The ring whose header contains a copy of the error, which the guest can see.
    ring: std::sync::OnceLock<std::sync::Weak<RingRegion>>,
}

impl PostedError {
    pub(super) fn show_in(&self, ring: &Arc<RingRegion>) {
        let _ = self.ring.set(Arc::downgrade(ring));
    }

    fn record(&self, opcode: u32, result: u32) {
        if result == 0 {
            return;
        }
        if let Some(entry) = table::entry(opcode).filter(|entry| entry.quiet) {
            tracing::debug!("{} failed with {result}", entry.name);
            return;
        }
        let kept = self.error.compare_exchange(0, result, Ordering::AcqRel, Ordering::Relaxed);
        if kept.is_ok() {
            self.show(result);
        }
    }

    /// Replaces any recorded error by `result`, the error with which the session has ended.
    pub(super) fn end_with(&self, result: u32) {
        self.error.store(result, Ordering::Release);
        self.show(result);
    }

    fn take(&self) -> u32 {
        if self.error.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        let error = self.error.swap(0, Ordering::AcqRel);
        self.show(0);
        error
    }

    fn show(&self, error: u32) {
        if let Some(ring) = self.ring.get().and_then(std::sync::Weak::upgrade) {
            ring.shared().posted_error.store(error, Ordering::Release);
        }
    }
}
