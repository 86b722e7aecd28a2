//! Guest memory as workers see it: files, identified by slot, and offsets into them.

use std::collections::HashSet;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use protocol::uapi::Segment;
use protocol::windows::FILES;
use rustix::fs::{SealFlags, fcntl_get_seals};
use vm_memory::{GuestMemoryBackend, GuestMemoryMmap, GuestMemoryRegion, GuestRegionMmap};

use super::machine::GuestPages;

/// The guest memory files in the front end's memory table, each with a slot number.
#[derive(Default)]
pub(super) struct Slots {
    regions: Vec<Region>,
    last: u32,
}

struct Region {
    slot: u32,
    file: Arc<File>,
    start: u64,
    len: u64,
    offset: u64,
}

impl Slots {
    /// Switches to a new memory table. Returns the slots that are no longer in it.
    pub(super) fn update(&mut self, memory: &GuestMemoryMmap) -> Vec<u32> {
        let old = std::mem::take(&mut self.regions);
        for region in memory.iter() {
            // A region without a file can't be shared with workers. No known front end sends one.
            let Some(file_offset) = region.file_offset() else { continue };
            let file = file_offset.arc().clone();
            let known = old.iter().chain(&self.regions).find(|r| Arc::ptr_eq(&r.file, &file));
            let slot = known.map_or_else(
                || {
                    self.last += 1;
                    self.last
                },
                |region| region.slot,
            );
            self.regions.push(Region {
                slot,
                file,
                start: region.start_addr().0,
                len: region.len(),
                offset: file_offset.start(),
            });
        }
        let kept: HashSet<u32> = self.regions.iter().map(|region| region.slot).collect();
        let mut gone: Vec<u32> = old.iter().map(|region| region.slot).collect();
        gone.retain(|slot| !kept.contains(slot));
        gone.sort_unstable();
        gone.dedup();
        gone
    }

    /// Duplicates the descriptor of a slot's file, for sending it to a worker.
    pub(super) fn file(&self, slot: u32) -> std::io::Result<OwnedFd> {
        let region = self.regions.iter().find(|region| region.slot == slot);
        let region = region.ok_or(std::io::ErrorKind::NotFound)?;
        Ok(region.file.try_clone()?.into())
    }
}

impl GuestPages for Slots {
    fn pieces(&self, segments: &[Segment]) -> Option<Vec<(u32, u64, u64)>> {
        let mut pieces: Vec<(u32, u64, u64)> = Vec::with_capacity(segments.len());
        for segment in segments {
            let (mut addr, mut left) = (segment.addr, segment.len);
            while left > 0 {
                let holds = |r: &&Region| addr >= r.start && addr - r.start < r.len;
                let region = self.regions.iter().find(holds)?;
                let inside = addr - region.start;
                let len = left.min(region.len - inside);
                let offset = region.offset.checked_add(inside)?;
                // mmap needs whole pages, so a region that isn't page-aligned can't be used.
                if offset % 4096 != 0 || len % 4096 != 0 {
                    return None;
                }
                match pieces.last_mut() {
                    Some((slot, start, have))
                        if *slot == region.slot && *start + *have == offset =>
                    {
                        *have += len;
                    }
                    _ => pieces.push((region.slot, offset, len)),
                }
                (addr, left) = (addr.checked_add(len)?, left - len);
            }
        }
        Some(pieces)
    }

    fn bytes(&self) -> u64 {
        self.regions.iter().map(|region| region.len).sum()
    }
}

