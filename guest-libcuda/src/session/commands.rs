//! Sends commands to the worker and waits for their replies.

use super::arena::{self, Arena, Part};
use super::clock::Calibration;
use super::config::Config;
use super::errors::Errors;
use super::late::Late;
use super::live::{Live, Producer};
use super::mirrors::{Exchange, Mirrors};
use super::reply::{Pending, Replied};
use super::uploads::Uploads;
use super::words::Words;
use crate::error::{CuError, CuResult};
use crate::fork;
use crate::log::say;
use crate::stats;
use crate::thread;
use crate::transport::facts::Snapshot;
use crate::transport::{Fork, Transport, TransportError};
use parking_lot::Mutex;
use protocol::calls::VcudaCopyIn;
use protocol::codec::{Answer, Call, Writer};
use protocol::host_func::Callee;
use protocol::ids::{FIRST_ID, StreamId};
use protocol::plain::Plain;
use protocol::ring::GuestRing;
use protocol::table;
use protocol::uapi::{CMD_WAITED, Cmd, REPLY_OUTPUT, Reply};
use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

mod waits;

#[cfg(test)]
mod tests;

pub use waits::Work;

/// The maximum number of bytes of commands that [`Session::post_ahead`] leaves unpublished. With
/// more, it publishes them, so that the worker executes them while the program makes more calls.
const AHEAD: u64 = 512;

/// The maximum time that a waiting thread sleeps before it checks its condition again, in case a
/// wake was lost.
const RECHECK: Duration = Duration::from_secs(1);

/// This process's session. It starts with the first command.
pub struct Session {
    live: OnceLock<Live>,
    /// The open device, until the session has started. The session then owns it.
    device: Mutex<Option<Box<dyn Transport>>>,
    /// Sends the session's first commands.
    greet: fn(&Session) -> CuResult,
    config: Config,
    /// The transport's count of wakes when this process last read it.
    wakes: AtomicU32,
    ended: AtomicBool,
    errors: Errors,
    /// Whether kernels have printed text that hasn't been fetched yet.
    output: AtomicBool,
    next_id: AtomicU64,
    /// The number of commands that the session has sent, except those whose work is done when their
    /// calls return.
    sent: AtomicU64,
    uploads: Uploads,
    words: Words,
    late: Late,
    /// The program's copies of managed variables.
    pub mirrors: Mirrors,
}

impl Session {
    /// Opens the device. `greet` sends the first commands once the session starts. If it fails, the
    /// session ends.
    pub fn open(greet: fn(&Session) -> CuResult) -> Result<Self, TransportError> {
        Ok(Self::on(crate::transport::open()?, Config::from_env(), greet))
    }

    fn on(transport: Box<dyn Transport>, config: Config, greet: fn(&Session) -> CuResult) -> Self {
        fork::close_in_children(&transport.descriptors());
        Self {
            live: OnceLock::new(),
            device: Mutex::new(Some(transport)),
            greet,
            config,
            wakes: AtomicU32::new(0),
            ended: AtomicBool::new(false),
            errors: Errors::default(),
            output: AtomicBool::new(false),
            next_id: AtomicU64::new(FIRST_ID),
            sent: AtomicU64::new(0),
            uploads: Uploads::default(),
            words: Words::default(),
            late: Late::default(),
            mirrors: Mirrors::default(),
        }
    }

    /// Queries the VM's GPUs, which needs no worker. Returns `None` if the session has started
    /// already, or if the device is of an older version.
    pub fn query(&self) -> Option<Snapshot> {
        let device = self.device.lock();
        let answer = Snapshot::query(&**device.as_ref()?);
        answer.inspect_err(|error| say!(Info, "can't query the GPUs: {error}")).ok()
    }

    /// Returns the connection to the worker. Starts the session if it hasn't started yet.
    #[inline]
    fn live(&self) -> CuResult<&Live> {
        match self.live.get() {
            Some(live) => Ok(live),
            None => self.start(),
        }
    }

