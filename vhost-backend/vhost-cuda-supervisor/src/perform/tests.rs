use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

use host_ipc::messages::class::{CHANNEL_GROUP, DEVICE};
use host_ipc::messages::{DriverObject, FromSupervisor};
use libc::c_int;

use super::argument::NOT_PERMITTED;
use super::*;
use crate::bytes::{u32_at, u64_at};
use crate::objects::tests::{SESSION, allocate, full, objects, of_vm, reports};
use crate::totals::tests::are_empty;
use crate::totals::{Kind, Totals};

const ARGUMENT: u64 = 0x1000;
const PARAMETERS: u64 = 0x2000;
const LIST: u64 = 0x3000;
const FILE: u64 = 7;
const CLIENT: u32 = 0xc1d0_0001;
const STRANGER: u32 = 0xc1d0_0002;

/// A simulated worker with a few ranges of memory. One of them contains the argument of an
/// operation.
struct Worker {
    memory: RefCell<BTreeMap<u64, Vec<u8>>>,
    operation: Operation,
}

impl Worker {
    fn new(operation: Operation, argument: &[u8], parameters: &[u8]) -> Self {
        let worker = Self { memory: RefCell::default(), operation };
        worker.put(ARGUMENT, argument);
        worker.put(PARAMETERS, parameters);
        worker
    }

    /// Returns a worker that requests a control operation.
    fn controls(command: u32, parameters: &[u8]) -> Self {
        let numbers = [CLIENT, 0, command, 0, PARAMETERS as u32, 0, parameters.len() as u32, 0];
        Self::new(Operation::Control, &numbers.map(u32::to_ne_bytes).concat(), parameters)
    }

    /// Returns a worker that requests the allocation of an object with the handle 2 under the
    /// object with the handle 1.
    fn allocates(class: u32, parameters: &[u8]) -> Self {
        let numbers = [CLIENT, 1, 2, class, PARAMETERS as u32, 0, 0, 0, 0, 0, 0, 0];
        Self::new(Operation::Allocate, &numbers.map(u32::to_ne_bytes).concat(), parameters)
    }

    /// Returns a worker that requests freeing an object.
    fn frees(object: u32) -> Self {
        let numbers = [CLIENT, 1, object, 0];
        Self::new(Operation::Free, &numbers.map(u32::to_ne_bytes).concat(), &[])
    }

    /// Returns a worker that requests another handle, 9, for an object.
    fn duplicates(object: u32) -> Self {
        let numbers = [CLIENT, 1, 9, CLIENT, object, 0, 0];
        Self::new(Operation::Duplicate, &numbers.map(u32::to_ne_bytes).concat(), &[])
    }

    /// Sets a 32-bit number in the argument.
    fn set(self, at: u64, number: u32) -> Self {
        self.write(ARGUMENT + at, &number.to_ne_bytes()).unwrap();
        self
    }

    fn put(&self, address: u64, bytes: &[u8]) {
        self.memory.borrow_mut().insert(address, bytes.to_vec());
    }

    fn get(&self, address: u64) -> Vec<u8> {
        self.memory.borrow()[&address].clone()
    }

    fn status(&self) -> u32 {
        u32_at(&self.get(ARGUMENT), self.operation.status().start)
    }

    /// Performs the operation, and checks that the driver isn't called.
    fn refused(&self) -> io::Result<Outcome> {
        self.perform(|_| panic!("the driver was called"))
    }

    /// Performs the operation. `driver` simulates the driver's ioctl.
    fn perform(&self, driver: impl FnOnce(&mut [u8])) -> io::Result<Outcome> {
        self.perform_with(&mut objects().0, driver)
    }

    fn perform_with(
        &self,
        objects: &mut Objects,
        driver: impl FnOnce(&mut [u8]),
    ) -> io::Result<Outcome> {
        self.request(objects, FILE, self.operation.size(), driver)
    }

