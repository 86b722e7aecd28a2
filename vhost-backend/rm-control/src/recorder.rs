//! Records this process's channels, and the driver objects under which they are created, and limits
//! the time slices of the process's kernels.
//!
//! libcuda creates these objects with ioctls, and has no function that returns them. A program that
//! defines `ioctl` as a dynamic symbol sees these calls, because the dynamic loader searches the
//! program before libc. Such a program passes its calls to [`ioctl`] here:
//!
//! ```ignore
//! #[unsafe(no_mangle)]
//! pub unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
//!     unsafe { rm_control::recorder::ioctl(fd, request, argument) }
//! }
//! ```

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use host_ipc::messages::{DriverObject, class};
use libc::{c_int, c_ulong};

use super::objects::{Objects, TooManyObjects};
use super::timeslices::Timeslices;
use super::wire::{self, alloc, channel_group, control, device, free, request};

static IS_RECORDING: AtomicBool = AtomicBool::new(false);
/// The objects and time slices recorded for this process. The lock is held while a time slice is
/// changed, so that an older change can't overwrite a newer one.
static RECORDED: Mutex<Recorded> = Mutex::new(Recorded::new());

struct Recorded {
    objects: Result<Objects, TooManyObjects>,
    timeslices: Timeslices,
}

impl Recorded {
    const fn new() -> Self {
        Self { objects: Ok(Objects::new()), timeslices: Timeslices::new() }
    }

    fn add(&mut self, object: DriverObject) {
        let Ok(objects) = &mut self.objects else { return };
        match objects.add(object) {
            // If the new object has the handle of an earlier one, the driver has freed the earlier
            // one, so remove its time slice.
            Ok(()) => {
                self.timeslices.remove_freed(objects);
                self.change_timeslices();
            }
            Err(error) => *self = Self { objects: Err(error), timeslices: Timeslices::new() },
        }
    }

    fn free(&mut self, client: u32, handle: u32) {
        let Ok(objects) = &mut self.objects else { return };
        if objects.free(client, handle) {
            self.timeslices.remove_freed(objects);
            self.change_timeslices();
        }
    }

    fn set_timeslice(&mut self, fd: c_int, group: (u32, u32), microseconds: u64) {
        let Ok(objects) = &self.objects else { return };
        self.timeslices.add(objects, fd, group, microseconds);
        self.change_timeslices();
    }

    fn limit_timeslices(&mut self, gpu_number: u32, limit: Option<u64>) {
        self.timeslices.limit(gpu_number, limit);
        self.change_timeslices();
    }

    fn change_timeslices(&mut self) {
        for change in self.timeslices.changes() {
            if change.make() {
                self.timeslices.note(&change);
            }
        }
    }
}

/// Starts a new recording. It continues until the process ends.
pub fn start() {
    *recorded() = Recorded::new();
    IS_RECORDING.store(true, Ordering::Release);
}

/// Returns the recorded objects that exist now.
pub fn objects() -> Result<Objects, TooManyObjects> {
    recorded().objects.clone()
}

/// Returns the recorded objects. Called when the process has created the contexts that it prepares
/// for a session. From now on, [`limit_timeslices`] doesn't count these contexts, because they stay
/// idle if the program creates its own contexts.
pub fn prepared() -> Result<Objects, TooManyObjects> {
    let mut recorded = recorded();
    recorded.timeslices.disregard();
    recorded.objects.clone()
}

/// Limits the time slices of this process's kernels on the GPU with this driver number. The limit
/// is in microseconds. With `None`, the time slices are those that the driver library sets. Also
/// applies to contexts that are created later, but not while the process has several contexts on
/// the GPU, apart from [`prepared`] ones. Has no effect if the driver refuses the change, or if the
/// process has too many objects.
pub fn limit_timeslices(gpu_number: u32, limit: Option<u64>) {
    recorded().limit_timeslices(gpu_number, limit);
}

/// Returns the number of channel groups whose time slices can be limited.
pub fn limitable_groups() -> usize {
    recorded().timeslices.count()
}

fn recorded() -> MutexGuard<'static, Recorded> {
    RECORDED.lock().unwrap_or_else(|error| error.into_inner())
}

/// Makes the system call `ioctl` as libc does, and records it if it created or freed an object or
/// set a time slice.
///
/// # Safety
/// The same as for `ioctl(2)`: the argument must be valid for the request on this device.
pub unsafe fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    // SAFETY: the caller guarantees that the argument is valid for the request. `syscall` sets
    // errno as `ioctl` does.
    let result = unsafe { libc::syscall(libc::SYS_ioctl, fd, request, argument) } as c_int;
    if result == 0 && IS_RECORDING.load(Ordering::Acquire) {
        // SAFETY: the request has succeeded, so the kernel, or the supervisor in its place, has
        // just read and written the argument, which therefore is valid memory.
        unsafe { record(fd, request as u32, argument.cast()) };
    }
    result
}

