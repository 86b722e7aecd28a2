//! Performs a control operation for a worker.
//!
//! The worker could change its memory at any time, so everything is copied once and then checked.
//! The driver gets only copies: no pointer of the worker's reaches it.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use libc::{c_int, c_ulong};

use super::caller::Caller;
use super::controls::{self, List, Parameters};

/// The number of the control operation among the ioctls of NVIDIA's devices (NV_ESC_RM_CONTROL).
const CONTROL: u32 = 0x2a;
/// The ioctl's argument (NVOS54_PARAMETERS): client, object, command, flags, pointer to the
/// parameters, their size, and the status, which is the only result.
const SIZE: usize = 32;
const COMMAND: usize = 8;
const FLAGS: usize = 12;
const POINTER: usize = 16;
const LENGTH: usize = 24;
const STATUS: usize = 28;
/// NV_ERR_INSUFFICIENT_PERMISSIONS.
const NOT_PERMITTED: u32 = 0x1b;

/// The largest parameters and lists. The largest parameters that libcuda uses have 13,344 bytes.
const MAX_PARAMETERS: usize = 16 << 10;
const MAX_LIST: usize = 64 << 10;

/// The outcome of a call.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// The driver performed the operation, or refused it itself.
    Performed,
    /// The worker may not perform this operation.
    Refused(u32),
}

/// Returns true if a system call is a control operation, or an ioctl with the same number in its low 8
/// bits, which are all that the driver reads.
pub fn is_control(number: libc::c_long, arguments: &[u64; 6]) -> bool {
    let request = arguments[1] as u32;
    number == libc::SYS_ioctl && request & 0xff == CONTROL && request > 0xffff
}

/// Performs the ioctl `request` of a worker on its descriptor `fd`, with an argument at `argument`.
/// `driver` makes the ioctl. An error is the result of the worker's system call.
pub fn perform(
    caller: &impl Caller,
    fd: c_int,
    request: u32,
    argument: u64,
    driver: impl FnOnce(&OwnedFd, &mut [u8; SIZE]) -> io::Result<()>,
) -> io::Result<Outcome> {
    let invalid = || io::Error::from_raw_os_error(libc::EINVAL);
    if request & 0xff != CONTROL || (request >> 16) & 0x3fff != SIZE as u32 {
        return Err(invalid());
    }
    let mut call = [0; SIZE];
    caller.read(argument, &mut call)?;
    let status = argument.wrapping_add(STATUS as u64);
    let command = u32_at(&call, COMMAND);
    let refuse = || {
        caller.write(status, &NOT_PERMITTED.to_ne_bytes())?;
        Ok(Outcome::Refused(command))
    };
    let length = u32_at(&call, LENGTH) as usize;
    let there = u64_at(&call, POINTER);
    // No operation that libcuda uses has flags. With some of them, the driver skips locks.
    let allowed = controls::find(command).filter(|_| u32_at(&call, FLAGS) == 0);
    let Some(allowed) = allowed else { return refuse() };
    if length > MAX_PARAMETERS || (there == 0 && length > 0) {
        return Err(invalid());
    }
    let mut parameters = vec![0; length];
    caller.read(there, &mut parameters)?;
    let mut held = Held::default();
    if !held.prepare(caller, &mut parameters, allowed)? {
        return refuse();
    }
    let device = caller.device(fd)?;
    // A pointer to no parameters must be null.
    let here = if length == 0 { 0 } else { parameters.as_mut_ptr() as u64 };
    call[POINTER..LENGTH].copy_from_slice(&here.to_ne_bytes());
    driver(&device, &mut call)?;
    held.restore(caller, &mut parameters)?;
    caller.write(there, &parameters)?;
    caller.write(status, &call[STATUS..])?;
    Ok(Outcome::Performed)
}

