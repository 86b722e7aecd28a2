//! Files that the program shares with other processes and has registered, such as those in
//! /dev/shm. Each file is a separate region in the memory table, at addresses that are reserved for
//! such files, so that the device process doesn't access them.

use super::areas::{Area, Part};
use super::memory::PAGE;
use crate::error::TransportError;
use crate::ranges::FreeRanges;
use protocol::windows::FILES;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The device's memory table.
pub trait MemoryTable {
    /// Adds a file at a guest-physical address.
    fn add(&self, at: u64, len: u64, fd: RawFd) -> Result<(), TransportError>;
    fn remove(&self, at: u64, len: u64) -> Result<(), TransportError>;
}

struct Shared {
    device: u64,
    inode: u64,
    /// Guest-physical address of the file's first byte.
    at: u64,
    /// The length of the file when it was shared, in whole pages.
    len: u64,
    /// Number of registered pages. At least 1.
    pages: usize,
}

/// The files that are in the device's memory table.
pub struct SharedFiles {
    files: Vec<Shared>,
    free: FreeRanges,
}

impl Default for SharedFiles {
    fn default() -> Self {
        let mut free = FreeRanges::default();
        free.give(FILES.start, FILES.end - FILES.start);
        Self { files: Vec::new(), free }
    }
}

impl SharedFiles {
    /// Adds the file of a shared area to the device's memory table, unless it is already there, and
    /// counts the part's pages as registered. Returns the guest-physical address of the part.
    pub fn join(
        &mut self,
        table: &dyn MemoryTable,
        part: &Part<'_>,
    ) -> Result<u64, TransportError> {
        let file = open(part.area)?;
        let found = file
            .metadata()
            .map_err(|source| TransportError::System { what: "querying a shared file", source })?;
        let (offset, pages) = (part.offset(), part.len / PAGE);
        let len = found.len().next_multiple_of(PAGE as u64);
        if offset + part.len as u64 > len {
            // Fail, because there is no memory beyond the end of a file.
            let source = io::Error::from_raw_os_error(libc::EFAULT);
            return Err(TransportError::System { what: "finding pages of a file", source });
        }
        let end = offset + part.len as u64;
        let known = self.files.iter_mut().find(|shared| {
            (shared.device, shared.inode) == (found.dev(), found.ino()) && end <= shared.len
        });
        if let Some(shared) = known {
            shared.pages += pages;
            return Ok(shared.at + offset);
        }
        let at = self.free.take(len).ok_or(TransportError::OutOfMemory { bytes: len as usize })?;
        if let Err(error) = table.add(at, len, file.as_raw_fd()) {
            self.free.give(at, len);
            return Err(error);
        }
        self.files.push(Shared { device: found.dev(), inode: found.ino(), at, len, pages });
        Ok(at + offset)
    }

    /// Ends the registration of pages at a guest-physical address. Removes the file from the memory
    /// table if none of its pages is registered any more.
    pub fn leave(
        &mut self,
        table: &dyn MemoryTable,
        at: u64,
        pages: usize,
    ) -> Result<(), TransportError> {
        let holds = |shared: &Shared| (shared.at..shared.at + shared.len).contains(&at);
        let Some(index) = self.files.iter().position(holds) else { return Ok(()) };
        let shared = &mut self.files[index];
        shared.pages -= pages;
        if shared.pages > 0 {
            return Ok(());
        }
        let shared = self.files.swap_remove(index);
        table.remove(shared.at, shared.len)?;
        self.free.give(shared.at, shared.len);
        Ok(())
    }
}

/// Opens the file of a shared area, which must be in memory. Files on a disk can't be pinned,
/// because the kernel must be able to write their pages back at any time.
fn open(area: &Area) -> Result<File, TransportError> {
    let file = by_area(area).or_else(|| by_path(area)).or_else(|| by_descriptor(area));
    let Some(file) = file else {
        return Err(TransportError::NotShareable {
            vaddr: area.range.start,
            why: "it is shared, and the program has neither its file nor CAP_CHECKPOINT_RESTORE",
        });
    };
    // SAFETY: the descriptor is open, and this fcntl takes no further argument.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) } < 0 {
        let source = io::Error::from_raw_os_error(libc::EINVAL);
        return Err(TransportError::System { what: "pinning pages of a file on a disk", source });
    }
    Ok(file)
}

fn open_path(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_CLOEXEC).open(path)
}

fn is_of(area: &Area, found: &std::fs::Metadata) -> bool {
    let device = (libc::major(found.dev()), libc::minor(found.dev()));
    found.is_file() && found.ino() == area.inode && device == area.device
}

/// Opens the area's file through /proc/self/map_files, for which Linux requires privileges.
fn by_area(area: &Area) -> Option<File> {
    let Area { range, .. } = area;
    let path = format!("/proc/self/map_files/{:x}-{:x}", range.start, range.end);
    open_path(Path::new(&path)).ok()
}

/// Opens the area's file by its name, if it still has that name. Checks that the name leads to the
/// area's file before opening it, because opening a device can have side effects.
fn by_path(area: &Area) -> Option<File> {
    let path = Path::new(&area.name);
    if !path.is_absolute() || !is_of(area, &std::fs::metadata(path).ok()?) {
        return None;
    }
    let file = open_path(path).ok()?;
    is_of(area, &file.metadata().ok()?).then_some(file)
}

