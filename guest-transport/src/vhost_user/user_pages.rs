//! The program's own memory in USER regions when there is no driver to pin the pages.
//!
//! Private memory is replaced with pages of guest memory that have the same contents. Other threads
//! don't notice, except that bytes they write during the copy may be lost. A forked child gets a
//! private copy. Shared memory isn't replaced; the worker maps its file.

use super::areas::{self, Part};
use super::exchange::{apart, exchange_for, restore};
use super::forks::{Copies, Run};
use super::memory::{GuestMemory, PAGE};
use super::shared_files::{MemoryTable, SharedFiles};
use crate::error::TransportError;
use crate::transport::Fork;
use parking_lot::{Mutex, MutexGuard};
use protocol::uapi::{ENV_MAX, Segment};
use protocol::windows::FILES;
use std::collections::BTreeMap;

/// Maximum number of segments of a region, so that they fit in the control queue's buffers.
const MAX_SEGMENTS: usize = ENV_MAX / size_of::<Segment>();

/// A registered page of the program.
#[derive(Clone, Copy)]
struct Page {
    /// The page's guest-physical address: its offset in guest memory, or an address in the window
    /// for shared files.
    at: u64,
    /// Number of regions that contain the page. Two regions can share the page in which one ends
    /// and the other begins.
    regions: u32,
}

/// The registered pages of the program.
#[derive(Default)]
pub struct UserPages(Mutex<State>);

#[derive(Default)]
struct State {
    /// The registered pages, by their address in the program.
    pages: BTreeMap<usize, Page>,
    files: SharedFiles,
}

/// Registered pages with adjacent addresses.
#[derive(Clone, Copy)]
struct Taken {
    start: usize,
    len: usize,
    at: u64,
}

impl UserPages {
    /// Makes the pages in a range guest memory, except pages that are already in another region.
    /// Returns the segments of guest memory of which the range now consists.
    pub fn take(
        &self,
        memory: &GuestMemory,
        table: &dyn MemoryTable,
        vaddr: usize,
        len: usize,
    ) -> Result<Vec<Segment>, TransportError> {
        let mut state = self.0.lock();
        let areas = areas::current()?;
        let mut parts = Vec::new();
        for (start, len) in state.fresh(vaddr, len) {
            parts.extend(areas::parts(&areas, start, len)?);
        }
        if parts.len() * 2 + 1 > MAX_SEGMENTS {
            return Err(TransportError::Unsupported { what: "so many pieces of pinned memory" });
        }
        parts.iter().try_for_each(check)?;
        let mut done: Vec<Taken> = Vec::new();
        for part in parts {
            let at = match part.area.shared {
                true => state.files.join(table, &part),
                false => replace(memory, &part),
            };
            match at {
                Ok(at) => done.push(Taken { start: part.start, len: part.len, at }),
                Err(error) => {
                    // Ignore errors: if restoring fails, the pages remain pages of guest memory,
                    // which makes no difference to the program.
                    done.into_iter().for_each(|taken| drop(state.end(memory, table, taken, true)));
                    return Err(error);
                }
            }
        }
        for taken in done {
            for offset in (0..taken.len).step_by(PAGE) {
                let page = Page { at: taken.at + offset as u64, regions: 0 };
                state.pages.insert(taken.start + offset, page);
            }
        }
        let mut segments: Vec<Segment> = Vec::new();
        for (_, page) in state.pages.range_mut(vaddr..vaddr + len) {
            page.regions += 1;
            match segments.last_mut() {
                Some(last) if last.addr + last.len == page.at => last.len += PAGE as u64,
                _ => segments.push(Segment { addr: page.at, len: PAGE as u64 }),
            }
        }
        Ok(segments)
    }

