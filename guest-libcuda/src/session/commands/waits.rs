//! Waits for the GPU. A completion word, which the GPU writes, can end a wait before the worker's
//! reply.

use super::Session;
use crate::error::{CuError, CuResult};
use crate::session::live::Live;
use crate::session::reply::Pending;
use crate::session::words::Word;
use crate::stats;
use protocol::calls::{
    CuCtxSynchronize, CuEventSynchronize, CuStreamSynchronize, VcudaCtxSynchronize,
    VcudaEventSynchronize, VcudaStreamSynchronize,
};
use protocol::codec::Call;
use protocol::ids::{EventId, StreamId};
use protocol::words::Progress;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The maximum time for which a thread sleeps between periods in which it spins on a completion
/// word. The sleep shows whether the session has ended.
const SHORT_SLEEP: Duration = Duration::from_millis(1);

/// The work that a thread waits for.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// The commands that are queued in a stream now.
    Stream(StreamId),
    /// The commands that precede an event.
    Event(EventId),
    /// The commands that are queued in all streams of the current context now.
    Context,
}

/// The way in which a wait has ended.
enum End {
    /// The GPU has written the word.
    Reached,
    /// The worker has replied.
    Replied,
}

impl Session {
    /// Waits for work. `spins` says whether a native program would poll instead of sleeping. Also
    /// fails if an earlier posted call has failed and its error hasn't been reported yet.
    pub fn wait_for_work(&self, work: Work, spins: bool) -> CuResult {
        match self.wait_with_word(work, spins) {
            Ok(Some(result)) => result?,
            Ok(None) => match work {
                Work::Stream(h_stream) => self.call(&CuStreamSynchronize { h_stream })?,
                Work::Event(h_event) => self.call(&CuEventSynchronize { h_event })?,
                Work::Context => self.call(&CuCtxSynchronize {})?,
            },
            Err(error) => return Err(error),
        }
        self.report_posted_error()
    }

    /// Waits for work with a completion word. Returns `None` if completion words can't be used.
    fn wait_with_word(&self, work: Work, spins: bool) -> CuResult<Option<CuResult>> {
        self.errors.check_sticky()?;
        // If there are managed variables, wait for the reply, because `finish` copies them then.
        if self.config.plain || self.config.sync || self.mirrors.any() {
            return Ok(None);
        }
        let Some(word) = self.words.take(self.arena()?) else { return Ok(None) };
        let (offset, value) = (word.offset, word.value.0);
        let result = match work {
            Work::Stream(h_stream) => {
                self.wait(&VcudaStreamSynchronize { h_stream, word: offset, value }, &word, spins)
            }
            Work::Event(h_event) => {
                self.wait(&VcudaEventSynchronize { h_event, word: offset, value }, &word, spins)
            }
            Work::Context => self.wait(&VcudaCtxSynchronize { word: offset, value }, &word, spins),
        };
        if result == Err(CuError::NOT_SUPPORTED) {
            self.words.forget();
            return Ok(None);
        }
        Ok(Some(result))
    }

    /// Sends a call, and waits until the GPU has written the completion word or the worker has
    /// replied.
    fn wait<'a, C: Call<'a>>(&self, call: &C, word: &Word<'_>, spins: bool) -> CuResult {
        let pending = self.begin(call, 0)?;
        let live = self.live()?;
        // Receive the replies to earlier waits while the GPU works. Most of them have arrived by
        // now.
        self.receive_late(live);
        if let Pending::InArena(part, name) = pending
            && let End::Reached = self.poll(live, (&pending, name), word, spins)?
        {
            // The error of an earlier call is in a reply that has arrived, or in the ring's header,
            // from which the next reply takes it.
            self.receive_late(live);
            let settled = live.shared.posted_error.load(Ordering::Acquire) == 0;
            if settled && !self.mirrors.any() && self.late.add((part, name)) {
                stats::count_word();
                return Ok(());
            }
        }
        self.finish(pending)?.result()
    }

    /// Polls a completion word and the state of a reply. After the usual time for spinning, sleeps
    /// until the worker replies. If `spins` is set, it polls on as long as the word is armed, which
    /// means that the GPU will write it. As long as the word isn't armed, it polls again after
    /// sleeps of increasing length.
    fn poll(
        &self,
        live: &Live,
        (pending, name): (&Pending, &'static str),
        word: &Word<'_>,
        spins: bool,
    ) -> CuResult<End> {
        let mut end = || {
            let replied = || self.is_answered(pending).then_some(End::Replied);
            replied().or_else(|| (word.progress() == Progress::Reached).then_some(End::Reached))
        };
        if let Some(end) = live.spin.until(&mut end) {
            return Ok(end);
        }
        let spins = spins && self.config.spin_on_words;
        // The worker may arm the word later, without waking this thread. If the thread would then
        // spin, begin with short sleeps.
        let mut pause = if spins { SHORT_SLEEP } else { super::RECHECK };
        loop {
            let armed = spins && word.progress() == Progress::Armed;
            if armed && let Some(end) = live.word_spin.until(&mut end) {
                return Ok(end);
            }
            let limit = if armed { SHORT_SLEEP } else { pause };
            if let Some(end) = self.sleep(live, name, limit, &mut end)? {
                return Ok(end);
            }
            pause = (pause * 2).min(super::RECHECK);
        }
    }
}
