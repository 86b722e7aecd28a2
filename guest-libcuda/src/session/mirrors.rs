//! The program's copies of managed variables.
//!
//! A managed variable is in the worker's managed memory, which the guest can't map. The program has
//! a copy of it at the same address. Before each call that uses the GPU, the bytes that the program
//! has changed are copied to the GPU; after each call that has waited for the GPU, the bytes that
//! the GPU has changed are copied to the program. Because CONCURRENT_MANAGED_ACCESS is 0, a program
//! accesses managed memory only while the GPU is idle.

use super::reply::Replied;
use crate::error::{CuError, CuResult};
use crate::log::say;
use crate::program::{copy_from, copy_to};
use crate::thread;
use parking_lot::Mutex;
use protocol::calls::{
    CuStreamCreateWithPriority, CuStreamSynchronize, VcudaCopyIn, VcudaCopyOut, VcudaCopyOutAnswer,
    VcudaLibraryGetManaged,
};
use protocol::codec::{Answer, Call};
use protocol::ids::{ContextId, LibraryId, StreamId};
use protocol::limits::INLINE_COPY_MAX;
use protocol::table::{self, Entry, Order};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// The value of CU_STREAM_NON_BLOCKING in cuda.h.
const NON_BLOCKING: u32 = 1;
/// The maximum number of changed ranges of a variable that are copied one by one. With more, one
/// range that covers all of them is copied.
const MANY_RANGES: usize = 16;

/// The maximum length in bytes of the reply with a variable's address.
const ROOM: usize = 64;

/// The functions of a session that copying variables needs.
pub trait Exchange {
    /// Returns an unused stream id.
    fn new_stream(&self) -> StreamId;

    /// Sends a call and waits for its reply of at most `room` bytes, without copying variables.
    fn exchange<'a, C: Call<'a>>(&self, call: &C, room: usize) -> CuResult<Replied>;
}

/// A managed variable of which the program has a copy.
struct Mirror {
    address: u64,
    /// The variable's bytes when the program's copy and the GPU's were last equal.
    common: Vec<u8>,
    library: LibraryId,
    name: String,
    context: ContextId,
    /// Whether the worker knows the variable. The worker forgets it when the context is destroyed
    /// in which it was looked up, although the variable exists as long as its library.
    listed: bool,
}

/// All managed variables of which the program has copies.
#[derive(Default)]
pub struct Mirrors {
    /// Whether the program has copies of any variables. Most calls check this, and programs rarely
    /// have managed variables.
    any: AtomicBool,
    all: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    mirrors: Vec<Mirror>,
    /// A stream for the copies in each context, so that they don't wait for the program's streams.
    streams: HashMap<ContextId, StreamId>,
}

/// Returns the ranges in which two equally long slices differ.
fn differences(left: &[u8], right: &[u8]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    if left == right {
        return ranges;
    }
    for index in (0..left.len()).filter(|&index| left[index] != right[index]) {
        match ranges.last_mut() {
            Some(last) if last.end == index => last.end += 1,
            _ => ranges.push(index..index + 1),
        }
    }
    ranges
}

/// Returns whether a successful call means that the GPU has finished earlier work.
fn waits(entry: &Entry) -> bool {
    let waited = [Order::Query, Order::Wait, Order::Allocation, Order::Context, Order::Session];
    entry.pending || entry.waited && waited.contains(&entry.order)
}

impl Mirrors {
    /// Returns whether the program has copies of any managed variables.
    #[inline]
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Returns whether the program has a copy of the variable at an address.
    pub fn contains(&self, address: u64) -> bool {
        self.any() && self.all.lock().mirrors.iter().any(|mirror| mirror.address == address)
    }

