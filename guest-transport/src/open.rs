//! Choosing the transport.

use crate::error::TransportError;
use crate::kernel::Kernel;
use crate::transport::Transport;
use crate::vhost_user::VhostUser;

/// The driver's device file.
const DEVICE: &str = "/dev/virtio-cuda0";
/// The environment variable with the socket of a device process, for use without a VM.
const SOCKET_VARIABLE: &str = "VIRTIO_CUDA_SOCKET";

/// Connects to the socket that the environment names; otherwise opens the driver's device.
pub fn open() -> Result<Box<dyn Transport>, TransportError> {
    match std::env::var_os(SOCKET_VARIABLE) {
        Some(path) if !path.is_empty() => Ok(Box::new(VhostUser::connect(path.into())?)),
        _ => Ok(Box::new(Kernel::open(DEVICE.into())?)),
    }
}
