//! The session: this process's way to its worker. Commands go into the ring, answers come back in
//! the arena.

pub mod arena;
mod clock;
mod config;
mod host_funcs;
mod reply;
#[cfg(test)]
mod tests;
mod uploads;

use crate::error::{CuError, CuResult};
use crate::log::say;
use crate::thread;
use crate::transport::{Mapping, Transport, TransportError};
use arena::{Arena, Part};
use clock::{Calibration, SpinBudget};
pub use config::Config;
use parking_lot::Mutex;
use protocol::codec::{Answer, Call, Writer};
use protocol::plain::Plain;
use protocol::ring::{GuestRing, Shared};
use protocol::uapi::{CMD_WAITED, Cmd, REPLY_OUTPUT, RING_HEADER_BYTES, Reply};
pub use reply::{Bytes, Pending, Replied};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Ids below are CUDA's own (the default streams) or kept free.
const FIRST_ID: u64 = 16;
/// A sleeper looks again after this time, should a wake ever be lost.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

struct Producer {
    ring: GuestRing,
    writer: Writer,
}

/// A started session.
pub struct Session {
    transport: Box<dyn Transport>,
    _region: Mapping,
    /// For bytes on their way.
    pub arena: Arena,
    producer: Mutex<Producer>,
    shared: Shared,
    max_command: usize,
    spin: SpinBudget,
    config: Config,
    /// Wakes known of.
    wakes: AtomicU32,
    ended: AtomicBool,
    /// The first error of posted calls that was not reported yet.
    posted_error: AtomicU32,
    /// An error that a context does not recover from; posted calls give it at once.
    sticky: AtomicU32,
    /// Kernels have printed something that was not fetched yet.
    output: AtomicBool,
    next_id: AtomicU64,
    uploads: uploads::Uploads,
}

/// Errors after which every call of the context gives the same.
fn is_sticky(code: u32) -> bool {
    matches!(code, 214 | 220 | 700 | 702 | 710 | 714..=719)
}

impl Session {
    /// Opens the device and starts a session on it.
    pub fn start() -> Result<Self, TransportError> {
        let calibration = Calibration::begin();
        let transport = crate::transport::open()?;
        Self::on(transport, Config::from_env(), calibration)
    }

    fn on(
        transport: Box<dyn Transport>,
        config: Config,
        calibration: Calibration,
    ) -> Result<Self, TransportError> {
        let started = transport.start(&config.env, config.ring_bytes, config.arena_bytes)?;
        let base = started.region.as_ptr();
        let ring = config.ring_bytes as usize;
        // SAFETY: the region begins with header page and ring and stays mapped with the session.
        let shared = unsafe { Shared::new(base, ring) }
            .map_err(|_| TransportError::Unsupported { what: "a ring of this size" })?;
        let skip = RING_HEADER_BYTES + ring;
        let len = (started.region.len() - skip).min(config.arena_bytes as usize);
        // SAFETY: the rest of the region is the arena.
        let arena = unsafe { Arena::new(base.add(skip), len) };
        say!(Info, "session {} with {} bytes of ring", started.session, ring);
        let max_command = GuestRing::new(shared).max_command();
        let producer = Producer { ring: GuestRing::new(shared), writer: Writer::new() };
        Ok(Self {
            transport,
            _region: started.region,
            arena,
            producer: Mutex::new(producer),
            shared,
            max_command,
            spin: calibration.end(config.spin),
            config,
            wakes: AtomicU32::new(0),
            ended: AtomicBool::new(false),
            posted_error: AtomicU32::new(0),
            sticky: AtomicU32::new(0),
            output: AtomicBool::new(false),
            next_id: AtomicU64::new(FIRST_ID),
            uploads: Default::default(),
        })
    }

    /// The way to the device, for regions.
    pub fn transport(&self) -> &dyn Transport {
        &*self.transport
    }

    /// The longest byte string that one command can carry.
    pub fn longest_bytes(&self) -> usize {
        let longest = match self.config.plain {
            true => self.transport.config().max_plain as usize,
            false => self.max_command,
        };
        longest.saturating_sub(512).max(512)
    }

