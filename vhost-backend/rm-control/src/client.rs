//! A client of the resource manager, which disables and enables channels of any process.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use host_ipc::messages::class;
use libc::c_ulong;

use super::objects::Channel;
use super::wire::{self, alloc, card_info, device, disable_channels, gid_info, id_info, request};

const CONTROL_NODE: &str = "/dev/nvidiactl";

/// An error returned by RM, or from calling the kernel driver.
#[derive(Debug, thiserror::Error)]
pub enum RmError {
    /// The host has no NVIDIA driver, or the jail contains none of its device nodes.
    #[error("no NVIDIA device")]
    NoDevice,
    /// A device node can't be opened.
    #[error("cannot open {path}: {source}")]
    Open {
        /// Path of the node.
        path: String,
        /// The error of the system call.
        source: io::Error,
    },
    /// An ioctl failed before RM performed the operation.
    #[error("{operation} failed: {source}")]
    Ioctl {
        /// Name of the operation that failed.
        operation: &'static str,
        /// The error of the system call.
        source: io::Error,
    },
    /// RM refused an operation.
    #[error("{operation} failed with RM status {status:#x}")]
    Status {
        /// Name of the operation that failed.
        operation: &'static str,
        /// RM's status, a number from nvstatuscodes.h.
        status: u32,
    },
    /// A GPU has no UUID of 16 bytes.
    #[error("GPU_GET_GID_INFO returned no UUID")]
    NoUuid,
    /// This client hasn't opened the GPU.
    #[error("the driver has no GPU {0} that can be opened")]
    UnknownGpu(u32),
    /// Only some of the channels in a list were disabled or enabled. The driver counts disables, so
    /// the channels' state is now unknown, and their process must be killed.
    #[error("{done} of {calls} calls were done: {source}")]
    Partial {
        /// Number of calls that succeeded, each for up to 64 channels.
        done: usize,
        /// Number of calls that were needed.
        calls: usize,
        /// The reason why the next call failed.
        source: Box<RmError>,
    },
}

/// A GPU that a [`Client`] has opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// The driver's number of the GPU, which processes use when they create device objects.
    pub number: u32,
    /// The UUID, which CUDA reports as well.
    pub uuid: [u8; 16],
}

/// A client of the resource manager. When it is dropped, the driver frees the client's objects.
#[derive(Debug)]
pub struct Client {
    control: File,
    handle: u32,
    gpus: Vec<OpenGpu>,
}

#[derive(Debug)]
struct OpenGpu {
    gpu: Gpu,
    /// Handle of the subdevice, on which operations are performed.
    subdevice: u32,
    /// The GPU's device node. It is kept open because the driver keeps the GPU initialized
    /// meanwhile.
    _node: File,
}

impl Client {
    /// Opens the driver and all GPUs whose nodes this process can open. Doesn't require privileges.
    pub fn open() -> Result<Self, RmError> {
        let control = open(CONTROL_NODE).map_err(|error| match error {
            RmError::Open { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                RmError::NoDevice
            }
            error => error,
        })?;
        let handle = create(&control, "RM_ALLOC of a client", 0, 0, wire::CLIENT, None)?;
        let mut client = Self { control, handle, gpus: Vec::new() };
        let mut answer = [0; card_info::SIZE];
        // SAFETY: the argument contains no pointers.
        unsafe { ioctl(&client.control, "CARD_INFO", wire::CARD_INFO, &mut answer)? };
        let mut failure = RmError::NoDevice;
        for card in card_info::cards(&answer) {
            match client.open_gpu(card) {
                Ok(gpu) => client.gpus.push(gpu),
                // Skip GPUs whose node can't be opened, because a container or a jail may contain
                // only some of the nodes.
                Err(error) => {
                    tracing::debug!("the RM client leaves out GPU {}: {error}", card.minor);
                    failure = error;
                }
            }
        }
        if client.gpus.is_empty() { Err(failure) } else { Ok(client) }
    }

