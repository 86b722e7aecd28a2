//! Performs a control operation.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use libc::c_int;

use super::argument::{Argument, Outcome, Refused, invalid};
use crate::bytes::{u32_at, u64_at};
use crate::caller::Caller;
use crate::controls::{self, List, Parameters};

/// The ioctl's argument (NVOS54_PARAMETERS): client, object, command, flags, pointer to the
/// parameters, their size, and the status, which is the only result.
const COMMAND: usize = 8;
const FLAGS: usize = 12;
const POINTER: usize = 16;
const LENGTH: usize = 24;

/// The largest parameters and lists. The largest parameters that libcuda uses have 13,344 bytes.
pub const MAX_PARAMETERS: usize = 16 << 10;
const MAX_LIST: usize = 64 << 10;

pub fn perform(
    argument: &mut Argument<impl Caller>,
    driver: impl FnOnce(&OwnedFd, &mut [u8]) -> io::Result<()>,
) -> io::Result<Outcome> {
    let command = argument.u32_at(COMMAND);
    let refused = Refused::Control(command);
    // No operation that libcuda uses has flags. With some of them, the driver skips locks.
    let allowed = controls::find(command).filter(|_| argument.u32_at(FLAGS) == 0);
    let Some(allowed) = allowed else { return argument.refuse(refused) };
    let length = argument.u32_at(LENGTH) as usize;
    let there = argument.u64_at(POINTER);
    if length > MAX_PARAMETERS || (there == 0 && length > 0) {
        return Err(invalid());
    }
    let mut parameters = vec![0; length];
    argument.caller.read(there, &mut parameters)?;
    let mut held = Held::default();
    if !held.prepare(argument.caller, &mut parameters, allowed)? {
        return argument.refuse(refused);
    }
    argument.point_to(POINTER, &mut parameters);
    argument.call(driver)?;
    held.restore(argument.caller, &mut parameters)?;
    argument.caller.write(there, &parameters)?;
    argument.finish()
}

/// Copies of what the parameters refer to.
#[derive(Default)]
struct Held {
    /// Lists, with their addresses in the worker and the offsets of the pointers to them.
    lists: Vec<(usize, u64, Vec<u8>)>,
    /// A descriptor, with its offset and its number in the worker.
    descriptor: Option<(usize, [u8; 4], OwnedFd)>,
}

impl Held {
    /// Replaces pointers and descriptors in the parameters by the supervisor's own. Returns false
    /// if the operation isn't permitted with these parameters.
    fn prepare(
        &mut self,
        caller: &impl Caller,
        parameters: &mut [u8],
        kind: Parameters,
    ) -> io::Result<bool> {
        let has_size = |size: usize| match parameters.len() == size {
            true => Ok(()),
            false => Err(invalid()),
        };
        match kind {
            Parameters::Plain => {}
            Parameters::Lists { size, lists } => {
                has_size(size)?;
                let entries = u32_at(parameters, 0) as usize;
                for list in lists {
                    self.copy_list(caller, parameters, *list, entries)?;
                }
            }
            Parameters::Unused { size, pointer } => {
                has_size(size)?;
                let there = u64_at(parameters, pointer);
                self.lists.push((pointer, there, Vec::new()));
                parameters[pointer..pointer + 8].fill(0);
            }
            Parameters::Descriptor { at } => {
                let Some(number) = parameters.get_mut(at..at + 4) else {
                    return Err(invalid());
                };
                let original: [u8; 4] = (&*number).try_into().unwrap_or_default();
                // The driver would create a descriptor in this process.
                if c_int::from_ne_bytes(original) < 0 {
                    return Ok(false);
                }
                let file = caller.device(c_int::from_ne_bytes(original))?;
                number.copy_from_slice(&file.as_raw_fd().to_ne_bytes());
                self.descriptor = Some((at, original, file));
            }
            Parameters::AtMost(most) => {
                has_size(8)?;
                return Ok(u64_at(parameters, 0) <= most);
            }
        }
        Ok(true)
    }

    fn copy_list(
        &mut self,
        caller: &impl Caller,
        parameters: &mut [u8],
        list: List,
        entries: usize,
    ) -> io::Result<()> {
        let there = u64_at(parameters, list.pointer);
        let length = entries.saturating_mul(list.entry);
        if length > MAX_LIST {
            return Err(invalid());
        }
        let mut copy = vec![0; length];
        let mut here = 0;
        if there != 0 && length > 0 {
            caller.read(there, &mut copy)?;
            here = copy.as_mut_ptr() as u64;
        } else {
            copy.clear();
        }
        parameters[list.pointer..list.pointer + 8].copy_from_slice(&here.to_ne_bytes());
        self.lists.push((list.pointer, there, copy));
        Ok(())
    }

    /// Copies lists back to the worker, and restores the worker's pointers and descriptor.
    fn restore(self, caller: &impl Caller, parameters: &mut [u8]) -> io::Result<()> {
        for (pointer, there, copy) in self.lists {
            caller.write(there, &copy)?;
            parameters[pointer..pointer + 8].copy_from_slice(&there.to_ne_bytes());
        }
        if let Some((at, original, _)) = self.descriptor {
            parameters[at..at + 4].copy_from_slice(&original);
        }
        Ok(())
    }
}