/// Opens the area's file through a descriptor that the program has for it.
fn by_descriptor(area: &Area) -> Option<File> {
    let mut descriptors = std::fs::read_dir("/proc/self/fd").ok()?.flatten();
    let path = descriptors.find_map(|entry| {
        let path = entry.path();
        is_of(area, &std::fs::metadata(&path).ok()?).then_some(path)
    })?;
    // Open the file again, because the new file description may be writable even if the program's
    // isn't. A process that isn't dumpable may not open its own descriptors through /proc, so if
    // opening fails, duplicate the descriptor.
    open_path(&path).ok().or_else(|| duplicate(&path))
}

fn duplicate(path: &Path) -> Option<File> {
    let fd: RawFd = path.file_name()?.to_str()?.parse().ok()?;
    // SAFETY: this fcntl takes an integer argument.
    let fd = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
    // SAFETY: the descriptor is new, and nothing else owns it.
    (fd >= 0).then(|| unsafe { File::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::super::areas;
    use super::*;
    use std::cell::RefCell;

    /// A memory table that records the files that were added.
    #[derive(Default)]
    struct Table(RefCell<Vec<(u64, u64)>>);

    impl MemoryTable for Table {
        fn add(&self, at: u64, len: u64, _: RawFd) -> Result<(), TransportError> {
            self.0.borrow_mut().push((at, len));
            Ok(())
        }

        fn remove(&self, at: u64, len: u64) -> Result<(), TransportError> {
            self.0.borrow_mut().retain(|added| *added != (at, len));
            Ok(())
        }
    }

    fn memfd(pages: usize) -> File {
        // SAFETY: the name is a C string, and the descriptor is new.
        let file = unsafe {
            let fd = libc::memfd_create(c"shared".as_ptr(), libc::MFD_CLOEXEC);
            assert!(fd >= 0);
            File::from_raw_fd(fd)
        };
        file.set_len((pages * PAGE) as u64).unwrap();
        file
    }

    fn map(file: &File, offset: usize, pages: usize) -> usize {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let (fd, offset) = (file.as_raw_fd(), (offset * PAGE) as libc::off_t);
        // SAFETY: no existing mapping is replaced.
        let at = unsafe {
            libc::mmap(std::ptr::null_mut(), pages * PAGE, access, libc::MAP_SHARED, fd, offset)
        };
        assert_ne!(at, libc::MAP_FAILED);
        at as usize
    }

    /// Calls `use_it` with a part of an area: `pages` pages at `at`.
    fn with_part<R>(at: usize, pages: usize, use_it: impl FnOnce(&Part<'_>) -> R) -> R {
        let areas = areas::current().unwrap();
        let parts = areas::parts(&areas, at, pages * PAGE).unwrap();
        assert_eq!(parts.len(), 1);
        use_it(&parts[0])
    }

    #[test]
    fn a_file_is_shared_once_until_no_page_of_it_is_registered() {
        let (table, mut files) = (Table::default(), SharedFiles::default());
        let (file, page) = (memfd(8), PAGE as u64);
        let (first, second) = (map(&file, 0, 8), map(&file, 2, 6));
        let at = with_part(first + PAGE, 2, |part| files.join(&table, part)).unwrap();
        let again = with_part(second, 1, |part| files.join(&table, part)).unwrap();
        assert_eq!((at, again), (FILES.start + page, FILES.start + 2 * page));
        assert_eq!(*table.0.borrow(), [(FILES.start, 8 * page)]);
        files.leave(&table, at, 2).unwrap();
        assert_eq!(table.0.borrow().len(), 1);
        files.leave(&table, again, 1).unwrap();
        assert!(table.0.borrow().is_empty());
        // If a file has become longer, it is added to the table a second time while the shorter
        // region is in use.
        let at = with_part(first, 1, |part| files.join(&table, part)).unwrap();
        file.set_len(16 * page).unwrap();
        let longer = map(&file, 12, 4);
        let other = with_part(longer, 4, |part| files.join(&table, part)).unwrap();
        assert_eq!(*table.0.borrow(), [(at, 8 * page), (other - 12 * page, 16 * page)]);
        // Sharing fails for a part beyond the end of the file, because it has no memory.
        file.set_len(13 * page).unwrap();
        let error = with_part(longer, 4, |part| files.join(&table, part)).unwrap_err();
        assert!(error.to_string().ends_with("Bad address (os error 14)"), "{error}");
    }

    #[test]
    fn the_file_of_an_area_is_found_without_privileges() {
        let by_descriptor_only = memfd(1);
        let at = map(&by_descriptor_only, 0, 1);
        with_part(at, 1, |part| {
            assert!(by_path(part.area).is_none());
            let found = by_descriptor(part.area).unwrap().metadata().unwrap();
            assert_eq!(found.ino(), by_descriptor_only.metadata().unwrap().ino());
            let fd = format!("/proc/self/fd/{}", by_descriptor_only.as_raw_fd());
            assert!(duplicate(Path::new(&fd)).is_some());
        });
        drop(by_descriptor_only);
        with_part(at, 1, |part| assert!(by_descriptor(part.area).is_none()));

        let path = format!("/dev/shm/guest-transport-{}", std::process::id());
        let by_path_only = File::create_new(&path).unwrap();
        by_path_only.set_len(PAGE as u64).unwrap();
        let at = map(&open_path(Path::new(&path)).unwrap(), 0, 1);
        drop(by_path_only);
        with_part(at, 1, |part| {
            assert!(by_descriptor(part.area).is_none());
            assert!(by_path(part.area).is_some());
            // Replace the file at the path with another file, which must not be opened.
            std::fs::remove_file(&path).unwrap();
            File::create_new(&path).unwrap();
            assert!(by_path(part.area).is_none());
        });
        std::fs::remove_file(&path).unwrap();
    }
}
