//! Chooses between the kernel driver and vhost-user as the transport.

use crate::error::TransportError;
use crate::kernel::Kernel;
use crate::transport::Transport;
use crate::vhost_user::VhostUser;

/// The device file of the kernel driver.
const DEVICE: &str = "/dev/virtio-cuda0";
/// The environment variable with the path of a device process's socket, for use without a VM.
const SOCKET_VARIABLE: &str = "VIRTIO_CUDA_SOCKET";

/// Connects to the socket in `VIRTIO_CUDA_SOCKET` if the variable is set. If not, opens the kernel
/// driver's device file.
pub fn open() -> Result<Box<dyn Transport>, TransportError> {
    match std::env::var_os(SOCKET_VARIABLE) {
        Some(path) if !path.is_empty() => Ok(Box::new(VhostUser::connect(path.into())?)),
        _ => Ok(Box::new(Kernel::open(DEVICE.into())?)),
    }
}