    /// Returns the GPUs that this client has opened.
    pub fn gpus(&self) -> impl Iterator<Item = Gpu> + '_ {
        self.gpus.iter().map(|open| open.gpu)
    }

    /// Takes the kernels of these channels off a GPU, and keeps them off until the channels are
    /// enabled. The kernels keep their state. Returns when they are off the GPU. All channels must
    /// be on that GPU.
    ///
    /// The driver counts disables: a channel that has been disabled several times must be enabled
    /// as often.
    pub fn disable(&self, gpu_number: u32, channels: &[Channel]) -> Result<(), RmError> {
        self.switch(gpu_number, true, channels)
    }

    /// Lets the kernels of disabled channels continue. Enabling a channel that isn't disabled has
    /// no effect.
    pub fn enable(&self, gpu_number: u32, channels: &[Channel]) -> Result<(), RmError> {
        self.switch(gpu_number, false, channels)
    }

    fn switch(&self, number: u32, disable: bool, channels: &[Channel]) -> Result<(), RmError> {
        let gpu = self.gpus.iter().find(|open| open.gpu.number == number);
        let subdevice = gpu.ok_or(RmError::UnknownGpu(number))?.subdevice;
        let operation = match disable {
            true => "FIFO_DISABLE_CHANNELS (disable)",
            false => "FIFO_DISABLE_CHANNELS (enable)",
        };
        let lists = channels.chunks(disable_channels::MAX);
        let calls = lists.len();
        for (done, list) in lists.enumerate() {
            let mut parameters = disable_channels::encode(disable, list);
            // SAFETY: the parameters have the command's size, and their only pointer is null.
            let result = unsafe {
                self.control(operation, subdevice, wire::FIFO_DISABLE_CHANNELS, &mut parameters)
            };
            result.map_err(|error| RmError::Partial { done, calls, source: Box::new(error) })?;
        }
        Ok(())
    }

    fn open_gpu(&self, card: card_info::Card) -> Result<OpenGpu, RmError> {
        let node = open(&format!("/dev/nvidia{}", card.minor))?;
        let mut control = self.control.as_raw_fd().to_ne_bytes();
        // SAFETY: the argument is a descriptor.
        unsafe { ioctl(&node, "REGISTER_FD", wire::REGISTER_FD, &mut control)? };
        let mut answer = id_info::encode(card.id);
        // SAFETY: the parameters have the command's size, and contain no pointers.
        unsafe {
            self.control("GPU_GET_ID_INFO", self.handle, wire::GPU_GET_ID_INFO, &mut answer)?;
        }
        let number = wire::get(&answer, id_info::NUMBER);
        let parameters = device::encode(number, self.handle);
        let device = self.create("RM_ALLOC of a device", self.handle, class::DEVICE, &parameters);
        // Create the subdevice with number 0. Only devices with SLI have several subdevices.
        let device = device?;
        let subdevice = self.create("RM_ALLOC of a subdevice", device, wire::SUBDEVICE, &[0; 4])?;
        let mut answer = gid_info::encode();
        // SAFETY: the parameters have the command's size, and contain no pointers.
        unsafe {
            self.control("GPU_GET_GID_INFO", subdevice, wire::GPU_GET_GID_INFO, &mut answer)?
        };
        let uuid = gid_info::uuid(&answer).ok_or(RmError::NoUuid)?;
        Ok(OpenGpu { gpu: Gpu { number, uuid }, subdevice, _node: node })
    }

    /// Creates an object of this client, and returns its handle.
    fn create(
        &self,
        operation: &'static str,
        parent: u32,
        class: u32,
        parameters: &[u8],
    ) -> Result<u32, RmError> {
        create(&self.control, operation, self.handle, parent, class, Some(parameters))
    }

    /// Performs a control operation on an object of this client.
    ///
    /// # Safety
    /// The parameters must have the size that the driver's headers specify for the command, and
    /// each pointer in them must be null, or point to as many bytes as the command writes there.
    unsafe fn control(
        &self,
        operation: &'static str,
        object: u32,
        command: u32,
        parameters: &mut [u8],
    ) -> Result<(), RmError> {
        // SAFETY: the caller of this method guarantees what the function requires.
        unsafe { control(&self.control, operation, self.handle, object, command, parameters) }
    }
}

