//! Sends commands to the worker and waits for their replies.

use super::arena::{self, Arena, Part};
use super::clock::{Calibration, SpinBudget};
use super::config::Config;
use super::errors::Errors;
use super::mirrors::{Exchange, Mirrors};
use super::reply::{Pending, Replied};
use super::uploads::Uploads;
use crate::error::{CuError, CuResult};
use crate::log::say;
use crate::stats;
use crate::thread;
use crate::transport::{Mapping, Transport, TransportError};
use parking_lot::Mutex;
use protocol::calls::VcudaCopyIn;
use protocol::codec::{Answer, Call, Writer};
use protocol::host_func::Callee;
use protocol::ids::{FIRST_ID, StreamId};
use protocol::plain::Plain;
use protocol::ring::{GuestRing, Shared};
use protocol::table;
use protocol::uapi::{CMD_WAITED, Cmd, REPLY_OUTPUT, RING_HEADER_BYTES, Reply};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

#[cfg(test)]
mod tests;

/// How long a waiting thread sleeps before it checks again, in case a wake was lost.
const RECHECK: Duration = Duration::from_secs(1);

/// The guest's side of the ring, with a buffer for encoding commands.
struct Producer {
    ring: GuestRing,
    writer: Writer,
}

/// A started session.
pub struct Session {
    transport: Box<dyn Transport>,
    _region: Mapping,
    /// Shared pages for replies and for data in transit.
    pub arena: Arena,
    producer: Mutex<Producer>,
    shared: Shared,
    max_command: usize,
    spin: SpinBudget,
    config: Config,
    /// The transport's count of wakes, as this process last saw it.
    wakes: AtomicU32,
    ended: AtomicBool,
    errors: Errors,
    /// Whether kernels have printed text that hasn't been fetched yet.
    output: AtomicBool,
    next_id: AtomicU64,
    /// The number of commands so far whose work may not be done when their calls return.
    sent: AtomicU64,
    uploads: Uploads,
    /// The program's copies of managed variables.
    pub mirrors: Mirrors,
}

impl Session {
    /// Opens the device and starts a session on it. If the device is replaced in the meantime, tries
    /// once more.
    pub fn start() -> Result<Self, TransportError> {
        match Self::try_start() {
            Err(TransportError::Ended { .. }) => Self::try_start(),
            result => result,
        }
    }

