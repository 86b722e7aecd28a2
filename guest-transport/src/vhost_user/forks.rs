//! Makes private copies of the replaced pages for a forked child.
//!
//! A child inherits the replaced pages as shared memory. Before a fork, the parent copies these
//! pages. In the child, before the program continues, the copies replace the shared pages. So the
//! child sees the values from before the fork, and neither process sees the other's later writes.
//!
//! Until the copies are in place, the child writes to its stack. So before the fork, the parent
//! makes the pages around the stack pointer private, and after the fork, it makes them shared pages
//! again.

use super::exchange::{self, Fresh, apart};
use super::memory::PAGE;
use crate::error::TransportError;
use std::ops::Range;
use std::os::fd::RawFd;

/// Bytes of stack, below the stack pointer of the handler that runs before the fork, that may be
/// used until the last handler in the child has run. `STACK_ABOVE` is the number of bytes above it.
const STACK_BELOW: usize = 256 << 10;
const STACK_ABOVE: usize = 64 << 10;

/// Replaced pages with adjacent addresses and offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub start: usize,
    pub len: usize,
    /// The offset of the pages in guest memory.
    pub offset: u64,
}

impl Run {
    fn part(&self, range: Range<usize>) -> Option<Run> {
        let start = range.start.max(self.start);
        let end = range.end.min(self.start + self.len);
        let offset = self.offset + start.saturating_sub(self.start) as u64;
        (start < end).then(|| Run { start, len: end - start, offset })
    }
}

/// Copies of registered memory and of the stack, for the child of a fork in progress.
#[derive(Default)]
pub struct Copies {
    /// The runs of pages, and the copy of each. A child doesn't inherit a run that couldn't be
    /// copied (`None`).
    copied: Vec<(Run, Option<Fresh>)>,
    /// The pages around the stack pointer, and their contents when they became private.
    stack: Vec<(Run, Fresh)>,
}

impl Copies {
    /// Makes the copies for a fork by the calling thread.
    pub fn make(runs: &[Run], fd: RawFd) -> Self {
        let marker = 0u8;
        let here = &raw const marker as usize / PAGE * PAGE;
        let (low, high) = (here.saturating_sub(STACK_BELOW), here.saturating_add(STACK_ABOVE));
        let mut copies = Copies::default();
        for run in runs {
            let near = run.part(low..high);
            let apart = near.and_then(|near| Some((near, make_private(near, fd).ok()?)));
            let others = match apart {
                Some(_) => [run.part(0..low), run.part(high..usize::MAX)],
                None => [Some(*run), None],
            };
            copies.stack.extend(apart);
            for run in others.into_iter().flatten() {
                let copy = Fresh::copy_of(fd, run.offset, run.len).ok();
                if copy.is_none() {
                    advise(run, libc::MADV_DONTFORK);
                }
                copies.copied.push((run, copy));
            }
        }
        copies
    }

    /// Makes the pages around the stack pointer pages of guest memory again.
    pub fn end_in_parent(self, fd: RawFd) {
        for (run, copy) in self.copied {
            if copy.is_none() {
                advise(run, libc::MADV_DOFORK);
            }
        }
        for (run, before) in self.stack {
            // A failure can't be reported here. Its effect is that the GPU doesn't see the
            // program's later writes to these pages.
            let _ = apart(run.len, || make_shared(run, &before, fd));
        }
    }

    /// Replaces the shared pages with the copies. Doesn't allocate or free memory.
    pub fn use_in_child(&mut self) {
        for (run, copy) in &mut self.copied {
            let Some(copy) = copy.take() else { continue };
            // SAFETY: the run consists of pages that the program has registered, and `copy` has
            // their contents.
            let _ = unsafe { copy.move_to(run.start) };
        }
    }
}

fn advise(run: Run, advice: i32) {
    // SAFETY: this only determines whether a child inherits the mapping.
    unsafe { libc::madvise(run.start as *mut libc::c_void, run.len, advice) };
}

/// Replaces shared pages with private memory that has the same contents. Returns a copy of these
/// contents.
fn make_private(run: Run, fd: RawFd) -> Result<Fresh, TransportError> {
    apart(run.len, || {
        let before = Fresh::copy_of(fd, run.offset, run.len)?;
        let private = Fresh::copy_of(fd, run.offset, run.len)?;
        // SAFETY: the run consists of pages that the program has registered, and `private` has the
        // same contents.
        unsafe { private.move_to(run.start)? };
        Ok(before)
    })
}

/// Replaces private pages with pages of guest memory again. The program has written the bytes that
/// differ from `before`, so only these are copied to guest memory. The GPU may have changed the
/// other bytes there.
fn make_shared(run: Run, before: &Fresh, fd: RawFd) -> Result<(), TransportError> {
    for at in 0..run.len {
        let now = (run.start + at) as *const u8;
        // SAFETY: the pages of the run and `before` are both mapped, and have at least `run.len`
        // bytes.
        let changed = unsafe { now.read_volatile() != before.at.add(at).read() };
        if changed {
            exchange::write_to(fd, now as usize, run.offset + at as u64, 1)?;
        }
    }
    // SAFETY: the run consists of the private pages that `make_private` put there, whose changes
    // have been copied.
    unsafe { exchange::share(run.start, fd, run.offset, run.len) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_parts_below_at_and_above_a_range() {
        let run = Run { start: 0x3000, len: 0x4000, offset: 0x10_0000 };
        assert_eq!(run.part(0..0x3000), None);
        assert_eq!(run.part(0..usize::MAX), Some(run));
        let middle = Run { start: 0x4000, len: 0x1000, offset: 0x10_1000 };
        assert_eq!(run.part(0x4000..0x5000), Some(middle));
        let end = Run { start: 0x5000, len: 0x2000, offset: 0x10_2000 };
        assert_eq!(run.part(0x5000..0x9000), Some(end));
    }
}