    fn request(
        &self,
        objects: &mut Objects,
        fd: u64,
        size: usize,
        driver: impl FnOnce(&mut [u8]),
    ) -> io::Result<Outcome> {
        let request = 0xc000_4600 | (size as u64) << 16 | u64::from(self.operation.number());
        perform(self, objects, self.operation, [fd, request, ARGUMENT], |_, argument| {
            driver(argument);
            Ok(())
        })
    }

    /// Requests the operation with an argument of another size, and returns the error.
    fn error_with_size(&self, size: usize) -> Option<i32> {
        let never = |_: &mut [u8]| panic!("the driver was called");
        self.request(&mut objects().0, FILE, size, never).unwrap_err().raw_os_error()
    }

    fn error(&self) -> Option<i32> {
        self.error_with_size(self.operation.size())
    }
}

impl Caller for Worker {
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let memory = self.memory.borrow();
        let (start, range) = memory.range(..=address).next_back().ok_or_else(fault)?;
        let from = (address - start) as usize;
        bytes.copy_from_slice(range.get(from..from + bytes.len()).ok_or_else(fault)?);
        Ok(())
    }

    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut memory = self.memory.borrow_mut();
        let (start, range) = memory.range_mut(..=address).next_back().ok_or_else(fault)?;
        let from = (address - start) as usize;
        range.get_mut(from..from + bytes.len()).ok_or_else(fault)?.copy_from_slice(bytes);
        Ok(())
    }

    fn device(&self, fd: c_int) -> io::Result<OwnedFd> {
        match fd as u64 {
            FILE => Ok(File::open("/dev/null")?.into()),
            _ => Err(io::Error::from_raw_os_error(libc::ENOTTY)),
        }
    }
}

fn fault() -> io::Error {
    io::Error::from_raw_os_error(libc::EFAULT)
}

/// Returns parameters with the given 32-bit numbers at the given offsets. All other bytes are 0.
fn parameters<const N: usize>(size: usize, numbers: [(usize, u32); N]) -> Vec<u8> {
    let mut parameters = vec![0; size];
    for (at, number) in numbers {
        parameters[at..at + 4].copy_from_slice(&number.to_ne_bytes());
    }
    parameters
}

fn refused_class(class: u32) -> Outcome {
    Outcome::Refused(Refused::Class(class))
}

#[test]
fn three_ioctls_are_recognized_by_the_bits_that_the_driver_reads() {
    let of = |request| Operation::of(libc::SYS_ioctl, &[0, request, 0, 0, 0, 0]);
    assert_eq!(of(0xc010_4629), Some(Operation::Free));
    assert_eq!(of(0xc020_462a), Some(Operation::Control));
    assert_eq!(of(0x4030_992b), Some(Operation::Allocate));
    // Calls that the supervisor doesn't perform: RM_MAP_MEMORY, and a call of nvidia-uvm.
    assert_eq!(of(0xc038_464e), None);
    assert_eq!(of(0x2a), None);
    assert_eq!(Operation::of(libc::SYS_fcntl, &[0, 0xc020_462a, 0, 0, 0, 0]), None);
}

#[test]
fn only_files_of_nvidias_devices_are_used() {
    for worker in
        [Worker::controls(0x201, &[0; 128]), Worker::allocates(0x2080, &[0; 4]), Worker::frees(2)]
    {
        let size = worker.operation.size();
        let never = |_: &mut [u8]| panic!("the driver was called");
        let error = worker.request(&mut objects().0, FILE + 1, size, never).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
    }
}

mod controls {
    use super::*;
    use crate::perform::control::MAX_PARAMETERS;

    const FLAGS: u64 = 12;
    const POINTER: usize = 16;

    fn refused(command: u32) -> Outcome {
        Outcome::Refused(Refused::Control(command))
    }

