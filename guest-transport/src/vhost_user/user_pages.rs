//! The program's own memory in USER regions when there is no driver to pin the pages.
//!
//! The pages in the range are replaced by guest memory pages with the same contents. Other threads
//! don't notice, except that bytes they write during the copy may be lost. This works only for
//! anonymous private memory. A forked child doesn't inherit the range.

use super::memory::{GuestMemory, PAGE};
use crate::error::TransportError;
use crate::mapping::Mapping;
use parking_lot::Mutex;
use protocol::uapi::{ENV_MAX, Segment};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

/// A region can consist of this many segments, which fit in the control queue's buffers.
const MAX_SEGMENTS: usize = ENV_MAX / size_of::<Segment>();

/// A page of the program that was replaced.
struct Page {
    /// The guest memory page, as an offset in guest memory.
    offset: u64,
    /// Number of regions that contain the page. Two regions can share the page in which one ends
    /// and the other begins.
    regions: u32,
}

/// The pages of the program that were replaced, by their address.
#[derive(Default)]
pub struct UserPages(Mutex<BTreeMap<usize, Page>>);

impl UserPages {
    /// Replaces the pages in a range, except those that are in another region already. Returns the
    /// guest memory pages that the range consists of now.
    pub fn take(
        &self,
        memory: &GuestMemory,
        vaddr: usize,
        len: usize,
    ) -> Result<Vec<Segment>, TransportError> {
        let mut pages = self.0.lock();
        let fresh = Self::fresh(&pages, vaddr, len);
        if fresh.len() * 2 + 1 > MAX_SEGMENTS {
            return Err(TransportError::Unsupported { what: "so many pieces of pinned memory" });
        }
        for &(start, size) in &fresh {
            check_anonymous(start, size)?;
        }
        let mut done = Vec::new();
        for &(start, size) in &fresh {
            let exchanged = memory.allocate(size).and_then(|new| {
                // SAFETY: the range is the program's anonymous memory, and the program requested
                // that it be pinned.
                unsafe { apart(|| exchange_for(start, memory.fd(), new.offset, size)) }?;
                Ok(new.keep().0)
            });
            match exchanged {
                Ok(offset) => done.push((start, size, offset)),
                Err(error) => {
                    for (start, size, offset) in done {
                        // If this fails, the pages stay replaced, which the program doesn't notice.
                        // SAFETY: the range was exchanged just above.
                        if unsafe { apart(|| restore_anonymous(start, size)) }.is_ok() {
                            memory.free(offset, size);
                        }
                    }
                    return Err(error);
                }
            }
        }
        for (start, size, offset) in done {
            for at in (0..size).step_by(PAGE) {
                pages.insert(start + at, Page { offset: offset + at as u64, regions: 0 });
            }
        }
        let mut segments: Vec<Segment> = Vec::new();
        for (_, page) in pages.range_mut(vaddr..vaddr + len) {
            page.regions += 1;
            match segments.last_mut() {
                Some(last) if last.addr + last.len == page.offset => last.len += PAGE as u64,
                _ => segments.push(Segment { addr: page.offset, len: PAGE as u64 }),
            }
        }
        Ok(segments)
    }

    /// Returns the parts of a range that weren't replaced, as addresses and lengths.
    fn fresh(pages: &BTreeMap<usize, Page>, vaddr: usize, len: usize) -> Vec<(usize, usize)> {
        let mut fresh = Vec::new();
        let mut reached = vaddr;
        let replaced = pages.range(vaddr..vaddr + len).map(|(start, _)| *start);
        for start in replaced.chain([vaddr + len]) {
            if start > reached {
                fresh.push((reached, start - reached));
            }
            reached = start + PAGE;
        }
        fresh
    }

