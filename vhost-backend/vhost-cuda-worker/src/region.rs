//! Maps regions of guest memory into the worker. Each region is contiguous in the worker, even if
//! its pieces are spread over guest memory. The worker doesn't map any other guest memory.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::{Arc, Mutex, RwLock};

use protocol::uapi::{REGION_PINNED, REGION_RING, REGION_USER};
use protocol::windows::{PAGE_BYTES, PINNED};

use super::truncated::{Watch, can_shrink, watch};

/// The kind of memory in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionKind {
    /// A header page, a ring for commands, and an arena for replies and staged copies.
    Ring,
    /// Pages that the guest driver allocated. The worker maps them at the same address as the guest
    /// process.
    Pinned,
    /// Pages that belong to the guest program.
    User,
}

impl RegionKind {
    /// Converts the number of a region's kind from the uAPI. Returns `None` for an unknown number.
    pub fn from_wire(kind: u32) -> Option<Self> {
        match kind {
            REGION_RING => Some(Self::Ring),
            REGION_PINNED => Some(Self::Pinned),
            REGION_USER => Some(Self::User),
            _ => None,
        }
    }
}

/// A piece of a region: a range of bytes in a file that contains guest memory.
#[derive(Debug)]
pub struct Piece<'a> {
    /// The file that contains the guest memory.
    pub file: BorrowedFd<'a>,
    /// The offset of the piece in the file.
    pub offset: u64,
    /// The length of the piece in bytes.
    pub len: u64,
}

/// The address range for USER regions whose own addresses are in use in this process. The kernel
/// doesn't place mappings in this range by itself.
const APART: Range<u64> = 0x4000_0000_0000..0x5000_0000_0000;
/// The maximum number of random addresses in [`APART`] to try. Each try is likely to succeed.
const APART_TRIES: usize = 8;

/// An error in mapping a region of guest memory.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// A length or an address isn't a multiple of the page size, or the region is empty or too
    /// large.
    #[error("the address or length of a region ({len} bytes at {vaddr:#x}) is not page-aligned")]
    Shape {
        /// The region's address in the guest process.
        vaddr: u64,
        /// The length in bytes.
        len: u64,
    },
    /// A PINNED region isn't inside the window for pinned memory, or overlaps another region.
    #[error(
        "a pinned region of {len} bytes at {vaddr:#x} is outside the window for pinned memory, or overlaps another region"
    )]
    Window {
        /// The region's address in the guest process.
        vaddr: u64,
        /// The length in bytes.
        len: u64,
    },
    /// The kernel has refused to map the memory.
    #[error("cannot map {len} bytes of guest memory: {source}")]
    Map {
        /// The length in bytes.
        len: u64,
        /// The kernel's error.
        source: io::Error,
    },
}