    /// A new id for a handle.
    pub fn mint(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a call without waiting for it. Its error, if any, comes with a later answer.
    #[inline]
    pub fn post<'a, C: Call<'a>>(&self, call: &C) -> CuResult {
        self.check_sticky()?;
        if self.config.sync || self.config.plain {
            return self.call_with_room(call, 0).and_then(Replied::into_result).map(drop);
        }
        self.push(call, None)
    }

    /// Sends a call and waits for its answer, which is short.
    pub fn call<'a, C: Call<'a>>(&self, call: &C) -> CuResult<C::Answer> {
        self.call_room(call, arena::SLOT - size_of::<Reply>())
    }

    /// Sends a call and waits for its answer of at most `room` bytes.
    pub fn call_room<'a, C: Call<'a>>(&self, call: &C, room: usize) -> CuResult<C::Answer> {
        self.check_sticky()?;
        self.call_always(call, room)
    }

    /// As [`call_room`](Self::call_room), for what is done even in a context that has failed.
    pub fn call_always<'a, C: Call<'a>>(&self, call: &C, room: usize) -> CuResult<C::Answer> {
        let bytes = self.call_with_room(call, room)?.into_result()?;
        C::Answer::decode(bytes.as_bytes()).map_err(|error| {
            say!(Error, "{}: the answer makes no sense: {error}", C::NAME);
            CuError::UNKNOWN
        })
    }

    /// A call at which CUDA reports what went wrong before it.
    pub fn synchronize<'a, C: Call<'a>>(&self, call: &C) -> CuResult<C::Answer> {
        let answer = self.call(call)?;
        self.report_posted_error()?;
        Ok(answer)
    }

    /// As [`call_room`](Self::call_room), but gives the answer's bytes with a failure too.
    pub fn call_with_room<'a, C: Call<'a>>(&self, call: &C, room: usize) -> CuResult<Replied> {
        let pending = self.begin(call, room)?;
        self.finish(pending)
    }

    /// Sends a waited call; [`finish`](Self::finish) waits for it.
    pub fn begin<'a, C: Call<'a>>(&self, call: &C, room: usize) -> CuResult<Pending> {
        let len = size_of::<Reply>() + room.next_multiple_of(8);
        if self.config.plain {
            return self.submit(call, len).map(|replied| Pending::Answered(Box::new(replied)));
        }
        if len > self.arena.largest() {
            return Err(CuError::INVALID_VALUE);
        }
        let part = loop {
            if let Some(part) = self.arena.try_take(len) {
                break part;
            }
            if !self.reap_uploads(true) {
                break self.arena.take(len);
            }
        };
        let reply = Part { offset: part.offset, len };
        // SAFETY: the part is this call's own, and aligned for the state.
        unsafe { AtomicU32::from_ptr(self.arena.ptr(part).cast()).store(0, Ordering::Relaxed) };
        if let Err(error) = self.push(call, Some(reply)) {
            self.arena.give(part);
            return Err(error);
        }
        Ok(Pending::InArena(part, C::NAME))
    }

    /// Whether the answer is there, so that [`finish`](Self::finish) does not wait.
    pub fn is_answered(&self, pending: &Pending) -> bool {
        match pending {
            Pending::InArena(part, _) => self.reply_state(*part).is_some(),
            Pending::Answered(_) => true,
        }
    }

    /// Waits for an answer, and gives its part of the arena back.
    pub fn finish(&self, pending: Pending) -> CuResult<Replied> {
        let (part, name) = match pending {
            Pending::Answered(replied) => return Ok(*replied),
            Pending::InArena(part, name) => (part, name),
        };
        // If the session ends the part is not used again: the worker may still write to it.
        let state = self.wait_for(name, || self.reply_state(part))?;
        // SAFETY: the part was taken with room for an answer, which the worker has written.
        let replied = unsafe { Replied::read(self.arena.ptr(part), part.len) };
        self.arena.give(part);
        self.note(name, state, replied.head());
        Ok(replied)
    }

    fn reply_state(&self, part: Part) -> Option<u32> {
        // SAFETY: the part lies in the arena and is aligned; both sides use the word as an atomic.
        let state = unsafe { AtomicU32::from_ptr(self.arena.ptr(part).cast()) };
        Some(state.load(Ordering::Acquire)).filter(|&state| state != 0)
    }

    /// Takes note of what comes with every answer.
    fn note(&self, name: &'static str, state: u32, head: &Reply) {
        if head.posted_error != 0 {
            say!(Warn, "a posted call failed with {} (seen at {name})", head.posted_error);
            let first = &self.posted_error;
            let _ =
                first.compare_exchange(0, head.posted_error, Ordering::Relaxed, Ordering::Relaxed);
        }
        if is_sticky(head.result) {
            self.sticky.store(head.result, Ordering::Relaxed);
        }
        if is_sticky(head.posted_error) {
            self.sticky.store(head.posted_error, Ordering::Relaxed);
        }
        if state & REPLY_OUTPUT != 0 {
            self.output.store(true, Ordering::Relaxed);
        }
        say!(Trace, "{name} -> {}", head.result);
    }

    /// The first error of posted calls since the last report.
    pub fn report_posted_error(&self) -> CuResult {
        if self.posted_error.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        match self.posted_error.swap(0, Ordering::Relaxed) {
            0 => Ok(()),
            code => Err(CuError(code)),
        }
    }

    /// Whether kernels have printed since this was asked last.
    pub fn has_output(&self) -> bool {
        self.output.load(Ordering::Relaxed) && self.output.swap(false, Ordering::Relaxed)
    }

    /// A context is gone, and with it the error that it could not recover from.
    pub fn forget_errors(&self) {
        self.sticky.store(0, Ordering::Relaxed);
        self.posted_error.store(0, Ordering::Relaxed);
    }

    /// In a context that has failed every call gives the same error.
    fn check_sticky(&self) -> CuResult {
        match self.sticky.load(Ordering::Relaxed) {
            0 => Ok(()),
            code => Err(CuError(code)),
        }
    }

    fn check_alive(&self) -> CuResult {
        if self.ended.load(Ordering::Relaxed) {
            return Err(self.last_words());
        }
        Ok(())
    }

    /// What calls give once the session has ended: where a kernel ran past the VM's limit, what a
    /// context gives natively then.
    fn last_words(&self) -> CuError {
        let said = |code: u32| code == CuError::LAUNCH_TIMEOUT.0;
        let timed_out = said(self.sticky.load(Ordering::Relaxed))
            || said(self.shared.posted_error.load(Ordering::Relaxed));
        if timed_out { CuError::LAUNCH_TIMEOUT } else { CuError::DEVICE_UNAVAILABLE }
    }

    #[cold]
    fn end(&self, error: &TransportError) -> CuError {
        if !self.ended.swap(true, Ordering::Relaxed) {
            say!(Error, "{error}");
        }
        self.last_words()
    }

    fn header<'a, C: Call<'a>>(&self, args: usize, reply: Option<Part>) -> Cmd {
        let (thread, ctx) = thread::origin();
        Cmd {
            len: (size_of::<Cmd>() + args) as u32,
            opcode: C::OPCODE,
            flags: if reply.is_some() { CMD_WAITED } else { 0 },
            thread,
            ctx,
            reply: reply.map_or(0, |part| part.offset as u32),
            reply_len: reply.map_or(0, |part| part.len as u32),
        }
    }

    /// Writes a command into the ring and wakes the worker if it sleeps.
    fn push<'a, C: Call<'a>>(&self, call: &C, reply: Option<Part>) -> CuResult {
        self.check_alive()?;
        let mut producer = self.producer.lock();
        let Producer { ring, writer } = &mut *producer;
        writer.clear();
        call.encode(writer);
        let args = writer.as_bytes();
        let header = self.header::<C>(args.len(), reply);
        let len = header.len as usize;
        if len > ring.max_command() {
            say!(Error, "{}: {len} bytes are too many for one command", C::NAME);
            return Err(CuError::INVALID_VALUE);
        }
        let doorbell = match ring.push(&[header.as_bytes(), args]) {
            Ok(doorbell) => doorbell,
            Err(_) => {
                self.wait_for("room in the ring", || ring.fits(len).then_some(()))?;
                ring.push(&[header.as_bytes(), args]).map_err(|_| CuError::UNKNOWN)?
            }
        };
        drop(producer);
        if doorbell {
            self.transport.kick().map_err(|error| self.end(&error))?;
        }
        Ok(())
    }

    /// Spins, then sleeps, until `ready` gives something.
    fn wait_for<T>(&self, name: &'static str, mut ready: impl FnMut() -> Option<T>) -> CuResult<T> {
        if let Some(value) = self.spin.until(&mut ready) {
            return Ok(value);
        }
        loop {
            let seen = self.wakes.load(Ordering::Relaxed);
            self.shared.announce_guest_sleep();
            if let Some(value) = ready() {
                return Ok(value);
            }
            match self.transport.wait(seen, Some(LOOK_AGAIN)) {
                Ok(wakes) => self.wakes.store(wakes, Ordering::Relaxed),
                Err(error) => {
                    // What was written before the end counts.
                    return ready().ok_or_else(|| {
                        say!(Info, "{name} was under way when the session ended");
                        self.end(&error)
                    });
                }
            }
        }
    }

    /// Sends a command the plain way.
    fn submit<'a, C: Call<'a>>(&self, call: &C, room: usize) -> CuResult<Replied> {
        self.check_alive()?;
        let mut writer = Writer::new();
        call.encode(&mut writer);
        let args = writer.as_bytes();
        let mut header = self.header::<C>(args.len(), None);
        header.flags = CMD_WAITED;
        let room = room.min(self.transport.max_reply());
        header.reply_len = room as u32;
        let mut reply = vec![0; room];
        let command = [header.as_bytes(), args].concat();
        match self.transport.submit(&command, &mut reply) {
            Ok(len) => {
                let replied = Replied::from_bytes(&reply[..len.min(reply.len())]);
                self.note(C::NAME, replied.head().state, replied.head());
                Ok(replied)
            }
            Err(error @ TransportError::Unsupported { .. }) => {
                say!(Error, "{}: {error}", C::NAME);
                Err(CuError::NOT_SUPPORTED)
            }
            Err(error) => Err(self.end(&error)),
        }
    }
}
