//! The argument of an operation's ioctl, copied from a worker.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};

use libc::{c_int, c_ulong};

use crate::bytes::{u32_at, u64_at};
use crate::caller::Caller;

/// NV_ERR_INSUFFICIENT_PERMISSIONS.
pub const NOT_PERMITTED: u32 = 0x1b;

/// An ioctl of NVIDIA's devices that the supervisor performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Frees an object (NV_ESC_RM_FREE).
    Free,
    /// Performs an operation on an object (NV_ESC_RM_CONTROL).
    Control,
    /// Allocates an object (NV_ESC_RM_ALLOC).
    Allocate,
    /// Gives an object another handle (NV_ESC_RM_DUP_OBJECT).
    Duplicate,
}

impl Operation {
    /// Returns the operation that a system call requests, if any. The driver itself uses only the
    /// low 8 bits of the ioctl's number and the size.
    pub fn of(number: libc::c_long, arguments: &[u64; 6]) -> Option<Self> {
        let request = arguments[1] as u32;
        if number != libc::SYS_ioctl || request <= 0xffff {
            return None;
        }
        let all = [Self::Free, Self::Control, Self::Allocate, Self::Duplicate];
        all.into_iter().find(|operation| operation.number() == request & 0xff)
    }

    /// Returns the ioctl's number.
    pub fn number(self) -> u32 {
        match self {
            Self::Free => 0x29,
            Self::Control => 0x2a,
            Self::Allocate => 0x2b,
            Self::Duplicate => 0x34,
        }
    }

    /// Returns the size of the ioctl's argument.
    pub fn size(self) -> usize {
        match self {
            Self::Free => 16,
            Self::Control => 32,
            Self::Allocate => 48,
            Self::Duplicate => 28,
        }
    }

    /// Returns the position of the driver's status in the argument.
    pub fn status(self) -> Range<usize> {
        let at = match self {
            Self::Free => 12,
            Self::Control => 28,
            Self::Allocate => 40,
            Self::Duplicate => 24,
        };
        at..at + 4
    }
}

/// The outcome of an operation that a worker requests.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// The driver performed the operation, or refused it with a status.
    Performed,
    /// The supervisor refused the operation.
    Refused(Refused),
}

/// An operation that a worker may not perform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The control operation with this number.
    Control(u32),
    /// The allocation of an object of this class.
    Class(u32),
    /// The allocation of one more object of this class, because the worker, its VM, or all VMs on
    /// the GPU already have the maximum number.
    TooMany(u32),
    /// An additional handle for an object of another client, or for a channel or an object under
    /// which channels are created.
    Duplicate,
}

/// Makes the ioctl of an operation.
///
/// # Safety
/// The argument's pointer must be null, or point to writable parameters of the size that the driver
/// expects, in which each pointer is null or points to a list as long as the operation requires.
pub unsafe fn ioctl(operation: Operation, device: &OwnedFd, argument: &mut [u8]) -> io::Result<()> {
    const READ_AND_WRITE: c_ulong = 3 << 30;
    let request = READ_AND_WRITE | (argument.len() as c_ulong) << 16 | c_ulong::from(b'F') << 8;
    let request = request | c_ulong::from(operation.number());
    // SAFETY: `argument` has the size that the request specifies. The caller guarantees that its
    // pointers are valid.
    match unsafe { libc::ioctl(device.as_raw_fd(), request, argument.as_mut_ptr()) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A copy of the ioctl's argument, together with the worker's thread, descriptor, and address from
/// which it was copied.
pub struct Argument<'a, C> {
    pub caller: &'a C,
    fd: c_int,
    address: u64,
    operation: Operation,
    pub bytes: Vec<u8>,
}

impl<'a, C: Caller> Argument<'a, C> {
    /// Copies the argument of a worker's ioctl on its descriptor `fd` from `address` in the worker.
    pub fn copy(
        caller: &'a C,
        operation: Operation,
        [fd, request, address]: [u64; 3],
    ) -> io::Result<Self> {
        if (request >> 16) & 0x3fff != operation.size() as u64 {
            return Err(invalid());
        }
        let mut bytes = vec![0; operation.size()];
        caller.read(address, &mut bytes)?;
        Ok(Self { caller, fd: fd as c_int, address, operation, bytes })
    }

    pub fn u32_at(&self, at: usize) -> u32 {
        u32_at(&self.bytes, at)
    }

    pub fn u64_at(&self, at: usize) -> u64 {
        u64_at(&self.bytes, at)
    }

    pub fn status(&self) -> u32 {
        self.u32_at(self.operation.status().start)
    }

    /// Makes the pointer at offset `at` point to `parameters`, which must not move until the ioctl
    /// has been made. If `parameters` is empty, the pointer is null.
    pub fn point_to(&mut self, at: usize, parameters: &mut [u8]) {
        let here = if parameters.is_empty() { 0 } else { parameters.as_mut_ptr() as u64 };
        self.bytes[at..at + 8].copy_from_slice(&here.to_ne_bytes());
    }

    /// Makes the ioctl on the worker's descriptor.
    pub fn call(
        &mut self,
        driver: impl FnOnce(&OwnedFd, &mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        driver(&self.caller.device(self.fd)?, &mut self.bytes)
    }

    /// Copies a part of the argument back to the worker.
    pub fn copy_back(&self, range: Range<usize>) -> io::Result<()> {
        self.caller.write(self.address.wrapping_add(range.start as u64), &self.bytes[range])
    }

    /// Copies the driver's status to the worker.
    pub fn finish(&self) -> io::Result<Outcome> {
        self.copy_back(self.operation.status())?;
        Ok(Outcome::Performed)
    }

    /// Writes the status [`NOT_PERMITTED`] to the worker.
    pub fn refuse(&mut self, refused: Refused) -> io::Result<Outcome> {
        self.bytes[self.operation.status()].copy_from_slice(&NOT_PERMITTED.to_ne_bytes());
        self.copy_back(self.operation.status())?;
        Ok(Outcome::Refused(refused))
    }
}

/// Returns the error EINVAL.
pub fn invalid() -> io::Error {
    io::Error::from_raw_os_error(libc::EINVAL)
}