/// Performs a control operation on an object of a client. `file` must be the client's own file.
///
/// # Safety
/// The same as for [`Client::control`].
pub(super) unsafe fn control(
    file: &impl AsRawFd,
    operation: &'static str,
    client: u32,
    object: u32,
    command: u32,
    parameters: &mut [u8],
) -> Result<(), RmError> {
    let length = parameters.len() as u32;
    let pointer = parameters.as_mut_ptr() as u64;
    let mut call = wire::control::encode(client, object, command, pointer, length);
    // SAFETY: the pointer is to parameters that are writable for the given length. The caller
    // guarantees that pointers in the parameters are valid.
    unsafe { ioctl(file, operation, wire::RM_CONTROL, &mut call)? };
    succeeded(operation, wire::get(&call, wire::control::STATUS))
}

/// Creates an object, and returns its handle. Without parameters, the driver uses defaults.
fn create(
    node: &File,
    operation: &'static str,
    client: u32,
    parent: u32,
    class: u32,
    parameters: Option<&[u8]>,
) -> Result<u32, RmError> {
    /// Size of the buffer for parameters. The driver reads and writes as many bytes as the class's
    /// parameters have, which is at most 56 for the classes that this module creates. Later
    /// versions of the driver may have longer parameters.
    const ROOM: usize = 512;
    let mut buffer = [0u8; ROOM];
    let pointer = match parameters {
        Some(parameters) => {
            buffer[..parameters.len()].copy_from_slice(parameters);
            buffer.as_mut_ptr() as u64
        }
        None => 0,
    };
    let mut call = alloc::encode(client, parent, class, pointer);
    // SAFETY: the pointer is null, or to a writable buffer with room for the class's parameters.
    // None of these classes has a pointer in its parameters.
    unsafe { ioctl(node, operation, wire::RM_ALLOC, &mut call)? };
    succeeded(operation, wire::get(&call, alloc::STATUS))?;
    Ok(wire::get(&call, alloc::HANDLE))
}

fn succeeded(operation: &'static str, status: u32) -> Result<(), RmError> {
    if status == 0 { Ok(()) } else { Err(RmError::Status { operation, status }) }
}

fn open(path: &str) -> Result<File, RmError> {
    let options = File::options().read(true).write(true).open(path);
    options.map_err(|source| RmError::Open { path: path.to_owned(), source })
}

/// Makes an ioctl. If it succeeds, the driver has read the argument, and written its answer there.
///
/// # Safety
/// The argument must have the size that the driver expects, and each pointer in it must be null, or
/// point to as many bytes as the driver reads or writes there.
unsafe fn ioctl(
    node: &impl AsRawFd,
    operation: &'static str,
    number: u8,
    argument: &mut [u8],
) -> Result<(), RmError> {
    let request = c_ulong::from(request(number, argument.len()));
    let (fd, argument) = (node.as_raw_fd(), argument.as_mut_ptr());
    // Make the system call directly. In a program that uses the recorder, `libc::ioctl` is the
    // recorder's function. The recorder holds its lock while it changes a time slice with this
    // call, so its function would deadlock.
    // SAFETY: the argument has the size in the request. The caller guarantees that its pointers are
    // valid.
    match unsafe { libc::syscall(libc::SYS_ioctl, fd, request, argument) } {
        0.. => Ok(()),
        _ => Err(RmError::Ioctl { operation, source: io::Error::last_os_error() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a client whose file isn't a device, so that every ioctl fails.
    fn without_device() -> Client {
        let file = || File::open("/dev/null").unwrap();
        let gpu = Gpu { number: 3, uuid: [0; 16] };
        let gpus = vec![OpenGpu { gpu, subdevice: 1, _node: file() }];
        Client { control: file(), handle: 1, gpus }
    }

    #[test]
    fn errors_say_how_much_was_done() {
        let channels = vec![Channel { client: 1, handle: 2 }; 65];
        let error = without_device().disable(3, &channels).unwrap_err();
        let RmError::Partial { done: 0, calls: 2, .. } = error else { panic!("{error}") };
        let text = error.to_string();
        let start = "0 of 2 calls were done: FIFO_DISABLE_CHANNELS (disable) failed: ";
        assert!(text.starts_with(start), "{text}");
    }

    #[test]
    fn a_gpu_that_was_not_opened_is_an_error() {
        let error = without_device().enable(0, &[]).unwrap_err();
        assert!(matches!(error, RmError::UnknownGpu(0)), "{error}");
        without_device().enable(3, &[]).unwrap();
    }
}
