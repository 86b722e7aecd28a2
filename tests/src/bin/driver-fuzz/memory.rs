//! The memory of an attacker that its operations change. The attacker's own code never accesses
//! this memory. Only the kernel does, during system calls. Therefore, a missing page causes an
//! error of the system call, but no signal.

use std::ffi::c_int;
use std::io::Error;

use protocol::windows;
use virtio_cuda_tests::random::Random;

/// Size of a slot in bytes. A slot is a range of addresses in which operations map memory.
pub const SLOT: u64 = 1 << 20;
const SLOTS: u64 = 32;
const PAGE: u64 = windows::PAGE_BYTES;
/// Size of the first part of a [`Source`]'s file, in bytes. A thread stores arguments in this part.
/// Random bytes follow it.
const SCRATCH: u64 = 4096;
const JUNK: u64 = 16384;

/// Two ranges of addresses, each of which consists of slots. One is at an address that the kernel
/// chooses. The other is in the address window for pinned memory.
#[derive(Clone, Copy)]
pub struct Playground {
    base: u64,
}

/// Converts the return value of a system call to a result. The error is errno.
pub fn result(returned: i64) -> Result<i64, c_int> {
    if returned == -1 {
        Err(Error::last_os_error().raw_os_error().unwrap_or(-1))
    } else {
        Ok(returned)
    }
}

impl Playground {
    /// Reserves both ranges of addresses.
    pub fn new() -> Self {
        let reserve = |at: u64, flags| {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | flags;
            // SAFETY: without MAP_FIXED, mmap doesn't replace existing mappings. Neither does it
            // with MAP_FIXED_NOREPLACE.
            unsafe {
                libc::mmap(at as *mut _, (SLOT * SLOTS) as usize, libc::PROT_NONE, flags, -1, 0)
            }
        };
        let base = reserve(0, 0);
        assert!(base != libc::MAP_FAILED, "no addresses: {}", Error::last_os_error());
        let window = reserve(windows::PINNED.start, libc::MAP_FIXED_NOREPLACE);
        assert!(window != libc::MAP_FAILED, "the window is taken: {}", Error::last_os_error());
        for at in [base, window] {
            let readable = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: this range has just been mapped, and nothing uses it yet.
            unsafe { libc::mprotect(at, (SLOT * SLOTS * 3 / 4) as usize, readable) };
        }
        Self { base: base as u64 }
    }

    /// Returns the address of a slot in the window for pinned memory.
    pub fn window_slot(&self, random: &mut Random) -> u64 {
        windows::PINNED.start + random.within(0, SLOTS - 1) * SLOT
    }

    /// Returns the address of a random slot. Half of the time, it's in the window for pinned
    /// memory.
    pub fn slot(&self, random: &mut Random) -> u64 {
        random.pick(&[self.base, windows::PINNED.start]) + random.within(0, SLOTS - 1) * SLOT
    }

    /// Returns the address of a page in a random slot, which is often the slot's first page.
    pub fn page(&self, random: &mut Random) -> u64 {
        let page = random.pick(&[0, 0, 1, 2, 7, SLOT / PAGE - 1, SLOT / PAGE / 2]);
        self.slot(random) + page * PAGE
    }

    /// Returns a random address. It's usually in a slot, often close to the end of a page, and
    /// sometimes anywhere.
    pub fn address(&self, random: &mut Random) -> u64 {
        if random.within(0, 9) == 0 {
            return wild(random);
        }
        self.page(random) + random.pick(&[0, 0, 8, 1, PAGE - 8, PAGE - 16, PAGE - 4, PAGE - 1])
    }

    /// Returns a length that fits into a slot.
    pub fn len(&self, random: &mut Random) -> u64 {
        let pages = random.pick(&[1, 1, 2, 3, 16, 17, 128, 256, 256, 512]);
        pages * PAGE
    }

    /// Maps anonymous memory in a random slot.
    pub fn map(&self, random: &mut Random) -> Result<i64, c_int> {
        let at = self.slot(random);
        let shared = random.pick(&[libc::MAP_PRIVATE, libc::MAP_PRIVATE, libc::MAP_SHARED]);
        let huge = if random.within(0, 15) == 0 { libc::MAP_HUGETLB } else { 0 };
        let flags = libc::MAP_FIXED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | shared | huge;
        let (rw, r) = (libc::PROT_READ | libc::PROT_WRITE, libc::PROT_READ);
        let protection = random.pick(&[rw, rw, rw, rw, r, libc::PROT_NONE]);
        // SAFETY: MAP_FIXED replaces only memory in one slot, which the program never accesses
        // itself.
        result(unsafe {
            libc::mmap(at as *mut _, self.len(random).min(SLOT) as usize, protection, flags, -1, 0)
        } as i64)
    }
}

/// Returns a random number that may be an edge case, such as a power of two.
pub fn wild(random: &mut Random) -> u64 {
    match random.within(0, 3) {
        0 => random.word(),
        1 => 1 << random.within(0, 63),
        2 => (1 << random.within(3, 63)) - random.pick(&[1, 8, PAGE]).min(8),
        _ => random.pick(&[
            0,
            1,
            8,
            PAGE - 1,
            PAGE + 1,
            u64::MAX,
            0u64.wrapping_sub(PAGE),
            u32::MAX.into(),
        ]),
    }
}

/// A memory file of a thread. The kernel copies bytes from it to slots when the thread reads the
/// file with a slot as the buffer.
pub struct Source {
    file: c_int,
}

impl Source {
    pub fn new(random: &mut Random) -> Self {
        // SAFETY: the name is a C string.
        let file = unsafe { libc::memfd_create(c"source".as_ptr(), 0) };
        let source = Self { file };
        let junk = random.bytes(JUNK as usize);
        // SAFETY: the buffer is valid for its length.
        let written =
            unsafe { libc::pwrite(file, junk.as_ptr().cast(), junk.len(), SCRATCH as i64) };
        assert!(written == JUNK as isize, "no file in memory: {}", Error::last_os_error());
        source
    }

    /// Copies bytes to an address. Fails if there is no writable memory at the address.
    pub fn put(&self, bytes: &[u8], at: u64) -> Result<i64, c_int> {
        // SAFETY: the buffer is valid for its length. The kernel checks the address `at`. That
        // address isn't in memory that this program uses otherwise.
        unsafe {
            result(libc::pwrite(self.file, bytes.as_ptr().cast(), bytes.len(), 0) as i64)?;
            result(libc::pread(self.file, at as *mut _, bytes.len(), 0) as i64)
        }
    }

    /// Copies random bytes to an address, or bytes from the address to the file.
    pub fn fill(&self, random: &mut Random, at: u64) -> Result<i64, c_int> {
        let len = random.pick(&[1, 4, 8, 64, 4096, 8192]);
        let from = (SCRATCH + random.within(0, JUNK - len)) as i64;
        // SAFETY: the kernel checks the address `at`, which isn't in memory that this program uses
        // otherwise.
        unsafe {
            if random.within(0, 2) == 0 {
                result(libc::pwrite(self.file, at as *const _, len as usize, from) as i64)
            } else {
                result(libc::pread(self.file, at as *mut _, len as usize, from) as i64)
            }
        }
    }
}