/// An attached region of guest memory. Its pages are unmapped when the last `Arc` is dropped.
pub struct Region {
    id: u32,
    kind: RegionKind,
    vaddr: u64,
    base: *mut u8,
    len: usize,
    /// Whether the region is in the window for pinned memory. The addresses of that window stay
    /// reserved with PROT_NONE after unmapping.
    reserved: bool,
    /// The watch for truncation, if the region's pages are in a file that can become smaller.
    watch: Option<Watch>,
    /// The function to call after the pages were unmapped.
    unmapped: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

// SAFETY: `base` is the address of a mapping that belongs only to this object, and any thread may
// use or unmap it. Code that accesses the pages has its own `SAFETY` comments.
unsafe impl Send for Region {}
// SAFETY: any thread may use the mapping, as the comment on `Send` says. All methods take `&self`,
// and only read fields or take locks.
unsafe impl Sync for Region {}

impl Region {
    /// Maps the pieces one after another. A PINNED region is mapped at `vaddr`. A USER region is
    /// mapped at `vaddr` if the addresses are free, and at a random address if they aren't. A RING
    /// region is mapped anywhere.
    pub fn map(
        id: u32,
        kind: RegionKind,
        vaddr: u64,
        pieces: &[Piece<'_>],
    ) -> Result<Self, MapError> {
        let len = pieces.iter().try_fold(0u64, |sum, piece| sum.checked_add(piece.len));
        let shape = MapError::Shape { vaddr, len: len.unwrap_or(u64::MAX) };
        let Some(len) = len.filter(|len| *len > 0 && *len <= 1 << 46) else { return Err(shape) };
        let aligned = |value: u64| value.is_multiple_of(PAGE_BYTES);
        if !aligned(vaddr) || pieces.iter().any(|p| !aligned(p.len) || !aligned(p.offset)) {
            return Err(shape);
        }
        let (base, reserved) = match kind {
            RegionKind::Pinned => {
                let end = vaddr.checked_add(len);
                if !end.is_some_and(|end| PINNED.contains(&vaddr) && end <= PINNED.end) {
                    return Err(MapError::Window { vaddr, len });
                }
                (vaddr as *mut u8, true)
            }
            RegionKind::User => match reserve(vaddr, len) {
                Ok(base) => (base, false),
                // Choose a random address. The program learns it, so it must not reveal the
                // addresses of this process's other mappings.
                Err(_) => (reserve_apart(len)?, false),
            },
            RegionKind::Ring => (reserve(0, len)?, false),
        };
        // From this point, dropping `region` unmaps the pieces that were mapped so far.
        let (len, unmapped) = (len as usize, Mutex::new(None));
        let mut region = Self { id, kind, vaddr, base, len, reserved, watch: None, unmapped };
        let mut place = base;
        for piece in joined(pieces) {
            // SAFETY: the range lies in `base..base + len`. Either `reserve` made that range for
            // this region, or it is a part of the reserved window that `Regions` gives to one
            // region only. Therefore, no other mapping is replaced.
            let at = unsafe {
                libc::mmap(
                    place.cast(),
                    piece.len as usize,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_SHARED | libc::MAP_FIXED,
                    piece.file.as_raw_fd(),
                    piece.offset as libc::off_t,
                )
            };
            if at == libc::MAP_FAILED {
                return Err(MapError::Map { len: piece.len, source: io::Error::last_os_error() });
            }
            place = place.wrapping_add(piece.len as usize);
        }
        // Only USER regions can shrink: regions of other kinds are the vhost-user front end's own
        // memory, which no other process can access.
        if kind == RegionKind::User && pieces.iter().any(|piece| can_shrink(piece.file)) {
            // SAFETY: the range belongs only to this region, which drops the watch before it unmaps
            // the range.
            region.watch = unsafe { watch(base as usize, len) };
        }
        Ok(region)
    }

    /// Returns the id by which the guest driver refers to the region.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Returns the kind of memory in the region.
    pub fn kind(&self) -> RegionKind {
        self.kind
    }

    /// Returns the region's address in the guest process, or 0 for a RING region.
    pub fn vaddr(&self) -> u64 {
        self.vaddr
    }

    /// Returns the region's address in this process. The guest may write to the memory at any time,
    /// so access it only with raw copies and atomics, never through references.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Always false: a region has at least one page.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the address in this process that corresponds to the guest's address `vaddr`. Returns
    /// `None` unless all `len` bytes at `vaddr` are in this region.
    pub fn at(&self, vaddr: u64, len: usize) -> Option<*mut u8> {
        let offset = usize::try_from(vaddr.checked_sub(self.vaddr)?).ok()?;
        (offset.checked_add(len)? <= self.len).then(|| self.base.wrapping_add(offset))
    }

    /// Sets a function to call after the pages were unmapped.
    pub(super) fn when_unmapped(&self, told: impl FnOnce() + Send + 'static) {
        let mut unmapped = self.unmapped.lock().unwrap_or_else(|error| error.into_inner());
        *unmapped = Some(Box::new(told));
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let base = self.base.cast();
        self.watch = None;
        // SAFETY: the range belongs only to this region (see `map`), and no code uses it after the
        // last `Arc` was dropped. A range in the window for pinned memory isn't left free, but
        // becomes a reservation again, so that no other mapping of this process can be placed
        // there.
        unsafe {
            if self.reserved {
                let flags =
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
                libc::mmap(base, self.len, libc::PROT_NONE, flags, -1, 0);
            } else {
                libc::munmap(base, self.len);
            }
        }
        let told = self.unmapped.get_mut().unwrap_or_else(|error| error.into_inner()).take();
        if let Some(told) = told {
            told();
        }
    }
}

/// Merges pieces that are adjacent in the same file, because a process may have only 65,530
/// mappings.
fn joined<'a>(pieces: &'a [Piece<'a>]) -> Vec<Piece<'a>> {
    let mut joined: Vec<Piece<'a>> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match joined.last_mut() {
            Some(last)
                if last.file.as_raw_fd() == piece.file.as_raw_fd()
                    && last.offset + last.len == piece.offset =>
            {
                last.len += piece.len;
            }
            _ => joined.push(Piece { file: piece.file, offset: piece.offset, len: piece.len }),
        }
    }
    joined
}

/// Reserves an address range: anywhere if `vaddr` is 0, or else at `vaddr`. Fails if the addresses
/// at `vaddr` are in use.
fn reserve(vaddr: u64, len: u64) -> Result<*mut u8, MapError> {
    let fixed = if vaddr == 0 { 0 } else { libc::MAP_FIXED_NOREPLACE };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    // SAFETY: without MAP_FIXED, mmap doesn't replace any existing mapping, and it's given no
    // memory to access.
    let at = unsafe { libc::mmap(vaddr as *mut _, len as usize, libc::PROT_NONE, flags, -1, 0) };
    if at == libc::MAP_FAILED {
        return Err(MapError::Map { len, source: io::Error::last_os_error() });
    }
    if vaddr != 0 && at as u64 != vaddr {
        // Kernels before 4.17 ignore MAP_FIXED_NOREPLACE, and may choose another address if `vaddr`
        // is in use.
        // SAFETY: the mapping was just created, and nothing uses it yet.
        unsafe { libc::munmap(at, len as usize) };
        return Err(MapError::Map { len, source: io::Error::from_raw_os_error(libc::EEXIST) });
    }
    Ok(at.cast())
}

/// Reserves an address range at a random address in [`APART`].
fn reserve_apart(len: u64) -> Result<*mut u8, MapError> {
    let error = |source| MapError::Map { len, source };
    let room = (APART.end - APART.start).checked_sub(len);
    let pages = room.ok_or_else(|| error(io::Error::from_raw_os_error(libc::ENOMEM)))? / PAGE_BYTES;
    let mut reserved = Err(error(io::Error::from_raw_os_error(libc::EEXIST)));
    for _ in 0..APART_TRIES {
        let mut random = [0; 8];
        // SAFETY: the pointer and the length are those of a local array.
        let filled = unsafe { libc::getrandom(random.as_mut_ptr().cast(), random.len(), 0) };
        if filled != random.len() as isize {
            return Err(error(io::Error::last_os_error()));
        }
        let page = u64::from_le_bytes(random) % (pages + 1);
        reserved = reserve(APART.start + page * PAGE_BYTES, len);
        if reserved.is_ok() {
            break;
        }
    }
    reserved
}

/// Reserves the address range for PINNED regions, so that no other mapping in this process is
/// placed there. Must be called when the worker starts, before a driver library is loaded.
pub fn reserve_pinned_window() -> Result<(), MapError> {
    reserve(PINNED.start, PINNED.end - PINNED.start).map(|_| ())
}

/// The regions of guest memory attached to a session.
#[derive(Clone, Default)]
pub struct Regions {
    table: Arc<RwLock<Table>>,
}

#[derive(Default)]
struct Table {
    by_id: BTreeMap<u32, Arc<Region>>,
    /// The PINNED and USER regions, by their address in the guest process. Several USER regions can
    /// begin at the same address. They are listed in the order in which they were attached.
    by_vaddr: BTreeMap<u64, Vec<Arc<Region>>>,
    /// The mapped parts of the window for pinned memory, as start and end addresses. A part stays
    /// in this map until its pages are unmapped, even after its region was removed from `by_id` and
    /// `by_vaddr`.
    window: Arc<Mutex<BTreeMap<u64, u64>>>,
}

impl Regions {
    /// Returns the PINNED or USER region that contains all `len` bytes at the guest's address
    /// `vaddr`. Of several regions that begin at the same address, returns the shortest one. Of
    /// several shortest ones, returns the one that was attached last (docs/device.md, "Regions").
    pub fn find(&self, vaddr: u64, len: usize) -> Option<Arc<Region>> {
        let table = self.table.read().unwrap_or_else(|error| error.into_inner());
        let (_, regions) = table.by_vaddr.range(..=vaddr).next_back()?;
        let containing = regions.iter().rev().filter(|region| region.at(vaddr, len).is_some());
        containing.min_by_key(|region| region.len).cloned()
    }