    #[test]
    fn an_operation_that_is_not_listed_never_reaches_the_driver() {
        let disable_channels = 0x2080_110b;
        let worker = Worker::controls(disable_channels, &[0; 536]);
        assert_eq!(worker.refused().unwrap(), refused(disable_channels));
        assert_eq!(worker.status(), NOT_PERMITTED);
    }

    #[test]
    fn flags_are_refused() {
        let worker = Worker::controls(0x201, &[0; 128]).set(FLAGS, 1);
        assert_eq!(worker.refused().unwrap(), refused(0x201));
    }

    #[test]
    fn results_are_copied_back_and_pointers_stay_the_workers() {
        let channels = 0x80_170d;
        let lists = [(0, 2), (8, LIST as u32), (16, LIST as u32 + 8)];
        let parameters = parameters(24, lists);
        let worker = Worker::controls(channels, &parameters);
        worker.put(LIST, &[1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let outcome = worker.perform(|argument| {
            let here = u64_at(argument, POINTER) as *const u8;
            assert_ne!(here as u64, PARAMETERS);
            // SAFETY: the pointers are to the supervisor's copies of the parameters (24 bytes) and
            // of the lists (8 bytes each), which live until the driver returns.
            unsafe {
                let parameters = std::slice::from_raw_parts(here, 24);
                let [handles, ids] = [8, 16].map(|at| u64_at(parameters, at));
                assert!(handles != LIST && ids != LIST + 8);
                let handles = std::slice::from_raw_parts(handles as *const u8, 8);
                assert_eq!(handles, [1, 0, 0, 0, 2, 0, 0, 0]);
                std::slice::from_raw_parts_mut(ids as *mut u8, 8).fill(9);
            }
            argument[Operation::Control.status().start] = 5;
        });
        assert_eq!(outcome.unwrap(), Outcome::Performed);
        assert_eq!(worker.get(LIST)[8..], [9; 8]);
        assert_eq!(worker.get(PARAMETERS), parameters);
        assert_eq!(worker.status(), 5);
    }

    #[test]
    fn sizes_are_checked_before_anything_is_copied() {
        // The operation fails if one of these sizes is wrong: of the argument, of parameters in
        // general, of parameters with a known size, and of a list.
        let worker = Worker::controls(0x201, &[0; 128]);
        assert_eq!(worker.error_with_size(48), Some(libc::EINVAL));
        let worker = Worker::controls(0x201, &[0; MAX_PARAMETERS + 1]);
        assert_eq!(worker.error(), Some(libc::EINVAL));
        assert_eq!(Worker::controls(0x80_170d, &[0; 23]).error(), Some(libc::EINVAL));
        let long = parameters(24, [(0, u32::MAX)]);
        assert_eq!(Worker::controls(0x80_170d, &long).error(), Some(libc::EINVAL));
    }

    #[test]
    fn descriptors_in_the_parameters_are_nvidias_devices() {
        let worker = Worker::controls(0x3d08, &parameters(80, [(0, FILE as u32 + 1)]));
        assert_eq!(worker.error(), Some(libc::ENOTTY));
        // The descriptor -1 requests that the driver create one, which is refused.
        let worker = Worker::controls(0x3d08, &parameters(80, [(0, u32::MAX)]));
        assert_eq!(worker.refused().unwrap(), refused(0x3d08));
        let parameters = parameters(80, [(0, FILE as u32)]);
        let worker = Worker::controls(0x3d08, &parameters);
        assert_eq!(worker.perform(|_| {}).unwrap(), Outcome::Performed);
        assert_eq!(worker.get(PARAMETERS), parameters);
    }

    #[test]
    fn a_timeslice_cannot_be_longer_than_the_drivers() {
        let timeslice = 0xa06c_0103;
        let worker = Worker::controls(timeslice, &2049u64.to_ne_bytes());
        assert_eq!(worker.refused().unwrap(), refused(timeslice));
        let worker = Worker::controls(timeslice, &2048u64.to_ne_bytes());
        assert_eq!(worker.perform(|_| {}).unwrap(), Outcome::Performed);
    }
}

mod descriptors {
    use super::*;

    const EXPORT: u32 = 0x3d05;
    const IMPORT: u32 = 0x3d06;
    const EXPORTS: u32 = 0x3d0b;
    const IMPORTS: u32 = 0x3d0c;
    /// Offset of the types of imported objects.
    const TYPES: usize = 520;

    /// Returns a worker that exports or imports an object, or a list of objects.
    fn worker(command: u32, handles: &[u32]) -> Worker {
        let (size, file, at, number) = match command {
            EXPORT => (24, 16, 12, None),
            IMPORT => (20, 0, 16, None),
            EXPORTS => (2128, 0, 76, Some(2124)),
            _ => (652, 0, 8, Some(648)),
        };
        let mut bytes = parameters(size, [(file, FILE as u32)]);
        for (i, handle) in handles.iter().enumerate() {
            bytes[at + 4 * i..][..4].copy_from_slice(&handle.to_ne_bytes());
        }
        if let Some(number) = number {
            bytes[number] = handles.len() as u8;
        }
        Worker::controls(command, &bytes)
    }

    /// Returns the parameters of a control operation.
    fn parameters_of(argument: &mut [u8], size: usize) -> &mut [u8] {
        // SAFETY: the pointer is to the supervisor's copy of the parameters, which has this size
        // and lives until the driver returns.
        unsafe { std::slice::from_raw_parts_mut(u64_at(argument, 16) as *mut u8, size) }
    }

    #[test]
    fn what_leads_to_channels_cannot_be_exported() {
        let (mut objects, _broker) = objects();
        for (parent, handle, class) in [(CLIENT, 1, DEVICE), (1, 2, CHANNEL_GROUP), (2, 3, 0xc86f)]
        {
            let object = DriverObject { client: CLIENT, parent, handle, class, detail: 0 };
            assert!(allocate(&mut objects, object));
        }
        for command in [EXPORT, EXPORTS] {
            for handle in [CLIENT, 1, 2, 3] {
                let outcome = worker(command, &[handle])
                    .perform_with(&mut objects, |_| panic!("the driver was called"));
                assert_eq!(outcome.unwrap(), Outcome::Refused(Refused::Control(command)));
            }
            let memory = worker(command, &[5]).perform_with(&mut objects, |_| {});
            assert_eq!(memory.unwrap(), Outcome::Performed);
        }
        let second = worker(EXPORTS, &[5, 3]).perform_with(&mut objects, |_| panic!());
        assert_eq!(second.unwrap(), Outcome::Refused(Refused::Control(EXPORTS)));
    }

    /// Without this limit, each descriptor could keep 65,535 objects that no longer count.
    #[test]
    fn a_descriptor_has_room_for_as_many_objects_as_one_operation_exports() {
        let with_room = |room: u16| {
            let worker = worker(EXPORTS, &[5]);
            worker.write(PARAMETERS + 8, &room.to_ne_bytes()).unwrap();
            worker
        };
        assert_eq!(with_room(512).perform(|_| {}).unwrap(), Outcome::Performed);
        let many = with_room(513);
        assert_eq!(many.refused().unwrap(), Outcome::Refused(Refused::TooMany(0x40)));
        assert_eq!(many.status(), NOT_PERMITTED);
    }

    #[test]
    fn imported_objects_count_until_they_are_freed() {
        let totals = Arc::<Totals>::default();
        let (mut objects, _broker) = of_vm(&totals);
        let single = worker(IMPORT, &[5]).perform_with(&mut objects, |_| {});
        assert_eq!(single.unwrap(), Outcome::Performed);
        // The simulated driver ignores the handle 0, and imports nothing for the last handle.
        let list = worker(IMPORTS, &[6, 0, 7, 8]).perform_with(&mut objects, |argument| {
            parameters_of(argument, 652)[TYPES..TYPES + 4].copy_from_slice(&[1, 1, 2, 0]);
        });
        assert_eq!(list.unwrap(), Outcome::Performed);
        for handle in [5, 6, 7] {
            assert_eq!(totals.number(SESSION.vm, Kind::Other), 8 - handle);
            let freed = Worker::frees(handle).perform_with(&mut objects, |_| {});
            assert_eq!(freed.unwrap(), Outcome::Performed);
        }
        assert!(are_empty(&totals));
    }

    #[test]
    fn objects_that_the_driver_does_not_import_do_not_count() {
        let totals = Arc::default();
        let (mut objects, _broker) = of_vm(&totals);
        for command in [IMPORT, IMPORTS] {
            let outcome = worker(command, &[5]).perform_with(&mut objects, |argument| {
                if command == IMPORTS {
                    parameters_of(argument, 652)[TYPES] = 1;
                }
                argument[Operation::Control.status().start] = 3;
            });
            assert_eq!(outcome.unwrap(), Outcome::Performed);
            assert!(are_empty(&totals));
        }
    }

    #[test]
    fn a_vm_cannot_import_more_objects_than_it_may_have() {
        let totals = Arc::<Totals>::default();
        let (mut objects, _broker) = of_vm(&totals);
        let others: Vec<_> = std::iter::from_fn(|| totals.take(SESSION.vm, Kind::Other)).collect();
        for command in [IMPORT, IMPORTS] {
            let outcome = worker(command, &[5]).perform_with(&mut objects, |_| panic!());
            assert_eq!(outcome.unwrap(), Outcome::Refused(Refused::TooMany(0x40)));
        }
        drop(others);
        assert_eq!(worker(IMPORT, &[5]).perform(|_| {}).unwrap(), Outcome::Performed);
    }

    #[test]
    fn lists_and_sizes_are_checked() {
        for command in [EXPORTS, IMPORTS] {
            let worker = worker(command, &[5; 100]);
            let at = if command == EXPORTS { 2124 } else { 648 };
            worker.write(PARAMETERS + at, &513u16.to_ne_bytes()).unwrap();
            assert_eq!(worker.error(), Some(libc::EINVAL));
        }
        for command in [EXPORT, IMPORT, EXPORTS, IMPORTS] {
            let short = Worker::controls(command, &parameters(12, [(0, FILE as u32)]));
            assert_eq!(short.error(), Some(libc::EINVAL));
        }
        // An import with the handle 0 is refused, because the driver would choose the handle.
        assert_eq!(worker(IMPORT, &[0]).error(), Some(libc::EINVAL));
    }
}

mod duplicates {
    use super::*;

    const HANDLE: u64 = 8;
    const SOURCE_CLIENT: u64 = 12;
    const FLAGS: u64 = 20;

    #[track_caller]
    fn assert_refused(worker: &Worker, objects: &mut Objects) {
        let outcome = worker.perform_with(objects, |_| panic!("the driver was called"));
        assert_eq!(outcome.unwrap(), Outcome::Refused(Refused::Duplicate));
        assert_eq!(worker.status(), NOT_PERMITTED);
    }

    #[test]
    fn memory_of_the_same_client_gets_another_handle() {
        let worker = Worker::duplicates(5).set(HANDLE, 0);
        let outcome = worker.perform(|argument| {
            argument[HANDLE as usize] = 77;
            argument[Operation::Duplicate.status().start] = 3;
        });
        assert_eq!(outcome.unwrap(), Outcome::Performed);
        assert_eq!((u32_at(&worker.get(ARGUMENT), HANDLE as usize), worker.status()), (77, 3));
    }

    #[test]
    fn objects_of_other_clients_are_refused() {
        assert_refused(&Worker::duplicates(5).set(SOURCE_CLIENT, STRANGER), &mut objects().0);
        assert_refused(&Worker::duplicates(5).set(FLAGS, 1), &mut objects().0);
    }

    #[test]
    fn the_broker_knows_all_handles_of_channels() {
        let (mut objects, _broker) = objects();
        for (parent, handle, class) in [(CLIENT, 1, DEVICE), (1, 2, CHANNEL_GROUP), (2, 3, 0xc86f)]
        {
            let object = DriverObject { client: CLIENT, parent, handle, class, detail: 0 };
            assert!(allocate(&mut objects, object));
        }
        for object in [CLIENT, 1, 2, 3] {
            assert_refused(&Worker::duplicates(object), &mut objects);
        }
        let memory = Worker::duplicates(4).perform_with(&mut objects, |_| {});
        assert_eq!(memory.unwrap(), Outcome::Performed);
    }
}

mod allocations {
    use super::*;

    const OBJECT: usize = 8;
    const POINTER: usize = 16;
    const RIGHTS: u64 = 24;
    const LENGTH: u64 = 32;
    const FLAGS: u64 = 36;

    #[track_caller]
    fn assert_refused(worker: &Worker, class: u32) {
        assert_eq!(worker.refused().unwrap(), refused_class(class), "{class:#x}");
        assert_eq!(worker.status(), NOT_PERMITTED);
    }

    #[track_caller]
    fn assert_performed(worker: &Worker) {
        assert_eq!(worker.perform(|_| {}).unwrap(), Outcome::Performed);
        assert_eq!(worker.status(), 0);
    }

    #[test]
    fn classes_that_are_not_listed_and_clients_never_reach_the_driver() {
        // Classes that workers may not allocate: clients, memory of the calling process, an
        // exported object, and a privileged object.
        for class in [0, 1, 0x41, 0x71, 0xe0, 0x2082] {
            assert_refused(&Worker::allocates(class, &[0; 512]), class);
        }
    }

    #[test]
    fn rights_and_flags_are_refused() {
        for at in [RIGHTS, RIGHTS + 4, FLAGS] {
            assert_refused(&Worker::allocates(0x2080, &[0; 4]).set(at, 1), 0x2080);
        }
    }

    #[test]
    fn sizes_are_checked_before_anything_is_copied() {
        // First the argument has a wrong size, then the parameters.
        let worker = Worker::allocates(0x2080, &[0; 4]);
        assert_eq!(worker.error_with_size(32), Some(libc::EINVAL));
        let worker = |length| Worker::allocates(0x2080, &[0; 4]).set(LENGTH, length);
        for length in [1, 5, u32::MAX] {
            assert_eq!(worker(length).error(), Some(libc::EINVAL));
        }
        assert_performed(&worker(0));
        assert_performed(&worker(4));
        // The worker's memory contains one byte less than the class's parameters have.
        assert_eq!(Worker::allocates(0x40, &[0; 127]).error(), Some(libc::EFAULT));
    }

    #[test]
    fn results_are_copied_back_and_the_pointer_stays_the_workers() {
        // The worker's memory after the parameters must not change.
        let mut expected = parameters(136, [(128, 9)]);
        let worker = Worker::allocates(0x40, &expected);
        expected[80..84].copy_from_slice(&0x5000u32.to_ne_bytes());
        let outcome = worker.perform(|argument| {
            let here = u64_at(argument, POINTER) as *mut u8;
            assert_ne!(here as u64, PARAMETERS);
            // SAFETY: the pointer is to the supervisor's copy of the parameters, which has 128
            // bytes and lives until the driver returns.
            let parameters = unsafe { std::slice::from_raw_parts_mut(here, 128) };
            assert_eq!(parameters, [0; 128]);
            parameters[80..84].copy_from_slice(&0x5000u32.to_ne_bytes());
            argument[OBJECT..OBJECT + 4].copy_from_slice(&77u32.to_ne_bytes());
            argument[Operation::Allocate.status().start] = 5;
        });
        assert_eq!(outcome.unwrap(), Outcome::Performed);
        assert_eq!(worker.get(PARAMETERS), expected);
        assert_eq!(worker.status(), 5);
        let argument = worker.get(ARGUMENT);
        assert_eq!(u32_at(&argument, OBJECT), 77);
        assert_eq!(u64_at(&argument, POINTER), PARAMETERS);
    }

    #[test]
    fn without_parameters_the_drivers_pointer_is_null() {
        // GF100_SUBDEVICE_MASTER has no parameters, and HOPPER_USERMODE_A doesn't need any.
        let none = Worker::allocates(0x90e6, &[0; 8]);
        let null = Worker::allocates(0xc661, &[]).set(POINTER as u64, 0);
        for worker in [none, null] {
            let outcome = worker.perform(|argument| assert_eq!(u64_at(argument, POINTER), 0));
            assert_eq!(outcome.unwrap(), Outcome::Performed);
        }
    }

    #[test]
    fn no_parameter_names_another_client() {
        let event = |client| Worker::allocates(0x79, &parameters(24, [(0, client), (8, 0x79)]));
        let shared = |client| Worker::allocates(DEVICE, &parameters(56, [(4, client)]));
        let target = |client| Worker::allocates(DEVICE, &parameters(56, [(8, client)]));
        let debugger = |client| Worker::allocates(0x83de, &parameters(12, [(4, client), (8, 5)]));
        let confidential = |client| Worker::allocates(0xcb33, &parameters(4, [(0, client)]));
        let workers: [&dyn Fn(u32) -> Worker; 5] =
            [&event, &shared, &target, &debugger, &confidential];
        for worker in workers {
            let class = u32_at(&worker(0).get(ARGUMENT), 12);
            assert_refused(&worker(STRANGER), class);
            assert_performed(&worker(CLIENT));
            assert_performed(&worker(0));
        }
    }

    #[test]
    fn fields_for_the_kernel_are_refused() {
        // Each case has a class, the size of its parameters, and two pairs of an offset and a
        // number there: a number that libcuda passes, and one that must be refused.
        let cases = [
            // Refused for memory: a fixed physical address, a protected region, a kernel address,
            // and memory that isn't cleared.
            (0x40, 128, (8, 0x1_c101), (8, 0x1_c111)),
            (0x40, 128, (8, 0x1_c101), (8, 0x4001_c101)),
            (0x3e, 128, (8, 0xc001), (96, 1)),
            (0x40, 128, (8, 0x1_c101), (112, 4)),
            (0x50a0, 128, (8, 0x8_c415), (112, 1)),
            // Refused: an event that calls a function of the kernel.
            (0x79, 24, (8, 0x79), (8, 0x7e)),
            // Refused: a device with a range of addresses that only the kernel may set.
            (DEVICE, 56, (48, 2), (32, 1)),
            // Refused: a channel with privileges, with the physical address of its memory, or of a
            // process.
            (0xc86f, 368, (20, 0x10), (20, 0x20)),
            (0xc86f, 368, (20, 0x10), (144, 1)),
            (0xc86f, 368, (20, 0x10), (296, 1)),
            // Refused: a channel group of a vGPU plugin, an existing address space, and the address
            // space of the supervisor.
            (CHANNEL_GROUP, 20, (12, 1), (16, 1)),
            (0x90f1, 56, (4, 0x48), (0, 2)),
            (0x90f1, 56, (4, 0x48), (4, 0x4000)),
            // Refused: privileged doorbells, and the mailbox of another GPU.
            (0xc661, 2, (0, 1), (0, 0x100)),
            (0x503b, 72, (0, 5), (16, 0x1_0000)),
        ];
        for (class, size, passed, (at, number)) in cases {
            let mut bytes = parameters(size.max(4), [passed]);
            assert_performed(&Worker::allocates(class, &bytes));
            bytes[at..at + 4].copy_from_slice(&u32::to_ne_bytes(number));
            assert_refused(&Worker::allocates(class, &bytes), class);
        }
    }

    #[test]
    fn the_broker_learns_of_devices_groups_and_channels_before_the_worker() {
        let (mut objects, broker) = objects();
        let classes = [
            (DEVICE, parameters(56, [(0, 3)]), 3),
            (CHANNEL_GROUP, parameters(20, [(12, 1)]), 1),
            (0xc86f, parameters(368, []), 0),
        ];
        for (class, parameters, _) in &classes {
            // Objects that the driver refuses aren't reported, and neither are objects of other
            // classes, such as memory.
            let worker = Worker::allocates(*class, parameters);
            worker
                .perform_with(&mut objects, |argument| {
                    argument[Operation::Allocate.status().start] = 5
                })
                .unwrap();
            Worker::allocates(0x40, &[0; 128]).perform_with(&mut objects, |_| {}).unwrap();
            // This object must be reported: the results can't be copied back to the worker, but the
            // driver has allocated it.
            let worker = Worker::allocates(*class, parameters);
            let outcome = worker.perform_with(&mut objects, |argument| {
                argument[OBJECT] = 77;
                worker.memory.borrow_mut().clear();
            });
            assert_eq!(outcome.unwrap_err().raw_os_error(), Some(libc::EFAULT));
        }
        let object = |class, detail| FromSupervisor::Object {
            session: SESSION,
            object: DriverObject { client: CLIENT, parent: 1, handle: 77, class, detail },
        };
        let expected = classes.map(|(class, _, detail)| object(class, detail));
        assert_eq!(reports(objects, &broker), expected);
    }

    #[test]
    fn an_object_too_many_never_reaches_the_driver() {
        let totals = Arc::default();
        let mut objects = full(&totals);
        let worker = Worker::allocates(CHANNEL_GROUP, &[0; 20]);
        let never = |_: &mut [u8]| panic!("the driver was called");
        let outcome = worker.perform_with(&mut objects, never).unwrap();
        assert_eq!(outcome, Outcome::Refused(Refused::TooMany(CHANNEL_GROUP)));
        assert_eq!(worker.status(), NOT_PERMITTED);
        drop(objects);
        assert!(are_empty(&totals));
    }

    #[test]
    fn all_handles_count_until_they_are_freed() {
        let totals = Arc::default();
        let mut objects = of_vm(&totals).0;
        let fails = |argument: &mut [u8]| argument[Operation::Allocate.status().start] = 5;
        let memory = || Worker::allocates(0x40, &[0; 128]);
        memory().perform_with(&mut objects, fails).unwrap();
        assert!(are_empty(&totals));
        memory().perform_with(&mut objects, |_| {}).unwrap();
        Worker::frees(2).perform_with(&mut objects, |_| {}).unwrap();
        assert!(are_empty(&totals));
        Worker::duplicates(2).perform_with(&mut objects, |_| {}).unwrap();
        assert!(!are_empty(&totals));
        Worker::frees(9).perform_with(&mut objects, |_| {}).unwrap();
        assert!(are_empty(&totals));
    }

    #[test]
    fn freed_objects_are_forgotten() {
        let (mut objects, broker) = objects();
        let worker = Worker::allocates(CHANNEL_GROUP, &[0; 20]);
        worker.perform_with(&mut objects, |_| {}).unwrap();
        let fails = |argument: &mut [u8]| argument[Operation::Free.status().start] = 5;
        let worker = Worker::frees(2);
        assert_eq!(worker.perform_with(&mut objects, fails).unwrap(), Outcome::Performed);
        assert_eq!(worker.status(), 5);
        for _ in 0..2 {
            let worker = Worker::frees(2);
            assert_eq!(worker.perform_with(&mut objects, |_| {}).unwrap(), Outcome::Performed);
        }
        assert_eq!(Worker::frees(2).error_with_size(32), Some(libc::EINVAL));
        let freed = FromSupervisor::Freed { session: SESSION, client: CLIENT, handle: 2 };
        let reports = reports(objects, &broker);
        assert_eq!(reports.len(), 2);
        assert_eq!(reports[1], freed);
    }
}
