//! The error type for device operations.

use crate::refusal::{Request, explain, explain_guest, status_of};
use protocol::uapi::{Config, ERR_LIMIT, ERR_MEMORY, ERR_NO_WORKER, VERSION_MAJOR};
use std::io;
use std::path::{Path, PathBuf};

/// The directory with the values of the kernel driver's parameters.
const PARAMETERS: &str = "/sys/module/virtio_cuda/parameters";

/// An error from an operation on the device.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    #[error(
        "cannot open {path}: {source}; check that the virtio_cuda driver is loaded and that you may open the device"
    )]
    Open { path: PathBuf, source: io::Error },
    #[error(
        "cannot connect to {path}: {source}; check that the device process is listening \
         there and that you may connect"
    )]
    Connect { path: PathBuf, source: io::Error },
    #[error("vhost-user: {what}: {source}{}", hint(source))]
    VhostUser { what: &'static str, source: vhost::Error },
    #[error(
        "{path} is not a virtio-cuda device with protocol version {VERSION_MAJOR}: magic {magic:#x}, \
         version {version}"
    )]
    WrongDevice { path: PathBuf, magic: u32, version: u16 },
    #[error("the device does not support {what}")]
    Unsupported { what: &'static str },
    #[error("the host refused {what}: {why}")]
    Refused { what: &'static str, status: u32, why: String },
    #[error("the session has ended: {why}")]
    Ended { why: &'static str },
    #[error("{what}: {source}")]
    System { what: &'static str, source: io::Error },
    #[error("out of guest memory: cannot allocate {bytes} bytes")]
    OutOfMemory { bytes: usize },
    #[error("the memory at {vaddr:#x} can't be shared with the host: {why}")]
    NotShareable { vaddr: usize, why: &'static str },
}

/// Returns an explanation of why the device process may have closed the connection, or an empty
/// text if the error isn't a closed connection.
fn hint(error: &vhost::Error) -> &'static str {
    use vhost::vhost_user::Error::{Disconnected, PartialMessage, SocketBroken};
    match error {
        vhost::Error::VhostUserProtocol(SocketBroken(_) | Disconnected | PartialMessage) => {
            "; the device process has ended, or refuses the connection, for example because the VM has as \
             many front ends as connections.max permits, or its processes have reached pids.max: the \
             host's log says why"
        }
        _ => "",
    }
}

impl TransportError {
    /// Explains a refusal with the device's limits. Returns other errors unchanged.
    pub(crate) fn explained(self, request: Request, config: &Config) -> Self {
        match self {
            TransportError::Refused { what, status, .. } => {
                let why = explain(request, status, Some(config));
                TransportError::Refused { what, status, why }
            }
            TransportError::System { what, source } => {
                match source.raw_os_error().and_then(status_of) {
                    Some(status) => {
                        let why = explain(request, status, Some(config));
                        TransportError::Refused { what, status, why }
                    }
                    None => TransportError::System { what, source },
                }
            }
            other => other,
        }
    }

    /// If these limits may have caused a refusal, adds the limits of the VM's processes on the host
    /// to its explanation. `limits` queries the device for their values.
    pub(crate) fn with_limits_of_host(self, limits: impl FnOnce() -> String) -> Self {
        match self {
            TransportError::Refused {
                what,
                status: status @ (ERR_MEMORY | ERR_NO_WORKER),
                why,
            } => {
                let why = format!("{why}. {}", limits());
                TransportError::Refused { what, status, why }
            }
            other => other,
        }
    }

    /// If the error says that a limit was reached, adds the limits that this guest's driver
    /// enforces.
    pub(crate) fn with_limits_of_guest(self, request: Request) -> Self {
        match self {
            TransportError::Refused { what, status: ERR_LIMIT, why } => {
                let why = why + &explain_guest(request, Path::new(PARAMETERS));
                TransportError::Refused { what, status: ERR_LIMIT, why }
            }
            other => other,
        }
    }

    /// Creates an error from errno after a failed system call. `what` names the operation.
    pub(crate) fn last(what: &'static str) -> Self {
        TransportError::System { what, source: io::Error::last_os_error() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_hosts_limits_if_they_can_cause_it() {
        let config = <Config as protocol::plain::Plain>::zeroed();
        let text = |request, status| {
            let refused = TransportError::Refused { what: "it", status, why: String::new() };
            let error = refused.explained(request, &config);
            error.with_limits_of_host(|| "the limits".into()).to_string()
        };
        for request in [Request::Session, Request::Region] {
            for (status, expected) in
                [(ERR_NO_WORKER, true), (ERR_MEMORY, true), (ERR_LIMIT, false)]
            {
                let text = text(request, status);
                assert_eq!(text.contains("the limits"), expected, "{text}");
            }
        }
    }
}
