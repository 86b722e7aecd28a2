//! Performs a control operation.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use libc::c_int;

use host_ipc::messages::DriverObject;

use super::argument::{Argument, Outcome, Refused, invalid};
use crate::bytes::{u16_at, u32_at, u64_at};
use crate::caller::Caller;
use crate::controls::{self, Handles, List, Parameters};
use crate::objects::{MEMORY, Objects, Permit};

/// Offsets in the ioctl's argument (NVOS54_PARAMETERS): client, object, command, flags, pointer to
/// the parameters, their size, and the status, which is the only result.
const CLIENT: usize = 0;
const COMMAND: usize = 8;
const FLAGS: usize = 12;
const POINTER: usize = 16;
const LENGTH: usize = 24;

/// Maximum size of the parameters, in bytes. (The next constant is the maximum size of a list.) The
/// largest parameters that libcuda uses have 13,344 bytes.
pub const MAX_PARAMETERS: usize = 16 << 10;
const MAX_LIST: usize = 64 << 10;
/// Maximum number of objects that one descriptor can make available. Exported objects exist as long
/// as the descriptor, and no longer count toward the VM's limits once the worker has freed them, so
/// a descriptor must not make many of them available. One operation can export this many.
const MAX_ROOM: u16 = 512;

pub fn perform(
    argument: &mut Argument<impl Caller>,
    objects: &mut Objects,
    driver: impl FnOnce(&OwnedFd, &mut [u8]) -> io::Result<()>,
) -> io::Result<Outcome> {
    let command = argument.u32_at(COMMAND);
    let refused = Refused::Control(command);
    // Refuse operations with flags. libcuda never passes flags, and some of them make the driver
    // skip locks.
    let allowed = controls::find(command).filter(|_| argument.u32_at(FLAGS) == 0);
    let Some(allowed) = allowed else { return argument.refuse(refused) };
    let length = argument.u32_at(LENGTH) as usize;
    let there = argument.u64_at(POINTER);
    if length > MAX_PARAMETERS || (there == 0 && length > 0) {
        return Err(invalid());
    }
    let mut parameters = vec![0; length];
    argument.caller.read(there, &mut parameters)?;
    let client = argument.u32_at(CLIENT);
    let imports = match allowed {
        Parameters::Export { handles, size, room, .. } => {
            has_size(&parameters, size)?;
            if room.is_some_and(|at| u16_at(&parameters, at) > MAX_ROOM) {
                return argument.refuse(Refused::TooMany(MEMORY));
            }
            let leads_to_channels = |handle: &u32| objects.leads_to_channels(client, *handle);
            if read_handles(&parameters, handles)?.iter().any(leads_to_channels) {
                return argument.refuse(refused);
            }
            Vec::new()
        }
        Parameters::Import { size, parent, handles, .. } => {
            has_size(&parameters, size)?;
            let parent = u32_at(&parameters, parent);
            match permit(objects, client, parent, read_handles(&parameters, handles)?) {
                Some(imports) => imports,
                None => return argument.refuse(Refused::TooMany(MEMORY)),
            }
        }
        _ => Vec::new(),
    };
    let mut held = Held::default();
    if !held.prepare(argument.caller, &mut parameters, allowed)? {
        return argument.refuse(refused);
    }
    argument.point_to(POINTER, &mut parameters);
    argument.call(driver)?;
    if let Parameters::Import { handles, .. } = allowed
        && argument.status() == 0
    {
        add(objects, imports, handles, &parameters);
    }
    held.restore(argument.caller, &mut parameters)?;
    argument.caller.write(there, &parameters)?;
    argument.finish()
}

fn has_size(parameters: &[u8], size: usize) -> io::Result<()> {
    if parameters.len() == size { Ok(()) } else { Err(invalid()) }
}

