//! Copies between the GPU and pageable memory through the arena, in pieces. The calling thread and
//! the helpers ([`copiers`]) copy between the arena and the program's memory, while the GPU copies
//! other pieces. Only the calling thread sends commands to the worker, so the copy keeps its place
//! in the order of the thread's commands.
//!
//! docs/design/copies.md explains the limits here.

use crate::driver::Driver;
use crate::error::CuResult;
use crate::program::{copy_from, copy_to, is_fresh, populate};
use crate::session::Pending;
use crate::session::arena::{Arena, Part};
use crate::stats;
use guest_transport::copiers::{self, Batch, Job};
use protocol::calls::{VcudaCopyInStaged, VcudaCopyOutStaged};
use protocol::ids::StreamId;
use std::collections::VecDeque;

/// The maximum length in bytes of a piece that goes through the arena.
pub const PIECE: usize = 1 << 20;
/// The minimum length of a piece of a copy in which helpers take part.
const SHARED_PIECE: usize = 256 << 10;
/// The length of a piece of a copy without helpers.
const ALONE_PIECE: usize = 128 << 10;
/// The minimum length of a copy in which helpers take part. The calling thread would have finished
/// most of a shorter copy before a helper wakes up.
const SHARED: usize = 1 << 20;
/// The maximum number of pieces in flight if there are few helpers. This many keep both the GPU and
/// the calling thread busy, and leave room in the arena for other threads.
const IN_FLIGHT: usize = 6;

/// A copy of contiguous bytes.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    pub dst: u64,
    pub src: u64,
    pub len: usize,
    /// The id of the stream in which the copy is queued.
    pub stream: StreamId,
    /// Whether the call returns only when the program may reuse its own memory.
    pub blocking: bool,
}

/// Returns whether helpers take part in a copy.
fn is_shared(len: usize) -> bool {
    len >= SHARED
}

/// Returns the length of the pieces of a copy. Copies of 8 MiB or more have the longest pieces.
fn piece_of(len: usize) -> usize {
    match is_shared(len) {
        true => (len / 8).next_multiple_of(SHARED_PIECE).min(PIECE),
        false => ALONE_PIECE,
    }
}

/// Returns the maximum number of pieces in flight: two for each thread that copies, but at least
/// [`IN_FLIGHT`].
fn in_flight() -> usize {
    IN_FLIGHT.max(2 * (copiers::helpers() + 1))
}

/// Allocates a part of the arena for a piece of a copy. As long as no part is free, calls
/// `finish_own`, which must finish one of the caller's pieces, or return false if the caller has
/// none.
pub fn take_part(
    driver: &Driver,
    len: usize,
    mut finish_own: impl FnMut() -> CuResult<bool>,
) -> CuResult<Part> {
    let session = &driver.session;
    let arena = session.arena()?;
    session.reap_uploads(false);
    loop {
        if let Some(part) = arena.try_take(len) {
            stats::count_bytes(len);
            return Ok(part);
        }
        if !finish_own()? && !session.reap_uploads(true) {
            return Ok(arena.take(len));
        }
    }
}

/// Allocates a part of the arena for the next piece of a copy. If it is the copy's first piece in
/// flight, waits for a free part, as [`take_part`] does. Otherwise, returns `None` instead of
/// waiting.
fn next_part(driver: &Driver, arena: &Arena, len: usize, first: bool) -> CuResult<Option<Part>> {
    if first {
        return take_part(driver, len, || Ok(false)).map(Some);
    }
    let part = arena
        .try_take(len)
        .or_else(|| driver.session.reap_uploads(false).then(|| arena.try_take(len))?);
    Ok(part.inspect(|_| stats::count_bytes(len)))
}

/// A piece of a copy.
#[derive(Clone, Copy)]
struct Piece {
    part: Part,
    /// The piece's offset in the copy.
    at: usize,
    len: usize,
}

/// The pieces of a copy that are being copied between the arena and the program's memory.
#[derive(Default)]
struct Copied(Vec<Option<Piece>>);

impl Copied {
    fn add(&mut self, piece: Piece) -> usize {
        let free = self.0.iter().position(Option::is_none).unwrap_or_else(|| {
            self.0.push(None);
            self.0.len() - 1
        });
        self.0[free] = Some(piece);
        free
    }

    fn take(&mut self, tag: Option<usize>) -> Option<Piece> {
        self.0.get_mut(tag?)?.take()
    }
}