    /// Ends a region's use of the pages in a range. Pages that no other region contains become
    /// anonymous memory again.
    pub fn give(
        &self,
        memory: &GuestMemory,
        vaddr: usize,
        len: usize,
    ) -> Result<(), TransportError> {
        let mut pages = self.0.lock();
        let mut unused = Vec::new();
        let mapped = mapped_parts(&maps()?, memory.inode()?);
        let is_mapped = |at: usize, offset: u64| {
            mapped.iter().any(|(part, first)| {
                part.contains(&at) && first + (at - part.start) as u64 == offset
            })
        };
        for (start, page) in pages.range_mut(vaddr..vaddr + len) {
            page.regions -= 1;
            if page.regions == 0 {
                unused.push((*start, page.offset, is_mapped(*start, page.offset)));
            }
        }
        // Neighboring pages are restored together.
        for run in unused.chunk_by(|a, b| (a.0 + PAGE, a.1 + PAGE as u64, a.2) == *b) {
            let ((start, offset, mapped), size) = (run[0], run.len() * PAGE);
            // The program may have unmapped the pages, and mapped others there.
            if mapped {
                // SAFETY: `take` put the pages in this range there.
                unsafe { apart(|| restore_anonymous(start, size)) }?;
            }
            for (start, ..) in run {
                pages.remove(start);
            }
            memory.free(offset, size);
        }
        Ok(())
    }
}

/// Runs a function on a thread of its own, so that the pages that it replaces can be on the caller's
/// stack.
fn apart(
    function: impl FnOnce() -> Result<(), TransportError> + Send,
) -> Result<(), TransportError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .spawn_scoped(scope, function)
            .map_err(|source| TransportError::System { what: "starting a thread", source })?;
        thread.join().unwrap_or(Err(TransportError::Unsupported { what: "replacing pages" }))
    })
}

/// Checks that a whole range is anonymous private memory that can be read and written. `maps` is the
/// text of /proc/self/maps.
fn check_anonymous_in(maps: &str, vaddr: usize, len: usize) -> Result<(), TransportError> {
    let other = || Err(TransportError::NotAnonymous { vaddr, len });
    // As the guest driver answers.
    let unmapped = || {
        let source = io::Error::from_raw_os_error(libc::EFAULT);
        Err(TransportError::System { what: "finding pages", source })
    };
    let end = vaddr + len;
    let mut reached = vaddr;
    for line in maps.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (Some(range), Some(access), _, _, Some(inode)) =
            (fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return other();
        };
        let Some((from, to)) = range.split_once('-') else { return other() };
        let (Ok(from), Ok(to)) = (usize::from_str_radix(from, 16), usize::from_str_radix(to, 16))
        else {
            return other();
        };
        if to <= reached {
            continue;
        }
        if from > reached {
            return unmapped();
        }
        if !access.starts_with("rw") || !access.ends_with('p') || inode != "0" {
            return other();
        }
        reached = to;
        if reached >= end {
            return Ok(());
        }
    }
    unmapped()
}

/// Returns where parts of the file with this inode are mapped: the addresses of each part, and its offset
/// in the file. `maps` is the text of /proc/self/maps.
fn mapped_parts(maps: &str, inode: u64) -> Vec<(Range<usize>, u64)> {
    let part = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let (range, offset) = (fields.next()?, fields.nth(1)?);
        let (from, to) = range.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        let offset = u64::from_str_radix(offset, 16).ok()?;
        (fields.nth(1)?.parse() == Ok(inode)).then_some((address(from)?..address(to)?, offset))
    };
    maps.lines().filter_map(part).collect()
}

fn maps() -> Result<String, TransportError> {
    std::fs::read_to_string("/proc/self/maps")
        .map_err(|source| TransportError::System { what: "reading /proc/self/maps", source })
}

/// Checks that a whole range is anonymous private memory that can be read and written.
fn check_anonymous(vaddr: usize, len: usize) -> Result<(), TransportError> {
    check_anonymous_in(&maps()?, vaddr, len)
}