    /// Returns the attached region with this id, if there is one.
    pub fn get(&self, id: u32) -> Option<Arc<Region>> {
        let table = self.table.read().unwrap_or_else(|error| error.into_inner());
        table.by_id.get(&id).cloned()
    }

    /// Maps a region and adds it to the attached regions.
    pub fn attach(
        &self,
        id: u32,
        kind: RegionKind,
        vaddr: u64,
        pieces: &[Piece<'_>],
    ) -> Result<Arc<Region>, MapError> {
        let mut table = self.table.write().unwrap_or_else(|error| error.into_inner());
        let len = pieces.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.len));
        let end = vaddr.saturating_add(len);
        let window = table.window.clone();
        if kind == RegionKind::Pinned {
            let mut taken = window.lock().unwrap_or_else(|error| error.into_inner());
            if taken.range(..end).next_back().is_some_and(|(_, taken_end)| *taken_end > vaddr) {
                return Err(MapError::Window { vaddr, len });
            }
            taken.insert(vaddr, end);
        }
        let free = move || {
            window.lock().unwrap_or_else(|error| error.into_inner()).remove(&vaddr);
        };
        let region = match Region::map(id, kind, vaddr, pieces) {
            Ok(region) => Arc::new(region),
            Err(error) => {
                if kind == RegionKind::Pinned {
                    free();
                }
                return Err(error);
            }
        };
        if kind == RegionKind::Pinned {
            region.when_unmapped(free);
        }
        table.by_id.insert(id, region.clone());
        if kind != RegionKind::Ring {
            table.by_vaddr.entry(vaddr).or_default().push(region.clone());
        }
        Ok(region)
    }