/// Makes the ioctl.
///
/// # Safety
/// The argument's pointer must be null, or point to writable parameters of the given size in which
/// all pointers are null or point to lists as long as the operation requires.
pub unsafe fn ioctl(device: &OwnedFd, call: &mut [u8; SIZE]) -> io::Result<()> {
    const READ_AND_WRITE: c_ulong = 3 << 30;
    let request = READ_AND_WRITE | (SIZE as c_ulong) << 16 | c_ulong::from(b'F') << 8;
    let request = request | c_ulong::from(CONTROL);
    // SAFETY: `call` has the size that the request says; the caller vouches for the rest.
    match unsafe { libc::ioctl(device.as_raw_fd(), request, call.as_mut_ptr()) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
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
    /// Replaces pointers and descriptors in the parameters by the supervisor's own. Returns false if
    /// the operation isn't permitted with these parameters.
    fn prepare(
        &mut self,
        caller: &impl Caller,
        parameters: &mut [u8],
        kind: Parameters,
    ) -> io::Result<bool> {
        let has_size = |size: usize| match parameters.len() == size {
            true => Ok(()),
            false => Err(io::Error::from_raw_os_error(libc::EINVAL)),
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
                    return Err(io::Error::from_raw_os_error(libc::EINVAL));
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
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
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

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].try_into().map(u32::from_ne_bytes).unwrap_or_default()
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].try_into().map(u64::from_ne_bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::fs::File;

    const ARGUMENT: u64 = 0x1000;
    const PARAMETERS: u64 = 0x2000;
    const LIST: u64 = 0x3000;
    const REQUEST: u32 = 0xc020_462a;
    const DEVICE: c_int = 7;

    /// A worker with a few ranges of memory.
    #[derive(Default)]
    struct Worker(RefCell<BTreeMap<u64, Vec<u8>>>);

    impl Worker {
        fn with(command: u32, parameters: &[u8]) -> Self {
            let mut call = vec![0; SIZE];
            call[COMMAND..FLAGS].copy_from_slice(&command.to_ne_bytes());
            call[POINTER..LENGTH].copy_from_slice(&PARAMETERS.to_ne_bytes());
            call[LENGTH..STATUS].copy_from_slice(&(parameters.len() as u32).to_ne_bytes());
            let worker = Self::default();
            worker.put(ARGUMENT, &call);
            worker.put(PARAMETERS, parameters);
            worker
        }

        fn put(&self, address: u64, bytes: &[u8]) {
            self.0.borrow_mut().insert(address, bytes.to_vec());
        }

        fn get(&self, address: u64) -> Vec<u8> {
            self.0.borrow()[&address].clone()
        }

        fn status(&self) -> u32 {
            u32_at(&self.get(ARGUMENT), STATUS)
        }
    }

    impl Caller for Worker {
        fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
            if bytes.is_empty() {
                return Ok(());
            }
            let memory = self.0.borrow();
            let (start, range) = memory.range(..=address).next_back().ok_or_else(fault)?;
            let from = (address - start) as usize;
            bytes.copy_from_slice(range.get(from..from + bytes.len()).ok_or_else(fault)?);
            Ok(())
        }

        fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
            if bytes.is_empty() {
                return Ok(());
            }
            let mut memory = self.0.borrow_mut();
            let (start, range) = memory.range_mut(..=address).next_back().ok_or_else(fault)?;
            let from = (address - start) as usize;
            range.get_mut(from..from + bytes.len()).ok_or_else(fault)?.copy_from_slice(bytes);
            Ok(())
        }

        fn device(&self, fd: c_int) -> io::Result<OwnedFd> {
            match fd {
                DEVICE => Ok(File::open("/dev/null")?.into()),
                _ => Err(io::Error::from_raw_os_error(libc::ENOTTY)),
            }
        }
    }

    fn fault() -> io::Error {
        io::Error::from_raw_os_error(libc::EFAULT)
    }

    fn never(_: &OwnedFd, _: &mut [u8; SIZE]) -> io::Result<()> {
        panic!("the driver was called")
    }

    #[test]
    fn an_operation_that_is_not_listed_never_reaches_the_driver() {
        let disable_channels = 0x2080_110b;
        let worker = Worker::with(disable_channels, &[0; 536]);
        let outcome = perform(&worker, DEVICE, REQUEST, ARGUMENT, never).unwrap();
        assert_eq!(outcome, Outcome::Refused(disable_channels));
        assert_eq!(worker.status(), NOT_PERMITTED);
    }

    #[test]
    fn flags_are_refused() {
        let worker = Worker::with(0x201, &[0; 128]);
        worker.write(ARGUMENT + FLAGS as u64, &1u32.to_ne_bytes()).unwrap();
        let outcome = perform(&worker, DEVICE, REQUEST, ARGUMENT, never).unwrap();
        assert_eq!(outcome, Outcome::Refused(0x201));
    }

    #[test]
    fn results_are_copied_back_and_pointers_stay_the_workers() {
        let channels = 0x80_170d;
        let mut parameters = vec![0; 24];
        parameters[0] = 2;
        parameters[8..16].copy_from_slice(&LIST.to_ne_bytes());
        parameters[16..24].copy_from_slice(&(LIST + 8).to_ne_bytes());
        let worker = Worker::with(channels, &parameters);
        worker.put(LIST, &[1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let outcome = perform(&worker, DEVICE, REQUEST, ARGUMENT, |_, call| {
            let here = u64_at(call, POINTER) as *const u8;
            assert_ne!(here as u64, PARAMETERS);
            // SAFETY: the pointers are to copies of the parameters and of the lists, which have
            // 24 and 8 bytes.
            unsafe {
                let parameters = std::slice::from_raw_parts(here, 24);
                let [handles, ids] = [8, 16].map(|at| u64_at(parameters, at));
                assert!(handles != LIST && ids != LIST + 8);
                let handles = std::slice::from_raw_parts(handles as *const u8, 8);
                assert_eq!(handles, [1, 0, 0, 0, 2, 0, 0, 0]);
                std::slice::from_raw_parts_mut(ids as *mut u8, 8).fill(9);
            }
            call[STATUS] = 5;
            Ok(())
        });
        assert_eq!(outcome.unwrap(), Outcome::Performed);
        assert_eq!(worker.get(LIST)[8..], [9; 8]);
        assert_eq!(worker.get(PARAMETERS), parameters);
        assert_eq!(worker.status(), 5);
    }

    #[test]
    fn sizes_are_checked_before_anything_is_copied() {
        let errors = |worker: Worker, request| {
            let result = perform(&worker, DEVICE, request, ARGUMENT, never);
            result.unwrap_err().raw_os_error()
        };
        // The argument, parameters in general, parameters of a known size, and a list.
        assert_eq!(errors(Worker::with(0x201, &[0; 128]), 0xc030_462a), Some(libc::EINVAL));
        let large = Worker::with(0x201, &[0; MAX_PARAMETERS + 1]);
        assert_eq!(errors(large, REQUEST), Some(libc::EINVAL));
        assert_eq!(errors(Worker::with(0x80_170d, &[0; 23]), REQUEST), Some(libc::EINVAL));
        let mut long = [0; 24];
        long[..4].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert_eq!(errors(Worker::with(0x80_170d, &long), REQUEST), Some(libc::EINVAL));
    }

    #[test]
    fn only_files_of_nvidias_devices_are_used() {
        let worker = Worker::with(0x201, &[0; 128]);
        let error = perform(&worker, DEVICE + 1, REQUEST, ARGUMENT, never).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
        // A descriptor in the parameters, or a request to create one.
        let parameters = |fd: c_int| [&fd.to_ne_bytes()[..], &[0; 76]].concat();
        let worker = Worker::with(0x3d08, &parameters(DEVICE + 1));
        let error = perform(&worker, DEVICE, REQUEST, ARGUMENT, never).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
        let worker = Worker::with(0x3d08, &parameters(-1));
        let outcome = perform(&worker, DEVICE, REQUEST, ARGUMENT, never).unwrap();
        assert_eq!(outcome, Outcome::Refused(0x3d08));
        let worker = Worker::with(0x3d08, &parameters(DEVICE));
        perform(&worker, DEVICE, REQUEST, ARGUMENT, |_, _| Ok(())).unwrap();
        assert_eq!(worker.get(PARAMETERS), parameters(DEVICE));
    }

    #[test]
    fn a_timeslice_cannot_be_longer_than_the_drivers() {
        let timeslice = 0xa06c_0103;
        let worker = Worker::with(timeslice, &2049u64.to_ne_bytes());
        let outcome = perform(&worker, DEVICE, REQUEST, ARGUMENT, never).unwrap();
        assert_eq!(outcome, Outcome::Refused(timeslice));
        let worker = Worker::with(timeslice, &2048u64.to_ne_bytes());
        let outcome = perform(&worker, DEVICE, REQUEST, ARGUMENT, |_, _| Ok(())).unwrap();
        assert_eq!(outcome, Outcome::Performed);
    }
}