    /// Ends a region's use of the pages in a range. Replaced pages that no other region contains
    /// become private memory again.
    pub fn give(
        &self,
        memory: &GuestMemory,
        table: &dyn MemoryTable,
        vaddr: usize,
        len: usize,
    ) -> Result<(), TransportError> {
        let mut state = self.0.lock();
        let mut unused = Vec::new();
        for (start, page) in state.pages.range_mut(vaddr..vaddr + len) {
            page.regions -= 1;
            if page.regions == 0 {
                unused.push((*start, page.at));
            }
        }
        let replaced = Replaced::find(memory)?;
        // Restore adjacent pages together, except at the edges of pages that the program has
        // unmapped or replaced itself.
        let is_next = |a: &(usize, u64), b: &(usize, u64)| {
            (a.0 + PAGE, a.1 + PAGE as u64) == *b && replaced.has(*a) == replaced.has(*b)
        };
        for run in unused.chunk_by(is_next) {
            let taken = Taken { start: run[0].0, len: run.len() * PAGE, at: run[0].1 };
            for (start, _) in run {
                state.pages.remove(start);
            }
            state.end(memory, table, taken, replaced.has(run[0]))?;
        }
        Ok(())
    }

    /// Prepares for a fork of this thread.
    pub fn before_fork<'a>(&'a self, memory: &'a GuestMemory) -> InFork<'a> {
        let state = self.0.lock();
        let copies = Copies::make(&state.replaced_runs(memory), memory.fd());
        InFork { memory, copies, _state: state }
    }
}

/// A fork for which the pages are prepared. Until it ends, no other thread can register or
/// unregister pages.
pub struct InFork<'a> {
    memory: &'a GuestMemory,
    copies: Copies,
    _state: MutexGuard<'a, State>,
}

impl Fork for InFork<'_> {
    fn end_in_parent(self: Box<Self>) {
        self.copies.end_in_parent(self.memory.fd());
    }

    fn end_in_child(&mut self) {
        self.copies.use_in_child();
    }
}

impl State {
    /// Returns the parts of a range that aren't registered, as addresses and lengths.
    fn fresh(&self, vaddr: usize, len: usize) -> Vec<(usize, usize)> {
        let mut fresh = Vec::new();
        let mut reached = vaddr;
        let registered = self.pages.range(vaddr..vaddr + len).map(|(start, _)| *start);
        for start in registered.chain([vaddr + len]) {
            if start > reached {
                fresh.push((reached, start - reached));
            }
            reached = start + PAGE;
        }
        fresh
    }

    /// Ends the registration of pages. If they were replaced, and `mapped` says that they still
    /// are, makes them private memory.
    fn end(
        &mut self,
        memory: &GuestMemory,
        table: &dyn MemoryTable,
        pages: Taken,
        mapped: bool,
    ) -> Result<(), TransportError> {
        let Taken { start, len, at } = pages;
        if FILES.contains(&at) {
            return self.files.leave(table, at, len / PAGE);
        }
        if mapped {
            // SAFETY: the range still consists of the pages of guest memory that `take` put there,
            // and `restore` keeps their contents.
            apart(len, || unsafe { restore(start, memory.fd(), at, len) })?;
        }
        memory.free_used(at, len);
        Ok(())
    }

    /// Returns the runs of pages that were replaced with guest memory, and in which guest memory is
    /// still mapped.
    fn replaced_runs(&self, memory: &GuestMemory) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        if self.pages.values().all(|page| FILES.contains(&page.at)) {
            return runs;
        }
        let Ok(replaced) = Replaced::find(memory) else { return runs };
        for (&start, page) in self.pages.iter().filter(|(at, page)| replaced.has((**at, page.at))) {
            match runs.last_mut() {
                Some(run)
                    if (run.start + run.len, run.offset + run.len as u64) == (start, page.at) =>
                {
                    run.len += PAGE;
                }
                _ => runs.push(Run { start, len: PAGE, offset: page.at }),
            }
        }
        runs
    }
}

/// The program's areas in which guest memory is mapped.
struct Replaced(Vec<areas::Area>);

impl Replaced {
    fn find(memory: &GuestMemory) -> Result<Self, TransportError> {
        let inode = memory.inode()?;
        let mut areas = areas::current()?;
        areas.retain(|area| area.shared && area.inode == inode);
        Ok(Self(areas))
    }

    /// Returns true if the page at `address` is the page of guest memory at `at`.
    fn has(&self, (address, at): (usize, u64)) -> bool {
        let index = self.0.partition_point(|area| area.range.end <= address);
        self.0.get(index).is_some_and(|area| {
            area.range.contains(&address) && area.offset + (address - area.range.start) as u64 == at
        })
    }
}

