//! Performs an operation of the driver for a worker.
//!
//! The worker could change its memory at any time, so all data is first copied and then checked.
//! The driver gets only the copies, and never a pointer from the worker.

mod allocate;
mod argument;
mod control;
mod duplicate;
mod free;
#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::OwnedFd;

use super::caller::Caller;
use super::objects::Objects;
use argument::Argument;

pub use argument::{Operation, Outcome, Refused, ioctl};

/// Performs an ioctl of a worker. `arguments` are the ioctl's descriptor, request, and address.
/// `driver` makes the ioctl on copies. If this function returns an error, the worker's system call
/// fails with it.
pub fn perform(
    caller: &impl Caller,
    objects: &mut Objects,
    operation: Operation,
    arguments: [u64; 3],
    driver: impl FnOnce(&OwnedFd, &mut [u8]) -> io::Result<()>,
) -> io::Result<Outcome> {
    let mut argument = Argument::copy(caller, operation, arguments)?;
    match operation {
        Operation::Free => free::perform(&mut argument, objects, driver),
        Operation::Control => control::perform(&mut argument, objects, driver),
        Operation::Allocate => allocate::perform(&mut argument, objects, driver),
        Operation::Duplicate => duplicate::perform(&mut argument, objects, driver),
    }
}