    /// Starts the session. If the device has been replaced meanwhile, opens it once more. After a
    /// failure, a later call tries again.
    #[cold]
    fn start(&self) -> CuResult<&Live> {
        let mut device = self.device.lock();
        if let Some(live) = self.live.get() {
            return Ok(live);
        }
        let start = |opened| {
            let calibration = Calibration::begin();
            let transport = match opened {
                Some(transport) => transport,
                None => crate::transport::open()?,
            };
            Live::start(transport, &self.config, calibration)
        };
        let started = match start(device.take()) {
            Err(TransportError::Ended { .. }) => start(None),
            result => result,
        };
        let live = started.map_err(|error| {
            // The device has been closed, so the program may get its descriptors for other files.
            // Children must not close these.
            fork::close_in_children(&[]);
            say!(Error, "can't start a session: {error}");
            CuError::DEVICE_UNAVAILABLE
        })?;
        fork::close_in_children(&live.transport.descriptors());
        let live = self.live.get_or_init(|| live);
        stats::watch_turns(live.shared.turn_ns);
        drop(device);
        (self.greet)(self).inspect_err(|_| self.ended.store(true, Ordering::Relaxed))?;
        Ok(live)
    }

    /// Returns the connection to the device. Starts the session if it hasn't started yet.
    pub fn transport(&self) -> CuResult<&dyn Transport> {
        Ok(&*self.live()?.transport)
    }