/// Returns the handles in the parameters. In a list, handles may be 0; the driver ignores those.
fn read_handles(parameters: &[u8], handles: Handles) -> io::Result<Vec<u32>> {
    let number = handles.number.map_or(1, |at| usize::from(u16_at(parameters, at)));
    if number > handles.most {
        return Err(invalid());
    }
    let read: Vec<_> = (0..number).map(|i| u32_at(parameters, handles.at + 4 * i)).collect();
    // For a single handle of 0, the driver would choose a handle itself, and the supervisor
    // wouldn't know that handle.
    let chosen_by_driver = handles.number.is_none() && read == [0];
    if chosen_by_driver { Err(invalid()) } else { Ok(read) }
}

/// An object that may be imported.
struct Import {
    object: DriverObject,
    permit: Permit,
    /// Index of the object's handle in the parameters.
    place: usize,
}

/// Counts the objects that are about to be imported. Returns `None` if there are too many.
fn permit(
    objects: &mut Objects,
    client: u32,
    parent: u32,
    handles: Vec<u32>,
) -> Option<Vec<Import>> {
    let handles = handles.into_iter().enumerate().filter(|(_, handle)| *handle != 0);
    let import = |(place, handle)| {
        let permit = objects.permit(client, parent, MEMORY, None)?;
        let object = DriverObject { client, parent, handle, class: MEMORY, detail: 0 };
        Some(Import { object, permit, place })
    };
    handles.map(import).collect()
}

/// Records the objects that the driver has imported. For a list, the driver writes a type for each
/// object after the handles. The type is 0 if nothing was exported for that object, so nothing was
/// imported.
fn add(objects: &mut Objects, imports: Vec<Import>, handles: Handles, parameters: &[u8]) {
    let types = &parameters[handles.at + 4 * handles.most..];
    for Import { object, permit, place } in imports {
        if handles.number.is_none() || types[place] != 0 {
            objects.add(object, false, permit);
        }
    }
}

/// The supervisor's copies of the lists and the descriptor to which the parameters refer.
#[derive(Default)]
struct Held {
    /// For each list: the offset of the pointer to it, its address in the worker, and its copy.
    lists: Vec<(usize, u64, Vec<u8>)>,
    /// For a descriptor: its offset in the parameters, its number in the worker as bytes, and the
    /// duplicate.
    descriptor: Option<(usize, [u8; 4], OwnedFd)>,
}

impl Held {
    /// Replaces pointers and descriptors in the parameters with the supervisor's own. Returns false
    /// if the operation isn't permitted with these parameters.
    fn prepare(
        &mut self,
        caller: &impl Caller,
        parameters: &mut [u8],
        kind: Parameters,
    ) -> io::Result<bool> {
        match kind {
            Parameters::Plain => {}
            Parameters::Lists { size, lists } => {
                has_size(parameters, size)?;
                let entries = u32_at(parameters, 0) as usize;
                for list in lists {
                    self.copy_list(caller, parameters, *list, entries)?;
                }
            }
            Parameters::Unused { size, pointer } => {
                has_size(parameters, size)?;
                let there = u64_at(parameters, pointer);
                self.lists.push((pointer, there, Vec::new()));
                parameters[pointer..pointer + 8].fill(0);
            }
            Parameters::Descriptor { at }
            | Parameters::Export { descriptor: at, .. }
            | Parameters::Import { descriptor: at, .. } => {
                let Some(number) = parameters.get_mut(at..at + 4) else {
                    return Err(invalid());
                };
                let original: [u8; 4] = (&*number).try_into().unwrap_or_default();
                // For a negative number, the driver would create a descriptor, and it would do so
                // in this process instead of the worker.
                if c_int::from_ne_bytes(original) < 0 {
                    return Ok(false);
                }
                let file = caller.device(c_int::from_ne_bytes(original))?;
                number.copy_from_slice(&file.as_raw_fd().to_ne_bytes());
                self.descriptor = Some((at, original, file));
            }
            Parameters::AtMost(most) => {
                has_size(parameters, 8)?;
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

    /// Copies lists back to the worker, and puts the worker's pointers and descriptor number back
    /// into the parameters.
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
