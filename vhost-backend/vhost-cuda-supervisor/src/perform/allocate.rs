//! Allocates an object.

use std::io;
use std::os::fd::OwnedFd;

use host_ipc::messages::DriverObject;

use super::argument::{Argument, Outcome, Refused, invalid};
use crate::allocations::{self, Rule};
use crate::bytes::u32_at;
use crate::caller::Caller;
use crate::objects::{self, Objects};

/// Offsets in the ioctl's argument (NVOS64_PARAMETERS): client, parent, the new object, its class,
/// pointers to the parameters and to the requested rights, the size of the parameters, flags, and
/// the status. The new object's handle and the status are results. libcuda doesn't use the shorter
/// form of the argument.
const CLIENT: usize = 0;
const PARENT: usize = 4;
const OBJECT: usize = 8;
const CLASS: usize = 12;
const POINTER: usize = 16;
const RIGHTS: usize = 24;
const LENGTH: usize = 32;
const FLAGS: usize = 36;

pub fn perform(
    argument: &mut Argument<impl Caller>,
    objects: &mut Objects,
    driver: impl FnOnce(&OwnedFd, &mut [u8]) -> io::Result<()>,
) -> io::Result<Outcome> {
    let (client, number) = (argument.u32_at(CLIENT), argument.u32_at(CLASS));
    let refused = Refused::Class(number);
    // libcuda requests neither rights nor a serialized form of the parameters, so refuse both.
    let plain = argument.u64_at(RIGHTS) == 0 && argument.u32_at(FLAGS) == 0;
    let Some(class) = allocations::find(number).filter(|_| plain) else {
        return argument.refuse(refused);
    };
    // A length of 0 means the size of the class's parameters.
    let length = argument.u32_at(LENGTH) as usize;
    if length != 0 && length != class.size {
        return Err(invalid());
    }
    // A null pointer is passed on: if the class needs parameters, the driver refuses it.
    let there = argument.u64_at(POINTER);
    let mut parameters = vec![0; if there == 0 { 0 } else { class.size }];
    argument.caller.read(there, &mut parameters)?;
    if !parameters.is_empty() && !class.rules.iter().all(|rule| holds(*rule, client, &parameters)) {
        return argument.refuse(refused);
    }
    let detail = objects::detail(number, &parameters);
    let Some(permit) = objects.permit(client, argument.u32_at(PARENT), number, detail) else {
        return argument.refuse(Refused::TooMany(number));
    };
    argument.point_to(POINTER, &mut parameters);
    argument.call(driver)?;
    if argument.status() == 0 {
        let object = DriverObject {
            client,
            parent: argument.u32_at(PARENT),
            handle: argument.u32_at(OBJECT),
            class: number,
            detail: detail.unwrap_or(0),
        };
        objects.add(object, detail.is_some(), permit);
    }
    argument.caller.write(there, &parameters)?;
    argument.copy_back(OBJECT..CLASS)?;
    argument.finish()
}

/// Returns true if parameters meet a requirement. `client` is the allocating client.
fn holds(rule: Rule, client: u32, parameters: &[u8]) -> bool {
    match rule {
        Rule::OwnClient(at) => [0, client].contains(&u32_at(parameters, at)),
        Rule::Zero { at, length } => parameters[at..at + length].iter().all(|byte| *byte == 0),
        Rule::Clear { at, bits } => u32_at(parameters, at) & bits == 0,
        Rule::Is { at, value } => u32_at(parameters, at) == value,
    }
}