/// Moves a mapping of `len` bytes to `vaddr`, replacing any existing mapping there.
///
/// # Safety
/// The caller must own both ranges.
unsafe fn move_to(from: *mut u8, vaddr: usize, len: usize) -> Result<(), TransportError> {
    // SAFETY: the caller owns both ranges.
    let at = unsafe {
        libc::mremap(
            from.cast(),
            len,
            len,
            libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
            vaddr as *mut libc::c_void,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(TransportError::last("mremap"));
    }
    Ok(())
}

/// Replaces the pages in a range with pages from a file, keeping the contents.
///
/// # Safety
/// The range must be the program's anonymous private memory.
unsafe fn exchange_for(
    vaddr: usize,
    fd: i32,
    offset: u64,
    len: usize,
) -> Result<(), TransportError> {
    let pages = Mapping::shared(fd, offset, len)?;
    // SAFETY: both ranges have `len` bytes, and nothing else uses the new one.
    unsafe {
        std::ptr::copy_nonoverlapping(vaddr as *const u8, pages.as_ptr(), len);
        move_to(pages.as_ptr(), vaddr, len)?;
    }
    // The mapping has moved to `vaddr`, so it must not be unmapped at its old address.
    std::mem::forget(pages);
    Ok(())
}

/// Replaces the pages in a range with anonymous private memory that has the same contents.
///
/// # Safety
/// The range must hold pages that [`exchange_for`] put there.
unsafe fn restore_anonymous(vaddr: usize, len: usize) -> Result<(), TransportError> {
    // SAFETY: without MAP_FIXED, the new mapping can't overlap an existing one.
    let fresh = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if fresh == libc::MAP_FAILED {
        return Err(TransportError::last("mmap of anonymous memory"));
    }
    // SAFETY: both ranges have `len` bytes, and nothing else uses the new one.
    unsafe {
        std::ptr::copy_nonoverlapping(vaddr as *const u8, fresh.cast(), len);
        move_to(fresh.cast(), vaddr, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_pages_and_restored_pages_keep_their_contents() {
        let memory = GuestMemory::new(64 * PAGE as u64).unwrap();
        let pages = UserPages::default();
        let mut area = vec![0u8; 6 * PAGE];
        let at = (area.as_ptr() as usize).next_multiple_of(PAGE);
        let skip = at - area.as_ptr() as usize;
        area[skip..skip + 2 * PAGE].fill(42);
        assert_eq!(pages.take(&memory, at, 2 * PAGE).unwrap().len(), 1);
        assert!(area[skip..skip + 2 * PAGE].iter().all(|&byte| byte == 42));
        assert!(check_anonymous(at, 2 * PAGE).is_err());
        area[skip] = 7;
        pages.give(&memory, at, 2 * PAGE).unwrap();
        assert_eq!((area[skip], area[skip + 1]), (7, 42));
        check_anonymous(at, 2 * PAGE).unwrap();
    }

    #[test]
    fn two_regions_can_share_a_page() {
        let memory = GuestMemory::new(64 * PAGE as u64).unwrap();
        let pages = UserPages::default();
        let mut area = vec![1u8; 6 * PAGE];
        let at = (area.as_ptr() as usize).next_multiple_of(PAGE);
        let first = pages.take(&memory, at, 3 * PAGE).unwrap();
        let second = pages.take(&memory, at + 2 * PAGE, 3 * PAGE).unwrap();
        let shared = Segment { addr: first[0].addr + 2 * PAGE as u64, len: PAGE as u64 };
        let end = second.last().unwrap();
        assert!(second[0].addr == shared.addr && end.addr + end.len > shared.addr);
        assert_eq!(second.iter().map(|segment| segment.len).sum::<u64>(), 3 * PAGE as u64);
        pages.give(&memory, at, 3 * PAGE).unwrap();
        assert!(check_anonymous(at, 3 * PAGE).is_err(), "the other region has the third page");
        check_anonymous(at, 2 * PAGE).unwrap();
        area.fill(2);
        pages.give(&memory, at + 2 * PAGE, 3 * PAGE).unwrap();
        assert!(area.iter().all(|&byte| byte == 2));
        check_anonymous(at, 5 * PAGE).unwrap();
        let all = memory.allocate(64 * PAGE).unwrap();
        assert_eq!(all.offset, 0, "all guest memory is free again");
    }

    #[test]
    fn pages_that_the_program_has_unmapped_are_not_restored() {
        let memory = GuestMemory::new(64 * PAGE as u64).unwrap();
        let pages = UserPages::default();
        let map = |at: usize, len, flags| {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: the test owns the pages that this replaces.
            let at = unsafe { libc::mmap(at as *mut _, len, access, flags, -1, 0) };
            assert_ne!(at, libc::MAP_FAILED);
            at as usize
        };
        let anonymous = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let at = map(0, 4 * PAGE, anonymous);
        pages.take(&memory, at, 4 * PAGE).unwrap();
        // The program maps another page in place of the second one, and unmaps the third one.
        map(at + PAGE, PAGE, anonymous | libc::MAP_FIXED);
        // SAFETY: the test owns the page.
        unsafe {
            ((at + PAGE) as *mut u8).write(8);
            assert_eq!(libc::munmap((at + 2 * PAGE) as *mut _, PAGE), 0);
        }
        pages.give(&memory, at, 4 * PAGE).unwrap();
        check_anonymous(at, 2 * PAGE).unwrap();
        check_anonymous(at + 3 * PAGE, PAGE).unwrap();
        assert!(check_anonymous(at + 2 * PAGE, PAGE).is_err(), "the hole has been filled");
        // SAFETY: the page is mapped.
        assert_eq!(unsafe { ((at + PAGE) as *const u8).read() }, 8);
        let all = memory.allocate(64 * PAGE).unwrap();
        assert_eq!(all.offset, 0, "all guest memory is free again");
    }

    #[test]
    fn the_pages_of_a_stack_can_be_replaced() {
        let memory = GuestMemory::new(64 * PAGE as u64).unwrap();
        let pages = UserPages::default();
        let area = [3u8; 2 * PAGE];
        let at = std::hint::black_box(&area).as_ptr() as usize / PAGE * PAGE;
        pages.take(&memory, at, 3 * PAGE).unwrap();
        assert!(area.iter().all(|&byte| byte == 3));
        pages.give(&memory, at, 3 * PAGE).unwrap();
        assert!(area.iter().all(|&byte| byte == 3));
    }

    #[test]
    fn files_holes_and_read_only_pages_are_refused() {
        let maps = "1000-3000 rw-p 00000000 00:00 0 \n\
                    3000-4000 rw-p 00000000 00:00 0 [heap]\n\
                    5000-6000 rw-p 00000000 08:01 77 /lib/x.so\n\
                    6000-7000 r--p 00000000 00:00 0 \n\
                    7000-8000 rw-s 00000000 00:00 0 \n\
                    8000-9000 rw-p 00000000 00:00 0 [stack]\n";
        for (at, len) in [(0x1000, 0x3000), (0x2000, 0x1000), (0x8000, 0x1000)] {
            assert!(check_anonymous_in(maps, at, len).is_ok(), "{at:#x}");
        }
        for at in [0x5000, 0x6000, 0x7000] {
            let error = check_anonymous_in(maps, at, 0x1000).unwrap_err();
            assert!(matches!(error, TransportError::NotAnonymous { .. }), "{at:#x}: {error}");
        }
        for (at, len) in [(0x0, 0x1000), (0x4000, 0x1000), (0x9000, 0x1000), (0x3000, 0x2000)] {
            let error = check_anonymous_in(maps, at, len).unwrap_err();
            assert!(
                error.to_string().starts_with("finding pages: Bad address"),
                "{at:#x}: {error}"
            );
        }
    }
}