    /// Copies a managed variable to the program's pages at the same address, and begins to track
    /// it.
    ///
    /// # Safety
    ///
    /// `address` must be valid for reading and writing `len` bytes until the variable's library is
    /// forgotten.
    pub unsafe fn add(
        &self,
        session: &impl Exchange,
        (address, len): (u64, usize),
        (library, name): (LibraryId, &str),
    ) -> CuResult {
        let mut known = self.all.lock();
        known.mirrors.retain(|mirror| mirror.address != address);
        let stream = known.stream(session)?;
        let common = get(session, address, len, stream)?;
        // SAFETY: the caller promises that the variable's bytes can be written.
        unsafe { copy_to(address as usize, &common) };
        let (context, name) = (thread::origin().1, name.to_owned());
        known.mirrors.push(Mirror { address, common, library, name, context, listed: true });
        self.any.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Forgets the variables of a library that is being unloaded.
    pub fn forget_library(&self, library: LibraryId) {
        self.retain(|mirror| mirror.library != library);
    }

    /// Forgets the stream of a context that has been destroyed.
    pub fn forget_context(&self, context: ContextId) {
        let mut known = self.all.lock();
        known.streams.remove(&context);
        let of_context = |mirror: &&mut Mirror| mirror.context == context;
        known.mirrors.iter_mut().filter(of_context).for_each(|mirror| mirror.listed = false);
    }

    fn retain(&self, keep: impl Fn(&Mirror) -> bool) {
        if self.any() {
            let mut known = self.all.lock();
            known.mirrors.retain(keep);
            self.any.store(!known.mirrors.is_empty(), Ordering::Relaxed);
        }
    }

    /// Prepares for sending a call. If the call uses the GPU, copies the bytes of variables that
    /// the program has changed to the GPU.
    pub fn before(&self, session: &impl Exchange, opcode: u32) -> CuResult {
        if !table::entry(opcode).is_some_and(|entry| entry.gated) {
            return Ok(());
        }
        let mut known = self.all.lock();
        let mut sent = None;
        let Known { mirrors, streams } = &mut *known;
        for mirror in mirrors {
            mirror.list(session)?;
            let mut now = vec![0; mirror.common.len()];
            // SAFETY: the caller of `add` promised that the variable can be read.
            unsafe { copy_from(mirror.address as usize, &mut now) };
            if now == mirror.common {
                continue;
            }
            let stream = stream(streams, session)?;
            let mut ranges = differences(&now, &mirror.common);
            if ranges.len() > MANY_RANGES {
                // Copy one range that covers all changed ranges. To keep the GPU's changes between
                // these, get the GPU's bytes first.
                let found = get(session, mirror.address, now.len(), stream)?;
                let merged = merge(&now, &mirror.common, found);
                // SAFETY: the caller of `add` promised that the variable can be written.
                unsafe { copy_to(mirror.address as usize, &merged) };
                ranges[0].end = ranges[ranges.len() - 1].end;
                ranges.truncate(1);
                now = merged;
            }
            for range in ranges {
                put(session, mirror.address + range.start as u64, &now[range], stream)?;
            }
            mirror.common = now;
            sent = Some(stream);
        }
        match sent {
            None => Ok(()),
            Some(h_stream) => wait(session, &CuStreamSynchronize { h_stream }),
        }
    }

    /// Handles the success of a call. If the call has waited for the GPU, copies the bytes of
    /// variables that the GPU has changed to the program.
    pub fn after(&self, session: &impl Exchange, name: &str) {
        let called = table::ENTRIES.iter().find(|entry| entry.name == name);
        if !called.is_some_and(waits) || thread::origin().1 == ContextId::NONE {
            return;
        }
        let mut known = self.all.lock();
        let Ok(stream) = known.stream(session) else { return };
        for mirror in &mut known.mirrors {
            if let Err(error) = mirror.list(session) {
                say!(Warn, "can't find the managed variable {}: {error}", mirror.name);
                continue;
            }
            let found = match get(session, mirror.address, mirror.common.len(), stream) {
                Ok(found) => found,
                Err(error) => {
                    say!(Warn, "can't read the managed variable at {:#x}: {error}", mirror.address);
                    continue;
                }
            };
            for range in differences(&found, &mirror.common) {
                // SAFETY: the caller of `add` promised that the variable can be written.
                unsafe { copy_to(mirror.address as usize + range.start, &found[range]) };
            }
            mirror.common = found;
        }
    }
}

impl Mirror {
    /// Looks the variable up in the current context if the worker has forgotten it.
    fn list(&mut self, session: &impl Exchange) -> CuResult {
        if !self.listed {
            let call = VcudaLibraryGetManaged { library: self.library, name: &self.name };
            session.exchange(&call, ROOM)?.result()?;
            (self.context, self.listed) = (thread::origin().1, true);
        }
        Ok(())
    }
}

impl Known {
    fn stream(&mut self, session: &impl Exchange) -> CuResult<StreamId> {
        stream(&mut self.streams, session)
    }
}

/// Returns the stream for copies in the current context.
fn stream(
    streams: &mut HashMap<ContextId, StreamId>,
    session: &impl Exchange,
) -> CuResult<StreamId> {
    let context = thread::origin().1;
    if let Some(stream) = streams.get(&context) {
        return Ok(*stream);
    }
    let stream = session.new_stream();
    let create = CuStreamCreateWithPriority { ph_stream: stream, flags: NON_BLOCKING, priority: 0 };
    wait(session, &create)?;
    streams.insert(context, stream);
    Ok(stream)
}

/// Returns the program's bytes where they differ from `common`, and the GPU's bytes elsewhere.
fn merge(program: &[u8], common: &[u8], gpu: Vec<u8>) -> Vec<u8> {
    let mut merged = gpu;
    for ((to, own), before) in merged.iter_mut().zip(program).zip(common) {
        if own != before {
            *to = *own;
        }
    }
    merged
}

/// Sends a call and waits until it has succeeded.
fn wait<'a, C: Call<'a>>(session: &impl Exchange, call: &C) -> CuResult {
    session.exchange(call, 0)?.result()
}

/// Copies bytes to the GPU.
fn put(session: &impl Exchange, address: u64, bytes: &[u8], h_stream: StreamId) -> CuResult {
    for (index, data) in bytes.chunks(INLINE_COPY_MAX).enumerate() {
        let dst = address + (index * INLINE_COPY_MAX) as u64;
        wait(session, &VcudaCopyIn { dst, data, h_stream })?;
    }
    Ok(())
}

/// Copies bytes from the GPU.
fn get(session: &impl Exchange, address: u64, len: usize, h_stream: StreamId) -> CuResult<Vec<u8>> {
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        let piece = (len - bytes.len()).min(INLINE_COPY_MAX);
        let call = VcudaCopyOut { src: address + bytes.len() as u64, len: piece, h_stream };
        let replied = session.exchange(&call, piece + 16)?.into_result()?;
        let answer = VcudaCopyOutAnswer::decode(replied.as_bytes());
        let data = answer.map_err(|_| CuError::UNKNOWN)?.data;
        if data.len() != piece {
            return Err(CuError::UNKNOWN);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_the_ranges_that_differ() {
        assert_eq!(differences(b"same", b"same"), []);
        assert_eq!(differences(b"abcdefg", b"aXXdefY"), [1..3, 6..7]);
        assert_eq!(differences(b"", b""), []);
    }

    #[test]
    fn merging_keeps_the_changes_of_both_sides() {
        assert_eq!(merge(b"Abcd", b"abcd", b"abcD".to_vec()), b"AbcD");
        assert_eq!(merge(b"Abcd", b"abcd", b"xbcd".to_vec()), b"Abcd");
    }
}