/// Copies from pageable memory to the GPU.
///
/// # Safety
///
/// The source must be valid for reading `copy.len` bytes.
pub unsafe fn upload(driver: &Driver, copy: Copy) -> CuResult {
    let session = &driver.session;
    let arena = session.arena()?;
    let run = |job: Job| {
        // SAFETY: the destination is a part of the arena that belongs to this copy and has room for
        // the bytes. The caller of `upload` promises that the source is valid, and `upload` returns
        // only after the batch, in which this runs.
        unsafe {
            copy_from(job.from, std::slice::from_raw_parts_mut(job.to as *mut u8, job.len));
        }
    };
    copiers::with(is_shared(copy.len), &run, |batch| {
        let mut upload = Upload {
            driver,
            arena,
            copy,
            taken: 0,
            copied: Copied::default(),
            sent: VecDeque::new(),
            result: Ok(()),
        };
        upload.run(batch);
        if !copy.blocking && upload.result.is_ok() {
            session.leave_uploads(upload.sent);
            return Ok(());
        }
        upload.finish_all();
        upload.result?;
        session.report_posted_error()
    })
}

struct Upload<'a> {
    driver: &'a Driver,
    arena: &'a Arena,
    copy: Copy,
    /// The number of bytes of the copy for which parts of the arena have been taken so far.
    taken: usize,
    copied: Copied,
    /// The pieces that were sent to the worker, which may still be reading them.
    sent: VecDeque<(Part, Pending)>,
    /// The first error.
    result: CuResult,
}

impl Upload<'_> {
    /// Copies all pieces to the arena, and sends each to the worker.
    fn run(&mut self, batch: &mut Batch<'_>) {
        loop {
            while let Some(piece) = self.copied.take(batch.finished()) {
                self.send(piece);
            }
            if self.has_more() && self.take(batch) || batch.help() {
                continue;
            }
            match self.copied.take(batch.wait()) {
                Some(piece) => self.send(piece),
                None if !self.has_more() => return,
                // The arena has no room for the next piece, so finish one.
                None => drop(self.finish_first()),
            }
        }
    }

    fn has_more(&self) -> bool {
        self.result.is_ok() && self.taken < self.copy.len
    }

    /// Begins to copy the next piece, if the arena has room for it. If no piece is in flight, waits
    /// for room. Returns whether a piece was begun.
    fn take(&mut self, batch: &mut Batch<'_>) -> bool {
        let session = &self.driver.session;
        while self.sent.front().is_some_and(|(_, pending)| session.is_answered(pending)) {
            self.finish_first();
        }
        let len = piece_of(self.copy.len).min(self.copy.len - self.taken);
        if batch.outstanding() >= in_flight() {
            return false;
        }
        let first = self.sent.is_empty() && batch.outstanding() == 0;
        let part = match next_part(self.driver, self.arena, len, first) {
            Ok(Some(part)) => part,
            Ok(None) => return false,
            Err(error) => {
                self.result = Err(error);
                return false;
            }
        };
        let piece = Piece { part, at: self.taken, len };
        let (from, to) = (self.copy.src as usize + piece.at, self.arena.ptr(part) as usize);
        self.taken += len;
        batch.submit(Job { tag: self.copied.add(piece), from, to, len });
        true
    }

    /// Sends a command to the worker that copies a piece to the GPU.
    fn send(&mut self, piece: Piece) {
        let staged = VcudaCopyInStaged {
            dst: self.copy.dst + piece.at as u64,
            arena: piece.part.offset as u64,
            len: piece.len,
            h_stream: self.copy.stream,
        };
        let begun = self.result.and_then(|()| self.driver.session.begin(&staged, 0));
        match begun {
            Ok(pending) => self.sent.push_back((piece.part, pending)),
            Err(error) => {
                self.arena.give(piece.part);
                self.result = Err(error);
            }
        }
    }

    /// Waits until the worker has copied the first piece that was sent. Returns whether there was
    /// one.
    fn finish_first(&mut self) -> bool {
        let Some((part, pending)) = self.sent.pop_front() else { return false };
        // If the session has ended, `finish` fails. The part isn't freed then, because the worker
        // may still read it.
        let finished = self.driver.session.finish(pending).and_then(|replied| {
            self.arena.give(part);
            replied.result()
        });
        self.result = self.result.and(finished);
        true
    }

    fn finish_all(&mut self) {
        while self.finish_first() {}
    }
}