/// The operation in the error for memory that the program can't write.
const READ_ONLY: &str = "sharing memory that the program can't write";

/// Checks that memory can be registered.
fn check(part: &Part<'_>) -> Result<(), TransportError> {
    if !part.area.writable {
        // Fail with the same error as the kernel driver.
        let source = std::io::Error::from_raw_os_error(libc::EFAULT);
        return Err(TransportError::System { what: READ_ONLY, source });
    }
    if part.area.name.starts_with("/anon_hugepage") && !part.area.shared {
        let why = "it is private memory in huge pages";
        return Err(TransportError::NotShareable { vaddr: part.start, why });
    }
    Ok(())
}

/// Replaces private pages with guest memory. Returns its guest-physical address.
fn replace(memory: &GuestMemory, part: &Part<'_>) -> Result<u64, TransportError> {
    let pages = memory.allocate_to_overwrite(part.len)?;
    if part.area.name == "[stack]" && part.start == part.area.range.start {
        // The stack grows only at its lowest page. If that page is about to be replaced, first make
        // the kernel add a page below it, so that the stack can still grow.
        // SAFETY: the kernel maps a page when the program accesses the address below its stack.
        unsafe { ((part.start - 1) as *const u8).read_volatile() };
    }
    // SAFETY: the range is the program's private memory, and the program requested that it be
    // pinned.
    apart(part.len, || unsafe { exchange_for(part.start, memory.fd(), pages.offset, part.len) })?;
    Ok(pages.keep().0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::{AsRawFd, RawFd};

    /// A memory table that records the files that were added.
    #[derive(Default)]
    struct Table(Mutex<BTreeMap<u64, u64>>);

    impl MemoryTable for Table {
        fn add(&self, at: u64, len: u64, _: RawFd) -> Result<(), TransportError> {
            assert_eq!(self.0.lock().insert(at, len), None);
            Ok(())
        }

        fn remove(&self, at: u64, len: u64) -> Result<(), TransportError> {
            assert_eq!(self.0.lock().remove(&at), Some(len));
            Ok(())
        }
    }

    /// Checks that a range is private memory, and not pages of guest memory.
    fn check_private(at: usize, len: usize) -> Result<(), TransportError> {
        let areas = areas::current()?;
        let is_private = |part: &Part<'_>| !part.area.shared && part.area.inode == 0;
        let private = areas::parts(&areas, at, len)?.iter().all(is_private);
        private.then_some(()).ok_or(TransportError::NotShareable { vaddr: at, why: "replaced" })
    }

    #[test]
    fn replaced_pages_and_restored_pages_keep_their_contents() {
        let memory = GuestMemory::new(64 * PAGE as u64).unwrap();
        let (pages, table) = (UserPages::default(), Table::default());
        let mut area = vec![0u8; 6 * PAGE];
        let at = (area.as_ptr() as usize).next_multiple_of(PAGE);
        let skip = at - area.as_ptr() as usize;
        area[skip..skip + 2 * PAGE].fill(42);
        assert_eq!(pages.take(&memory, &table, at, 2 * PAGE).unwrap().len(), 1);
        assert!(area[skip..skip + 2 * PAGE].iter().all(|&byte| byte == 42));
        assert!(check_private(at, 2 * PAGE).is_err());
        area[skip] = 7;
        pages.give(&memory, &table, at, 2 * PAGE).unwrap();
        assert_eq!((area[skip], area[skip + 1]), (7, 42));
        check_private(at, 2 * PAGE).unwrap();
    }

    #[test]
    fn two_regions_can_share_a_page() {
        let memory = GuestMemory::new(64 * PAGE as u64).unwrap();
        let (pages, table) = (UserPages::default(), Table::default());
        let mut area = vec![1u8; 6 * PAGE];
        let at = (area.as_ptr() as usize).next_multiple_of(PAGE);
        let first = pages.take(&memory, &table, at, 3 * PAGE).unwrap();
        let second = pages.take(&memory, &table, at + 2 * PAGE, 3 * PAGE).unwrap();
        let shared = Segment { addr: first[0].addr + 2 * PAGE as u64, len: PAGE as u64 };
        let end = second.last().unwrap();
        assert!(second[0].addr == shared.addr && end.addr + end.len > shared.addr);
        assert_eq!(second.iter().map(|segment| segment.len).sum::<u64>(), 3 * PAGE as u64);
        pages.give(&memory, &table, at, 3 * PAGE).unwrap();
        assert!(check_private(at, 3 * PAGE).is_err(), "the other region has the third page");
        check_private(at, 2 * PAGE).unwrap();
        area.fill(2);
        pages.give(&memory, &table, at + 2 * PAGE, 3 * PAGE).unwrap();
        assert!(area.iter().all(|&byte| byte == 2));
        check_private(at, 5 * PAGE).unwrap();
        let all = memory.allocate(64 * PAGE).unwrap();
        assert_eq!(all.offset, 0, "all guest memory is free again");
    }

    #[test]
    fn pages_that_the_program_has_unmapped_are_not_restored() {
        let memory = GuestMemory::new(64 * PAGE as u64).unwrap();
        let (pages, table) = (UserPages::default(), Table::default());
        let map = |at: usize, len, flags| {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: the test owns the pages that this replaces.
            let at = unsafe { libc::mmap(at as *mut _, len, access, flags, -1, 0) };
            assert_ne!(at, libc::MAP_FAILED);
            at as usize
        };
        let anonymous = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let at = map(0, 4 * PAGE, anonymous);
        pages.take(&memory, &table, at, 4 * PAGE).unwrap();
        // Act as a program that maps another page in place of the second one, and unmaps the third
        // one.
        map(at + PAGE, PAGE, anonymous | libc::MAP_FIXED);
        // SAFETY: the test owns the page.
        unsafe {
            ((at + PAGE) as *mut u8).write(8);
            assert_eq!(libc::munmap((at + 2 * PAGE) as *mut _, PAGE), 0);
        }
        pages.give(&memory, &table, at, 4 * PAGE).unwrap();
        check_private(at, 2 * PAGE).unwrap();
        check_private(at + 3 * PAGE, PAGE).unwrap();
        assert!(check_private(at + 2 * PAGE, PAGE).is_err(), "the hole has been filled");
        // SAFETY: the page is mapped.
        assert_eq!(unsafe { ((at + PAGE) as *const u8).read() }, 8);
        let all = memory.allocate(64 * PAGE).unwrap();
        assert_eq!(all.offset, 0, "all guest memory is free again");
    }

    #[test]
    fn the_pages_of_a_stack_can_be_replaced() {
        let memory = GuestMemory::new(64 * PAGE as u64).unwrap();
        let (pages, table) = (UserPages::default(), Table::default());
        let area = [3u8; 2 * PAGE];
        let at = std::hint::black_box(&area).as_ptr() as usize / PAGE * PAGE;
        pages.take(&memory, &table, at, 3 * PAGE).unwrap();
        assert!(area.iter().all(|&byte| byte == 3));
        pages.give(&memory, &table, at, 3 * PAGE).unwrap();
        assert!(area.iter().all(|&byte| byte == 3));
    }

    #[test]
    fn memory_that_cannot_be_shared_is_refused() {
        let memory = GuestMemory::new(64 * PAGE as u64).unwrap();
        let (pages, table) = (UserPages::default(), Table::default());
        let disk = std::env::current_exe().unwrap();
        let disk = std::fs::File::open(disk).unwrap();
        let refused = |access, flags, fd: RawFd| {
            // SAFETY: no existing mapping is replaced.
            let at = unsafe { libc::mmap(std::ptr::null_mut(), PAGE, access, flags, fd, 0) };
            assert_ne!(at, libc::MAP_FAILED);
            pages.take(&memory, &table, at as usize, PAGE).unwrap_err()
        };
        let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let of_file = (libc::MAP_SHARED, disk.as_raw_fd());
        for (flags, file) in [(private, -1), of_file] {
            let error = refused(libc::PROT_READ, flags, file);
            assert!(matches!(error, TransportError::System { what: READ_ONLY, .. }), "{error}");
        }
        let all = memory.allocate(64 * PAGE).unwrap();
        assert_eq!(all.offset, 0, "all guest memory is free again");
    }
}