    /// Prepares for a fork of the calling thread. Returns `None` if there is nothing to do.
    pub fn before_fork(&self) -> Option<Box<dyn Fork + '_>> {
        self.live.get()?.transport.before_fork()
    }

    /// Returns the shared pages for replies and for data in transit. Starts the session if it
    /// hasn't started yet.
    pub fn arena(&self) -> CuResult<&Arena> {
        Ok(&self.live()?.arena)
    }

    /// Returns the maximum length of a byte string in one command.
    pub fn longest_bytes(&self) -> CuResult<usize> {
        let live = self.live()?;
        let longest = match self.config.plain {
            true => live.transport.config().max_plain as usize,
            false => live.max_command,
        };
        Ok(longest.saturating_sub(512).max(512))
    }

    /// Returns a new, unused id for an object.
    pub fn mint<I: From<u64>>(&self) -> I {
        self.next_id.fetch_add(1, Ordering::Relaxed).into()
    }

    /// Returns the first of `count` new, unused ids, which are consecutive.
    pub fn mint_several<I: From<u64>>(&self, count: u64) -> I {
        self.next_id.fetch_add(count, Ordering::Relaxed).into()
    }

    /// Returns the number of commands that the session has sent, except those for whose work the
    /// program need not wait. Uploads are among these exceptions: their sources have been read, and
    /// the program can't access their destinations.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Sends a call without waiting for it. If the call fails, a later reply reports the error.
    #[inline]
    pub fn post<'a, C: Call<'a>>(&self, call: &C) -> CuResult {
        self.post_with(call, 0)
    }

    #[inline]
    fn post_with<'a, C: Call<'a>>(&self, call: &C, unpublished: u64) -> CuResult {
        self.errors.check_sticky()?;
        if self.config.sync || self.config.plain {
            let pending = self.begin(call, 0)?;
            return self.finish(pending)?.result();
        }
        if self.mirrors.any() {
            self.mirrors.before(self, C::OPCODE)?;
        }
        stats::count_command(C::OPCODE, false);
        self.write(call, None, unpublished)
    }

    /// Sends a call as [`post`](Self::post) does, if it has no effect until another call follows.
    /// The worker may see the command only together with the next one, so that several such calls
    /// cost less. The order of commands stays the same.
    pub fn post_ahead<'a, C: Call<'a>>(&self, call: &C) -> CuResult {
        self.post_with(call, AHEAD)
    }

    /// Sends a call as [`post`](Self::post) does, but never waits: drops the call if the ring is
    /// full, or if the session hasn't started.
    pub fn post_or_drop<'a, C: Call<'a>>(&self, call: &C) {
        if !self.config.plain && self.live.get().is_some() {
            stats::count_command(C::OPCODE, false);
            // Ignore errors: a session that has ended needs no more calls.
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

    /// Sends a call and waits for its reply as [`call_with_room`](Self::call_with_room) does, but
    /// even if a context has failed.
    pub fn call_always<'a, C: Call<'a>>(&self, call: &C, room: usize) -> CuResult<C::Answer> {
        let pending = self.begin(call, room)?;
        let bytes = self.finish(pending)?.into_result()?;
        C::Answer::decode(bytes.as_bytes()).map_err(|error| {
            say!(Error, "{}: the worker sent an invalid answer: {error}", C::NAME);
            CuError::UNKNOWN
        })
    }

    /// Sends a call and waits for its reply as [`call`](Self::call) does. Then fails if an earlier
    /// posted call has failed and its error hasn't been reported yet.
    pub fn synchronize<'a, C: Call<'a>>(&self, call: &C) -> CuResult<C::Answer> {
        let answer = self.call(call)?;
        self.report_posted_error()?;
        Ok(answer)
    }

    /// Sends a call whose reply has at most `room` bytes. [`finish`](Self::finish) waits for the
    /// reply.
    pub fn begin<'a, C: Call<'a>>(&self, call: &C, room: usize) -> CuResult<Pending> {
        if self.mirrors.any() {
            self.mirrors.before(self, C::OPCODE)?;
        }
        self.begin_unmirrored(call, room)
    }

    /// Sends a call as [`begin`](Self::begin) does, but doesn't copy managed variables to the GPU
    /// first.
    fn begin_unmirrored<'a, C: Call<'a>>(&self, call: &C, room: usize) -> CuResult<Pending> {
        stats::count_command(C::OPCODE, true);
        self.begin_along(call, room)
    }

    /// Sends a call as [`begin`](Self::begin) does, but doesn't copy managed variables and isn't
    /// counted as a wait in the statistics. For a call whose reply comes before that of another
    /// call for which the thread waits anyway.
    pub fn begin_along<'a, C: Call<'a>>(&self, call: &C, room: usize) -> CuResult<Pending> {
        let len = size_of::<Reply>() + room.next_multiple_of(8);
        if self.config.plain {
            return self
                .submit_plain(call, len)
                .map(|replied| Pending::Answered(Box::new(replied), C::NAME));
        }
        let arena = self.arena()?;
        if len > arena.largest() {
            return Err(CuError::INVALID_VALUE);
        }
        let part = loop {
            if let Some(part) = arena.try_take(len) {
                break part;
            }
            if !self.reap_uploads(true) {
                break arena.take(len);
            }
        };
        let reply = Part { offset: part.offset, len };
        // SAFETY: the part belongs to this call and lies in the arena, which stays mapped. Its
        // first word, the reply's state, is aligned.
        unsafe { AtomicU32::from_ptr(arena.ptr(part).cast()).store(0, Ordering::Relaxed) };
        if let Err(error) = self.write(call, Some(reply), 0) {
            arena.give(part);
            return Err(error);
        }
        Ok(Pending::InArena(part, C::NAME))
    }

    /// Returns whether the reply has arrived, so that [`finish`](Self::finish) returns at once.
    pub fn is_answered(&self, pending: &Pending) -> bool {
        match pending {
            Pending::InArena(part, _) => {
                self.live.get().is_some_and(|live| live.reply_state(*part).is_some())
            }
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

    /// Waits for a reply as [`finish`](Self::finish) does, but doesn't copy managed variables from
    /// the GPU.
    fn finish_unmirrored(&self, pending: Pending) -> CuResult<Replied> {
        let (part, name) = match pending {
            Pending::Answered(replied, _) => return Ok(*replied),
            Pending::InArena(part, name) => (part, name),
        };
        // If the session has ended, return without freeing the part, because the worker may still
        // write to it.
        let live = self.live()?;
        let state = self.wait_for(live, name, || live.reply_state(part))?;
        let replied = self.receive(live, name, part, state);
        self.receive_late(live);
        Ok(replied)
    }

    /// Copies a reply that has arrived, records its errors, and frees its part of the arena.
    fn receive(&self, live: &Live, name: &'static str, part: Part, state: u32) -> Replied {
        // SAFETY: the part lies in the arena, has room for a reply, and contains a reply that the
        // worker has written.
        let replied = unsafe { Replied::read(live.arena.ptr(part), part.len) };
        live.arena.give(part);
        stats::count_bytes(size_of::<Reply>() + replied.as_bytes().len());
        self.note(name, state, replied.head());
        replied
    }

    /// Receives the replies to calls that have returned without waiting for them. They can report
    /// errors.
    #[inline]
    fn receive_late(&self, live: &Live) {
        for (part, name) in self.late.take(|part| live.reply_state(part).is_some()) {
            if let Some(state) = live.reply_state(part) {
                self.receive(live, name, part, state);
            }
        }
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
        if head.result == CuError::OUT_OF_MEMORY.0 {
            say!(Warn, "{name}: out of GPU memory. This VM's programs use {}", self.memory_use());
        }
        if head.result == CuError::OPERATING_SYSTEM.0 {
            let limits = self.snapshot().process_limits();
            say!(
                Warn,
                "{name}: a system call failed on the host, for example because the VM's processes there \
                 have reached a limit: {limits}"
            );
        }
        self.errors.note(head.result, head.posted_error);
        if state & REPLY_OUTPUT != 0 {
            self.output.store(true, Ordering::Relaxed);
        }
        say!(Trace, "{name} -> {}", head.result);
    }

    /// Queries the device for values that are shown in messages. If that fails, all values are
    /// unknown.
    fn snapshot(&self) -> Snapshot {
        let snapshot = self.live.get().map(|live| Snapshot::query(&*live.transport));
        snapshot.and_then(Result::ok).unwrap_or_default()
    }

    /// Describes the VM's use of GPU memory, its limits, and how to raise them.
    fn memory_use(&self) -> String {
        let known = self.snapshot();
        let used = match known.gpus.is_empty() {
            true => "an unknown part of its memory".into(),
            false => known.memory_use(),
        };
        used + &known.memory_limits()
    }

    /// Fails if a context has failed, with the error that most calls return until the context is
    /// destroyed.
    pub fn check_sticky(&self) -> CuResult {
        self.errors.check_sticky()
    }

    /// Fails if a posted call has failed since this method last returned an error, with the first
    /// such error.
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

    /// Takes over parts of the arena that an upload still uses when its call returns. They are
    /// freed when the upload has finished.
    pub fn leave_uploads(&self, pieces: VecDeque<(Part, Pending)>) {
        self.uploads.add(pieces);
    }

    /// Frees the arena parts of finished uploads. With `wait`, waits until at least the oldest
    /// upload has finished. Returns whether there was any upload.
    pub fn reap_uploads(&self, wait: bool) -> bool {
        let is_answered = |pending: &Pending| self.is_answered(pending);
        self.uploads.reap(wait, is_answered, |part, pending| {
            // Ignore the upload's error: synchronizing the stream also reports it.
            if self.finish_unmirrored(pending).is_ok()
                && let Ok(arena) = self.arena()
            {
                arena.give(part);
            }
        })
    }

    /// Runs the host functions that the worker requests, one after another, until the session ends.
    /// `run` is called with the token of each function. Only one thread of a session may call this.
    ///
    /// The requests aren't sent through the ring, which may be full of commands that wait for a
    /// host function to return.
    pub fn serve_host_funcs(&self, mut run: impl FnMut(u64)) {
        let Ok(live) = self.live() else { return };
        let mut callee = Callee::new(live.shared);
        while let Ok(token) = self.wait_for(live, "a host function", || callee.next()) {
            run(token);
            if callee.end() && self.kick(live).is_err() {
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
    /// because a kernel exceeded the VM's time limit, this is the error with which NVIDIA's driver
    /// reports such a kernel.
    fn final_error(&self) -> CuError {
        let timeout = CuError::LAUNCH_TIMEOUT;
        let timed_out = self.errors.check_sticky() == Err(timeout)
            || self
                .live
                .get()
                .is_some_and(|live| live.shared.posted_error.load(Ordering::Relaxed) == timeout.0);
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

    /// Writes a command to the ring. If more than `unpublished` bytes of commands aren't published
    /// yet, publishes them, so that the worker can see them, and wakes the worker if it sleeps.
    /// Waits while the ring is full.
    fn write<'a, C: Call<'a>>(&self, call: &C, reply: Option<Part>, unpublished: u64) -> CuResult {
        self.push(call, reply, unpublished, |live, ring, len| {
            self.wait_for(live, "room in the ring", || ring.fits(len).then_some(()))
        })
    }

    /// Writes a command to the ring as [`write`](Self::write) does, but fails if the ring is full.
    fn try_write<'a, C: Call<'a>>(&self, call: &C, reply: Option<Part>) -> CuResult {
        self.push(call, reply, 0, |_, _, _| Err(CuError::NOT_READY))
    }

    /// Writes a command to the ring. If the ring is full, first calls `make_room`, which waits or
    /// fails.
    fn push<'a, C: Call<'a>>(
        &self,
        call: &C,
        reply: Option<Part>,
        unpublished: u64,
        make_room: impl FnOnce(&Live, &mut GuestRing, usize) -> CuResult,
    ) -> CuResult {
        let live = self.live()?;
        self.check_alive()?;
        self.count::<C>(reply.is_some());
        let mut producer = live.producer.lock();
        let Producer { ring, writer } = &mut *producer;
        writer.clear();
        call.encode(writer);
        let args = writer.as_bytes();
        let header = self.header::<C>(args.len(), reply);
        let len = header.len as usize;
        stats::count_bytes(len);
        if len > ring.max_command() {
            say!(Error, "{}: a command of {len} bytes is too long", C::NAME);
            return Err(CuError::INVALID_VALUE);
        }
        let pieces = [header.as_bytes(), args];
        if ring.add(&pieces).is_err() {
            // The ring gets room only when the worker takes commands, so publish them first.
            if ring.unpublished() > 0 && ring.publish() {
                self.kick(live)?;
            }
            make_room(live, ring, len)?;
            ring.add(&pieces).map_err(|_| CuError::UNKNOWN)?;
        }
        let doorbell = ring.unpublished() > unpublished && ring.publish();
        drop(producer);
        if doorbell { self.kick(live) } else { Ok(()) }
    }

    /// Wakes the worker.
    fn kick(&self, live: &Live) -> CuResult {
        live.transport.kick().map_err(|error| self.end(&error))
    }

    /// Adds a command to [`sent`](Self::sent) unless its work is done when its call returns.
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
    fn wait_for<T>(
        &self,
        live: &Live,
        name: &'static str,
        mut ready: impl FnMut() -> Option<T>,
    ) -> CuResult<T> {
        if let Some(value) = live.spin.until(&mut ready) {
            return Ok(value);
        }
        loop {
            if let Some(value) = self.sleep(live, name, RECHECK, &mut ready)? {
                return Ok(value);
            }
        }
    }

    /// Sleeps until the next wake, for at most `limit`. If `ready` returns a value just before the
    /// thread would sleep, returns that value instead.
    fn sleep<T>(
        &self,
        live: &Live,
        name: &'static str,
        limit: Duration,
        ready: &mut impl FnMut() -> Option<T>,
    ) -> CuResult<Option<T>> {
        let seen = self.wakes.load(Ordering::Relaxed);
        live.shared.announce_guest_sleep();
        if let Some(value) = ready() {
            return Ok(Some(value));
        }
        match live.transport.wait(seen, Some(limit)) {
            Ok(wakes) => {
                self.wakes.store(wakes, Ordering::Relaxed);
                Ok(None)
            }
            // If `ready` returns a value now, the reply arrived before the session ended, so return
            // it.
            Err(error) => ready().map(Some).ok_or_else(|| {
                say!(Info, "{name} had not finished when the session ended");
                self.end(&error)
            }),
        }
    }

    /// Sends a command as a descriptor chain and waits for its reply.
    fn submit_plain<'a, C: Call<'a>>(&self, call: &C, room: usize) -> CuResult<Replied> {
        let transport = self.transport()?;
        self.check_alive()?;
        self.count::<C>(true);
        let mut writer = Writer::new();
        call.encode(&mut writer);
        let args = writer.as_bytes();
        let mut header = self.header::<C>(args.len(), None);
        header.flags = CMD_WAITED;
        let room = room.min(transport.max_reply());
        header.reply_len = room as u32;
        let mut reply = vec![0; room];
        let command = [header.as_bytes(), args].concat();
        match transport.submit(&command, &mut reply) {
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

impl Drop for Session {
    /// Makes children close no descriptors. The device is closed with the session, so the program
    /// may get its descriptors for other files.
    fn drop(&mut self) {
        fork::close_in_children(&[]);
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