    /// Removes a region from the attached regions. `told` is called after the region's pages were
    /// unmapped.
    pub fn detach(&self, id: u32, told: impl FnOnce() + Send + 'static) -> Option<Arc<Region>> {
        let mut table = self.table.write().unwrap_or_else(|error| error.into_inner());
        let region = table.by_id.remove(&id)?;
        if let Some(regions) = table.by_vaddr.get_mut(&region.vaddr) {
            regions.retain(|listed| listed.id != id);
            if regions.is_empty() {
                table.by_vaddr.remove(&region.vaddr);
            }
        }
        let (window, pinned, vaddr) =
            (table.window.clone(), region.kind == RegionKind::Pinned, region.vaddr);
        region.when_unmapped(move || {
            if pinned {
                window.lock().unwrap_or_else(|error| error.into_inner()).remove(&vaddr);
            }
            told();
        });
        Some(region)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, FromRawFd, OwnedFd};

    use proptest::prelude::*;

    use super::*;

    /// The address of the first page that the tests use as guest memory.
    const START: u64 = 0x10_0000_0000;

    #[derive(Clone, Debug)]
    enum Step {
        Attach(u32, u64, u64),
        Detach(u32),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (0..6u32, 0..8u64, 1..6u64).prop_map(|(id, at, len)| Step::Attach(id, at, len)),
            1 => (0..6u32).prop_map(Step::Detach),
        ]
    }

    fn memory() -> OwnedFd {
        // SAFETY: the name is a C string. The descriptor is new, so nothing else owns it.
        unsafe {
            let fd = libc::memfd_create(c"guest".as_ptr(), 0);
            assert!(fd >= 0 && libc::ftruncate(fd, 8 * PAGE_BYTES as i64) == 0);
            OwnedFd::from_raw_fd(fd)
        }
    }

    /// A program learns the address at which its memory is mapped in the worker. That address must
    /// not reveal where the worker's libraries are.
    #[test]
    fn a_region_whose_address_is_taken_is_mapped_far_from_everything_else() {
        let (file, taken) = (memory(), Box::new([0u8; 2 * PAGE_BYTES as usize]));
        let vaddr = (taken.as_ptr() as u64).next_multiple_of(PAGE_BYTES);
        let piece = || Piece { file: file.as_fd(), offset: 0, len: PAGE_BYTES };
        let map = || Region::map(1, RegionKind::User, vaddr, &[piece()]).unwrap();
        let regions = [map(), map()];
        assert!(regions.iter().all(|region| APART.contains(&(region.base() as u64))));
        assert_ne!(regions[0].base(), regions[1].base());
    }

    proptest! {
        /// After any sequence of attached and detached regions, only attached regions are found,
        /// and only for ranges that they contain. If several regions begin at the nearest address,
        /// the shortest of them is found. Of several shortest regions, the one that was attached
        /// last is found.
        #[test]
        fn only_regions_that_contain_the_range_are_found(
            steps in prop::collection::vec(step(), 0..24),
            ranges in prop::collection::vec((0..15u64, any::<u64>()), 1..8),
        ) {
            let file = memory();
            let regions = Regions::default();
            let mut attached: Vec<(u32, u64, u64)> = Vec::new();
            for step in steps {
                match step {
                    // Skip ids that are in use, because the device process doesn't use an id twice
                    // at the same time.
                    Step::Attach(id, at, len) if attached.iter().all(|known| known.0 != id) => {
                        let (at, len) = (START + at * PAGE_BYTES, len * PAGE_BYTES);
                        let piece = Piece { file: file.as_fd(), offset: 0, len };
                        regions.attach(id, RegionKind::User, at, &[piece]).unwrap();
                        attached.push((id, at, len));
                    }
                    Step::Attach(..) => {}
                    Step::Detach(id) => {
                        let known = attached.iter().any(|region| region.0 == id);
                        prop_assert_eq!(regions.detach(id, || {}).is_some(), known);
                        attached.retain(|region| region.0 != id);
                    }
                }
            }
            for (page, len) in ranges {
                let at = START + page * PAGE_BYTES;
                for (at, len) in [(at, len % (6 * PAGE_BYTES)), (at + 1, len), (len, 1), (at, 0)] {
                    let nearest = attached.iter().map(|region| region.1).filter(|start| *start <= at);
                    let nearest = nearest.max();
                    let contains = |region: &&(u32, u64, u64)| {
                        let last = u128::from(at) + u128::from(len);
                        Some(region.1) == nearest && last <= u128::from(region.1 + region.2)
                    };
                    let expected = attached.iter().rev().filter(contains).min_by_key(|region| region.2);
                    let found = regions.find(at, len as usize);
                    prop_assert_eq!(found.as_ref().map(|region| region.id()), expected.map(|r| r.0));
                    if let Some(region) = found {
                        let place = region.at(at, len as usize).unwrap() as u64;
                        let (base, end) = (region.base() as u64, region.len() as u64);
                        prop_assert!(place >= base && place + len <= base + end);
                    }
                }
            }
        }
    }
}
