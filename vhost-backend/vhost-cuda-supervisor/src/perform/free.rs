//! Frees an object. The driver permits it only for objects of the caller's own clients.

use std::io;
use std::os::fd::OwnedFd;

use super::argument::{Argument, Outcome};
use crate::caller::Caller;
use crate::objects::Objects;

/// Offsets in the ioctl's argument (NVOS00_PARAMETERS): client, parent, object, and the status.
const CLIENT: usize = 0;
const OBJECT: usize = 8;

pub fn perform(
    argument: &mut Argument<impl Caller>,
    objects: &mut Objects,
    driver: impl FnOnce(&OwnedFd, &mut [u8]) -> io::Result<()>,
) -> io::Result<Outcome> {
    let (client, object) = (argument.u32_at(CLIENT), argument.u32_at(OBJECT));
    argument.call(driver)?;
    if argument.status() == 0 {
        objects.remove(client, object);
    }
    argument.finish()
}