/// Returns the part of guest memory that this process accesses, which excludes files that a program
/// without a VM has registered. Returns an error with a reason if such a file can't be accepted.
pub(super) fn accessed(memory: &GuestMemoryMmap) -> Result<GuestMemoryMmap, &'static str> {
    let is_file = |region: &GuestRegionMmap| region.last_addr().0 >= FILES.start;
    let mut accessed = memory.clone();
    for region in memory.iter().filter(|region| is_file(region)) {
        if region.start_addr().0 < FILES.start {
            return Err("a region of its memory table begins below the addresses of files");
        }
        // Accept only files in memory, which are those that support seals. A worker makes the
        // driver pin the files' pages. If a file system in user space provided the pages, it could
        // make the driver wait.
        if region.file_offset().is_none_or(|file| fcntl_get_seals(file.file()).is_err()) {
            return Err("a file in its memory table is not in memory");
        }
        let removed = accessed.remove_region(region.start_addr(), region.len());
        accessed = removed.map_err(|_| "a region of its memory table has no start")?.0;
    }
    Ok(accessed)
}

/// Returns true if a region ends beyond the end of its file, where an access would kill this
/// process with SIGBUS. The crate that maps the regions doesn't check this.
pub(super) fn exceeds_file(memory: &GuestMemoryMmap) -> bool {
    memory.iter().any(|region| {
        let Some(file_offset) = region.file_offset() else { return false };
        // Only regular files have a length here. The kernel checks mappings of devices, such as
        // persistent memory.
        let Ok(metadata) = file_offset.file().metadata() else { return true };
        let end = file_offset.start().checked_add(region.len());
        metadata.is_file() && end.is_none_or(|end| end > metadata.len())
    })
}

/// Returns true if the front end could shrink its memory while the device is using it, because one
/// of its files isn't sealed against shrinking.
pub(super) fn can_shrink(memory: &GuestMemoryMmap) -> bool {
    // For a file that doesn't support seals, fcntl returns an error, so it counts as not sealed.
    memory.iter().filter_map(|region| region.file_offset()).any(|file| {
        !fcntl_get_seals(file.file()).is_ok_and(|seals| seals.contains(SealFlags::SHRINK))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vm_memory::{FileOffset, GuestAddress};

    fn memory(ranges: &[(u64, usize, u64)]) -> GuestMemoryMmap {
        let file = || {
            let file = vmm_sys_util::tempfile::TempFile::new().unwrap().into_file();
            file.set_len(1 << 20).unwrap();
            file
        };
        let ranges = ranges
            .iter()
            .map(|(start, len, offset)| {
                (GuestAddress(*start), *len, Some(FileOffset::new(file(), *offset)))
            })
            .collect::<Vec<_>>();
        GuestMemoryMmap::from_ranges_with_files(ranges).unwrap()
    }

    fn segment(addr: u64, len: u64) -> Segment {
        Segment { addr, len }
    }

    #[test]
    fn segments_are_merged_and_split_at_region_borders() {
        let mut slots = Slots::default();
        slots.update(&memory(&[(0, 0x4000, 0), (0x4000, 0x4000, 0x1000)]));
        let pieces = slots.pieces(&[segment(0x1000, 0x1000), segment(0x2000, 0x4000)]);
        assert_eq!(pieces, Some(vec![(1, 0x1000, 0x3000), (2, 0x1000, 0x2000)]));
    }

    #[test]
    fn segments_outside_guest_memory_are_refused() {
        let mut slots = Slots::default();
        slots.update(&memory(&[(0x1000, 0x4000, 0)]));
        for bad in [segment(0, 0x1000), segment(0x4000, 0x2000), segment(!0xfff, 0x1000)] {
            assert_eq!(slots.pieces(&[bad]), None, "{bad:x?}");
        }
    }

    #[test]
    fn update_returns_the_slots_of_removed_files() {
        let mut slots = Slots::default();
        let first = memory(&[(0, 0x4000, 0)]);
        slots.update(&first);
        assert_eq!(slots.update(&first), Vec::<u32>::new());
        assert_eq!(slots.update(&memory(&[(0, 0x4000, 0)])), vec![1]);
        assert_eq!(slots.pieces(&[segment(0, 0x1000)]), Some(vec![(2, 0, 0x1000)]));
    }
}