/// Records a call that has succeeded.
///
/// # Safety
/// If `fd` is one of NVIDIA's nodes, `argument` must be the one with which the request succeeded.
unsafe fn record(fd: c_int, request_code: u32, argument: *const u8) {
    const ALLOC: u32 = request(wire::RM_ALLOC, alloc::SIZE);
    const SHORT_ALLOC: u32 = request(wire::RM_ALLOC, alloc::SHORT_SIZE);
    const FREE: u32 = request(wire::RM_FREE, free::SIZE);
    const CONTROL: u32 = request(wire::RM_CONTROL, control::SIZE);
    let (size, status) = match request_code {
        CONTROL => (control::SIZE, control::STATUS),
        ALLOC => (alloc::SIZE, alloc::STATUS),
        SHORT_ALLOC => (alloc::SHORT_SIZE, alloc::SHORT_STATUS),
        FREE => (free::SIZE, free::STATUS),
        _ => return,
    };
    if !is_nvidia(fd) {
        return;
    }
    let mut call = [0; alloc::SIZE];
    // SAFETY: the request code contains the argument's size, and the driver has just read that many
    // bytes.
    unsafe { argument.copy_to_nonoverlapping(call.as_mut_ptr(), size) };
    if wire::get(&call, status) != 0 {
        return;
    }
    if request_code == CONTROL {
        let parameters = wire::get_u64(&call, control::PARAMETERS) as *const u64;
        if wire::get(&call, control::COMMAND) == wire::SET_TIMESLICE && !parameters.is_null() {
            let (client, group) =
                (wire::get(&call, control::CLIENT), wire::get(&call, control::OBJECT));
            // SAFETY: the status is success, so the driver has just read the parameters, a 64-bit
            // number.
            let microseconds = unsafe { parameters.read_unaligned() };
            recorded().set_timeslice(fd, (client, group), microseconds);
        }
        return;
    }
    if request_code == FREE {
        // If another thread has created an object with the same handle since the call, this removes
        // the new object, and its time slices are no longer changed.
        recorded().free(wire::get(&call, free::CLIENT), wire::get(&call, free::HANDLE));
        return;
    }
    let class = wire::get(&call, alloc::CLASS);
    let detail_at = match class {
        class::DEVICE => Some(device::NUMBER),
        class::CHANNEL_GROUP => Some(channel_group::ENGINE),
        class if class::is_channel(class) => None,
        _ => return,
    };
    let parameters = wire::get_u64(&call, alloc::PARAMETERS) as *const u8;
    let detail = match detail_at {
        // SAFETY: the status is success, so the driver has just read the parameters. For both
        // classes, they are longer than this offset plus 4 bytes.
        Some(at) if !parameters.is_null() => unsafe {
            parameters.add(at).cast::<u32>().read_unaligned()
        },
        _ => 0,
    };
    recorded().add(DriverObject {
        client: wire::get(&call, alloc::CLIENT),
        parent: wire::get(&call, alloc::PARENT),
        handle: wire::get(&call, alloc::HANDLE),
        class,
        detail,
    });
}

/// Returns true if a descriptor is one of the nodes of NVIDIA's driver.
fn is_nvidia(fd: c_int) -> bool {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `status` is writable, and fstat fills it if it succeeds.
    let status = unsafe {
        if libc::fstat(fd, status.as_mut_ptr()) != 0 {
            return false;
        }
        status.assume_init()
    };
    status.st_mode & libc::S_IFMT == libc::S_IFCHR && libc::major(status.st_rdev) == wire::MAJOR
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn the_system_call_is_made_and_errno_set() {
        let (reader, writer) = std::io::pipe().unwrap();
        std::io::Write::write_all(&mut &writer, b"three").unwrap();
        let mut waiting: c_int = 0;
        // SAFETY: FIONREAD writes an int, and the argument points to one.
        let result = unsafe {
            ioctl(reader.as_raw_fd(), libc::FIONREAD as c_ulong, (&raw mut waiting).cast())
        };
        assert_eq!((result, waiting), (0, 5));
        // SAFETY: the descriptor is invalid, so nothing is accessed.
        assert_eq!(unsafe { ioctl(-1, libc::FIONREAD as c_ulong, std::ptr::null_mut()) }, -1);
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EBADF));
    }

    #[test]
    fn only_nvidias_nodes_are_recorded() {
        let null = std::fs::File::open("/dev/null").unwrap();
        assert!(!is_nvidia(null.as_raw_fd()) && !is_nvidia(-1));
        start();
        let call = alloc::encode(1, 1, class::DEVICE, 0);
        // SAFETY: the argument has the request's size, and the node isn't NVIDIA's.
        unsafe { record(null.as_raw_fd(), request(wire::RM_ALLOC, alloc::SIZE), call.as_ptr()) };
        assert!(objects().unwrap().relevant().is_empty());
    }
}
