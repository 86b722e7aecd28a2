//! Pages that an attacker withholds by means of userfaultfd. A system call that accesses such a
//! page waits until another thread supplies the page, or until the attacker is killed. An attacker
//! could do the same with a FUSE file system.

use std::ffi::c_int;

use virtio_cuda_tests::random::Random;

use crate::memory::result;

const fn number(nr: u64, size: usize) -> u64 {
    const READ_WRITE: u64 = 3;
    READ_WRITE << 30 | (size as u64) << 16 | 0xaa << 8 | nr
}
const API: u64 = number(0x3f, size_of::<Api>());
const REGISTER: u64 = number(0x00, size_of::<Register>());
const ZERO: u64 = number(0x04, size_of::<Zero>());
/// The kernel only reads struct uffdio_range, so the number lacks the bit for writing (1 << 30).
const UNREGISTER: u64 = number(0x01, size_of::<Range>()) & !(1 << 30);

/// The kernel's struct uffdio_api.
#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

/// The kernel's struct uffdio_range.
#[repr(C)]
#[derive(Clone, Copy)]
struct Range {
    start: u64,
    len: u64,
}

/// The kernel's struct uffdio_register.
#[repr(C)]
struct Register {
    range: Range,
    mode: u64,
    ioctls: u64,
}

/// The kernel's struct uffdio_zeropage.
#[repr(C)]
struct Zero {
    range: Range,
    mode: u64,
    done: i64,
}

/// A userfaultfd, with which an attacker's threads withhold and supply pages.
pub struct Withheld {
    file: c_int,
}

impl Withheld {
    /// Opens the userfaultfd. If the kernel doesn't allow that, later calls of [`Self::change`]
    /// fail.
    pub fn new() -> Self {
        // SAFETY: the call takes no pointers.
        let file = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_NONBLOCK) } as c_int;
        let mut api = Api { api: 0xaa, features: 0, ioctls: 0 };
        // SAFETY: the kernel reads and writes only this structure.
        unsafe { libc::ioctl(file, API, &mut api) };
        Self { file }
    }

    /// Withholds the missing pages of a range, stops withholding them, or supplies zeroed pages.
    pub fn change(&self, random: &mut Random, start: u64, len: u64) -> Result<i64, c_int> {
        let range = Range { start, len };
        // SAFETY: the kernel reads and writes only these structures, and pages of the range, which
        // is in a slot.
        result(unsafe {
            match random.within(0, 3) {
                0 => {
                    let mut register = Register { range, mode: 1, ioctls: 0 };
                    libc::ioctl(self.file, REGISTER, &mut register).into()
                }
                1 => libc::ioctl(self.file, UNREGISTER, &range).into(),
                _ => libc::ioctl(self.file, ZERO, &mut Zero { range, mode: 0, done: 0 }).into(),
            }
        })
    }
}