/// Copies from the GPU to pageable memory.
///
/// # Safety
///
/// The destination must be valid for writing `copy.len` bytes.
pub unsafe fn download(driver: &Driver, copy: Copy) -> CuResult {
    let arena = driver.session.arena()?;
    // If the last page hasn't been allocated, the other pages probably haven't been, either.
    let fresh = is_shared(copy.len) && is_fresh(copy.dst as usize + copy.len - 1);
    let run = |job: Job| {
        if fresh {
            populate(job.to, job.len);
        }
        // SAFETY: the source is a part of the arena that belongs to this copy, and the worker has
        // filled it and replied. The caller of `download` promises that the destination is valid,
        // and `download` returns only after the batch, in which this runs.
        unsafe { copy_to(job.to, std::slice::from_raw_parts(job.from as *const u8, job.len)) };
    };
    copiers::with(is_shared(copy.len), &run, |batch| {
        let mut download = Download {
            driver,
            arena,
            copy,
            asked: 0,
            asked_for: VecDeque::new(),
            copied: Copied::default(),
            result: Ok(()),
        };
        download.run(batch);
        download.result
    })
}

struct Download<'a> {
    driver: &'a Driver,
    arena: &'a Arena,
    copy: Copy,
    /// The number of bytes of the copy that were requested from the worker so far.
    asked: usize,
    /// The pieces that were requested from the worker, which may still be writing them.
    asked_for: VecDeque<(Piece, Pending)>,
    copied: Copied,
    /// The first error.
    result: CuResult,
}

impl Download<'_> {
    /// Requests all pieces from the worker, which copies them to the arena, and copies each to the
    /// program's memory.
    fn run(&mut self, batch: &mut Batch<'_>) {
        let session = &self.driver.session;
        loop {
            while let Some(piece) = self.copied.take(batch.finished()) {
                self.arena.give(piece.part);
            }
            let more = self.result.is_ok() && self.asked < self.copy.len;
            if more && self.ask(batch) {
                continue;
            }
            let answered =
                self.asked_for.front().is_some_and(|(_, pending)| session.is_answered(pending));
            if answered && self.receive(batch) || batch.help() || self.receive(batch) {
                continue;
            }
            match self.copied.take(batch.wait()) {
                Some(piece) => self.arena.give(piece.part),
                None if more => {}
                None => return,
            }
        }
    }

    /// Requests the next piece from the worker, if the arena has room for it. If no piece is in
    /// flight, waits for room. Returns whether a piece was requested.
    fn ask(&mut self, batch: &Batch<'_>) -> bool {
        let in_flight = self.asked_for.len() + batch.outstanding();
        if in_flight >= self::in_flight() {
            return false;
        }
        let len = piece_of(self.copy.len).min(self.copy.len - self.asked);
        let part = match next_part(self.driver, self.arena, len, in_flight == 0) {
            Ok(Some(part)) => part,
            Ok(None) => return false,
            Err(error) => {
                self.result = Err(error);
                return false;
            }
        };
        let staged = VcudaCopyOutStaged {
            src: self.copy.src + self.asked as u64,
            arena: part.offset as u64,
            len,
            h_stream: self.copy.stream,
        };
        match self.driver.session.begin(&staged, 0) {
            Ok(pending) => {
                self.asked_for.push_back((Piece { part, at: self.asked, len }, pending));
                self.asked += len;
                true
            }
            Err(error) => {
                self.arena.give(part);
                self.result = Err(error);
                false
            }
        }
    }

    /// Waits for the piece that was requested first, and begins to copy it to the program's memory.
    /// Returns whether there was one.
    fn receive(&mut self, batch: &mut Batch<'_>) -> bool {
        let Some((piece, pending)) = self.asked_for.pop_front() else { return false };
        // If the session has ended, `finish` fails. The part isn't freed then, because the worker
        // may still write to it.
        match self.driver.session.finish(pending).map(|replied| replied.result()) {
            Ok(Ok(())) => {
                let (from, to) =
                    (self.arena.ptr(piece.part) as usize, self.copy.dst as usize + piece.at);
                batch.submit(Job { tag: self.copied.add(piece), from, to, len: piece.len });
            }
            Ok(Err(error)) => {
                self.arena.give(piece.part);
                self.result = self.result.and(Err(error));
            }
            Err(error) => self.result = self.result.and(Err(error)),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_pages_and_longer_in_longer_copies() {
        let of = [16 << 10, (1 << 20) - 1, 1 << 20, (2 << 20) + 8, 4 << 20, 8 << 20, usize::MAX];
        let expected = [128, 128, 256, 512, 512, 1024, 1024].map(|kib| kib << 10);
        assert_eq!(of.map(piece_of), expected);
        assert!(is_shared(SHARED) && !is_shared(SHARED - 1));
    }
}
