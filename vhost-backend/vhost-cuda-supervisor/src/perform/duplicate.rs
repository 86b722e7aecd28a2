//! Gives an object another handle, in the same client. libcuda does that to make memory of one GPU
//! accessible to another GPU.

use std::io;
use std::os::fd::OwnedFd;

use host_ipc::messages::DriverObject;

use super::argument::{Argument, Outcome, Refused};
use crate::caller::Caller;
use crate::objects::{MEMORY, Objects};

/// Offsets in the ioctl's argument (NVOS55_PARAMETERS): client, parent, the new handle, the client
/// and the handle of the object, flags, and the status. The new handle and the status are results.
const CLIENT: usize = 0;
const PARENT: usize = 4;
const HANDLE: usize = 8;
const SOURCE_CLIENT: usize = 12;
const SOURCE: usize = 16;
const FLAGS: usize = 20;
pub fn perform(
    argument: &mut Argument<impl Caller>,
    objects: &mut Objects,
    driver: impl FnOnce(&OwnedFd, &mut [u8]) -> io::Result<()>,
) -> io::Result<Outcome> {
    let (client, source) = (argument.u32_at(CLIENT), argument.u32_at(SOURCE));
    let leads_to_channels = objects.leads_to_channels(client, source);
    let plain = argument.u32_at(SOURCE_CLIENT) == client && argument.u32_at(FLAGS) == 0;
    if leads_to_channels || !plain {
        return argument.refuse(Refused::Duplicate);
    }
    let parent = argument.u32_at(PARENT);
    let Some(permit) = objects.permit(client, parent, MEMORY, None) else {
        return argument.refuse(Refused::TooMany(MEMORY));
    };
    argument.call(driver)?;
    if argument.status() == 0 {
        let handle = argument.u32_at(HANDLE);
        objects.add(
            DriverObject { client, parent, handle, class: MEMORY, detail: 0 },
            false,
            permit,
        );
    }
    argument.copy_back(HANDLE..SOURCE_CLIENT)?;
    argument.finish()
}