    fn try_start() -> Result<Self, TransportError> {
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
            errors: Errors::default(),
            output: AtomicBool::new(false),
            next_id: AtomicU64::new(FIRST_ID),
            sent: AtomicU64::new(0),
            uploads: Uploads::default(),
            mirrors: Mirrors::default(),
        })
    }

    /// Returns the connection to the device.
    pub fn transport(&self) -> &dyn Transport {
        &*self.transport
    }

    /// Returns the maximum length of a byte string in one command.
    pub fn longest_bytes(&self) -> usize {
        let longest = match self.config.plain {
            true => self.transport.config().max_plain as usize,
            false => self.max_command,
        };
        longest.saturating_sub(512).max(512)
    }

    /// Returns a new, unused id for an object.
    pub fn mint<I: From<u64>>(&self) -> I {
        self.next_id.fetch_add(1, Ordering::Relaxed).into()
    }

    /// Returns the first of `count` new, unused ids, which follow one another.
    pub fn mint_several<I: From<u64>>(&self, count: u64) -> I {
        self.next_id.fetch_add(count, Ordering::Relaxed).into()
    }

    /// Returns the number of commands so far whose work the program may have to wait for. Uploads
    /// don't count: their sources have been read, and the program can't access their destinations.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Sends a call without waiting for it. If the call fails, a later reply reports the error.
    #[inline]
    pub fn post<'a, C: Call<'a>>(&self, call: &C) -> CuResult {
        self.errors.check_sticky()?;
        if self.config.sync || self.config.plain {
            let pending = self.begin(call, 0)?;
            return self.finish(pending)?.result();
        }
        if self.mirrors.any() {
            self.mirrors.before(self, C::OPCODE)?;
        }
        stats::count_command(false);
        self.write(call, None)
    }

    /// Like [`post`](Self::post), but never waits: drops the call if the ring is full.
    pub fn post_or_drop<'a, C: Call<'a>>(&self, call: &C) {
        if !self.config.plain {
            stats::count_command(false);
            // A session that has ended needs no more calls.
            let _ = self.try_write(call, None);
        }
    }

    /// Sends a call and waits for its reply, which must fit into a small part of the arena.
    pub fn call<'a, C: Call<'a>>(&self, call: &C) -> CuResult<C::Answer> {
        self.call_with_room(call, arena::SLOT - size_of::<Reply>())
    }

    /// Sends a call and waits for its reply of at most `room` bytes.
    pub fn call_with_room<'a, C: Call<'a>>(&self, call: &C, room: usize) -> CuResult<C::Answer> {
        self.errors.check_sticky()?;
        self.call_always(call, room)
    }

    /// Like [`call_with_room`](Self::call_with_room), but sends the call even if a context has
    /// failed.
    pub fn call_always<'a, C: Call<'a>>(&self, call: &C, room: usize) -> CuResult<C::Answer> {
        let pending = self.begin(call, room)?;
        let bytes = self.finish(pending)?.into_result()?;
        C::Answer::decode(bytes.as_bytes()).map_err(|error| {
            say!(Error, "{}: the worker sent an invalid answer: {error}", C::NAME);
            CuError::UNKNOWN
        })
    }

    /// Like [`call`](Self::call), but also returns the first error of earlier posted calls.
    pub fn synchronize<'a, C: Call<'a>>(&self, call: &C) -> CuResult<C::Answer> {
        let answer = self.call(call)?;
        self.report_posted_error()?;
        Ok(answer)
    }

    /// Sends a call whose reply has at most `room` bytes. [`finish`](Self::finish) waits for it.
    pub fn begin<'a, C: Call<'a>>(&self, call: &C, room: usize) -> CuResult<Pending> {
        if self.mirrors.any() {
            self.mirrors.before(self, C::OPCODE)?;
        }
        self.begin_unmirrored(call, room)
    }

    /// Like [`begin`](Self::begin), but doesn't copy managed variables.
    fn begin_unmirrored<'a, C: Call<'a>>(&self, call: &C, room: usize) -> CuResult<Pending> {
        stats::count_command(true);
        self.begin_along(call, room)
    }

    /// Like [`begin`](Self::begin), for a call whose reply comes before that of another call, which the
    /// thread waits for anyway.
    pub fn begin_along<'a, C: Call<'a>>(&self, call: &C, room: usize) -> CuResult<Pending> {
        let len = size_of::<Reply>() + room.next_multiple_of(8);
        if self.config.plain {
            return self
                .submit_plain(call, len)
                .map(|replied| Pending::Answered(Box::new(replied), C::NAME));
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
        // SAFETY: the part belongs to this call, and its first word, the reply's state, is aligned.
        unsafe { AtomicU32::from_ptr(self.arena.ptr(part).cast()).store(0, Ordering::Relaxed) };
        if let Err(error) = self.write(call, Some(reply)) {
            self.arena.give(part);
            return Err(error);
        }
        Ok(Pending::InArena(part, C::NAME))
    }

    /// Returns whether the reply has arrived, so that [`finish`](Self::finish) returns at once.
    pub fn is_answered(&self, pending: &Pending) -> bool {
        match pending {
            Pending::InArena(part, _) => self.reply_state(*part).is_some(),
            Pending::Answered(..) => true,
        }
    }

    /// Waits for a reply and frees its part of the arena.
    pub fn finish(&self, pending: Pending) -> CuResult<Replied> {
        let name = match &pending {
            Pending::InArena(_, name) | Pending::Answered(_, name) => *name,
        };
        let replied = self.finish_unmirrored(pending)?;
        if self.mirrors.any() && replied.result().is_ok() {
            self.mirrors.after(self, name);
        }
        Ok(replied)
    }

    /// Like [`finish`](Self::finish), but doesn't copy managed variables.
    fn finish_unmirrored(&self, pending: Pending) -> CuResult<Replied> {
        let (part, name) = match pending {
            Pending::Answered(replied, _) => return Ok(*replied),
            Pending::InArena(part, name) => (part, name),
        };
        // If the session has ended, don't free the part: the worker may still write to it.
        let state = self.wait_for(name, || self.reply_state(part))?;
        // SAFETY: the part has room for a reply, which the worker has written.
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

    /// Records the errors and flags in a reply.
    fn note(&self, name: &'static str, state: u32, head: &Reply) {
        if head.posted_error != 0 {
            say!(
                Warn,
                "an earlier asynchronous call failed with {} (reported at {name})",
                head.posted_error
            );
        }
        self.errors.note(head.result, head.posted_error);
        if state & REPLY_OUTPUT != 0 {
            self.output.store(true, Ordering::Relaxed);
        }
        say!(Trace, "{name} -> {}", head.result);
    }

    /// Returns the error of a context that has failed. Until the context is destroyed, most calls
    /// return it.
    pub fn check_sticky(&self) -> CuResult {
        self.errors.check_sticky()
    }

    /// Returns the first error of posted calls since this method last returned one.
    pub fn report_posted_error(&self) -> CuResult {
        self.errors.take_posted()
    }

    /// Returns whether kernels have printed text since this method was last called.
    pub fn take_has_output(&self) -> bool {
        self.output.load(Ordering::Relaxed) && self.output.swap(false, Ordering::Relaxed)
    }

    /// Forgets the errors of a context that has been destroyed.
    pub fn forget_errors(&self) {
        self.errors.clear();
    }

    /// Takes over the parts of the arena that an upload still uses when its call returns, to free
    /// them later.
    pub fn leave_uploads(&self, pieces: VecDeque<(Part, Pending)>) {
        self.uploads.add(pieces);
    }

    /// Frees the arena parts of finished uploads. With `wait`, waits until at least the oldest
    /// upload has finished. Returns whether there was any upload.
    pub fn reap_uploads(&self, wait: bool) -> bool {
        let is_answered = |pending: &Pending| self.is_answered(pending);
        self.uploads.reap(wait, is_answered, |part, pending| {
            // Ignore the error here: synchronizing the stream also reports an asynchronous copy's
            // error.
            if self.finish_unmirrored(pending).is_ok() {
                self.arena.give(part);
            }
        })
    }

    /// Runs the host functions that the worker requests, one after another, until the session ends.
    /// `run` is called with a function's token. Only one thread of a session may call this.
    ///
    /// The requests aren't sent through the ring, which may be full of commands that wait for a
    /// host function to return.
    pub fn serve_host_funcs(&self, mut run: impl FnMut(u64)) {
        let mut callee = Callee::new(self.shared);
        while let Ok(token) = self.wait_for("a host function", || callee.next()) {
            run(token);
            if callee.end()
                && let Err(error) = self.transport.kick()
            {
                self.end(&error);
                return;
            }
        }
    }

    fn check_alive(&self) -> CuResult {
        if self.ended.load(Ordering::Relaxed) {
            return Err(self.final_error());
        }
        Ok(())
    }

    /// Returns the error that every call returns after the session has ended. If the session ended
    /// because a kernel exceeded the VM's time limit, this is the error with which the real driver
    /// reports a kernel that runs too long.
    fn final_error(&self) -> CuError {
        let timeout = CuError::LAUNCH_TIMEOUT;
        let timed_out = self.errors.check_sticky() == Err(timeout)
            || self.shared.posted_error.load(Ordering::Relaxed) == timeout.0;
        if timed_out { timeout } else { CuError::DEVICE_UNAVAILABLE }
    }

    #[cold]
    fn end(&self, error: &TransportError) -> CuError {
        if !self.ended.swap(true, Ordering::Relaxed) {
            say!(Error, "{error}");
        }
        self.final_error()
    }

    fn header<'a, C: Call<'a>>(&self, args: usize, reply: Option<Part>) -> Cmd {
        let (thread, ctx) = thread::origin();
        Cmd {
            len: (size_of::<Cmd>() + args) as u32,
            opcode: C::OPCODE,
            flags: if reply.is_some() { CMD_WAITED } else { 0 },
            thread,
            ctx: ctx.0,
            reply: reply.map_or(0, |part| part.offset as u32),
            reply_len: reply.map_or(0, |part| part.len as u32),
        }
    }

    /// Writes a command to the ring, and wakes the worker if it sleeps. Waits while the ring is full.
    fn write<'a, C: Call<'a>>(&self, call: &C, reply: Option<Part>) -> CuResult {
        self.push(call, reply, |ring, len| {
            self.wait_for("room in the ring", || ring.fits(len).then_some(()))
        })
    }

    /// Like [`write`](Self::write), but fails if the ring is full.
    fn try_write<'a, C: Call<'a>>(&self, call: &C, reply: Option<Part>) -> CuResult {
        self.push(call, reply, |_, _| Err(CuError::NOT_READY))
    }

    /// Writes a command to the ring. If the ring is full, calls `make_room` first.
    fn push<'a, C: Call<'a>>(
        &self,
        call: &C,
        reply: Option<Part>,
        make_room: impl FnOnce(&mut GuestRing, usize) -> CuResult,
    ) -> CuResult {
        self.check_alive()?;
        self.count::<C>(reply.is_some());
        let mut producer = self.producer.lock();
        let Producer { ring, writer } = &mut *producer;
        writer.clear();
        call.encode(writer);
        let args = writer.as_bytes();
        let header = self.header::<C>(args.len(), reply);
        let len = header.len as usize;
        if len > ring.max_command() {
            say!(Error, "{}: a command of {len} bytes is too long", C::NAME);
            return Err(CuError::INVALID_VALUE);
        }
        let doorbell = match ring.push(&[header.as_bytes(), args]) {
            Ok(doorbell) => doorbell,
            Err(_) => {
                make_room(ring, len)?;
                ring.push(&[header.as_bytes(), args]).map_err(|_| CuError::UNKNOWN)?
            }
        };
        drop(producer);
        if doorbell {
            self.transport.kick().map_err(|error| self.end(&error))?;
        }
        Ok(())
    }

    /// Counts a command if its work may not be done when its call returns.
    fn count<'a, C: Call<'a>>(&self, waited: bool) {
        let done = match waited {
            true => table::entry(C::OPCODE).is_some_and(|entry| entry.pending),
            false => C::OPCODE == VcudaCopyIn::OPCODE,
        };
        if !done {
            self.sent.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Spins until `ready` returns a value. If that takes too long, sleeps and checks again after
    /// each wake.
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
            match self.transport.wait(seen, Some(RECHECK)) {
                Ok(wakes) => self.wakes.store(wakes, Ordering::Relaxed),
                Err(error) => {
                    // If the reply arrived before the session ended, return it.
                    return ready().ok_or_else(|| {
                        say!(Info, "{name} had not finished when the session ended");
                        self.end(&error)
                    });
                }
            }
        }
    }

    /// Sends a command as a descriptor chain and waits for its reply.
    fn submit_plain<'a, C: Call<'a>>(&self, call: &C, room: usize) -> CuResult<Replied> {
        self.check_alive()?;
        self.count::<C>(true);
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

impl Exchange for Session {
    fn new_stream(&self) -> StreamId {
        self.mint()
    }

    fn exchange<'a, C: Call<'a>>(&self, call: &C, room: usize) -> CuResult<Replied> {
        let pending = self.begin_unmirrored(call, room)?;
        self.finish_unmirrored(pending)
    }
}
