//! Errors that make the device process exit.

/// The reason why a device process exits.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// A system call failed.
    #[error("{what}: {source}")]
    Os {
        /// The step that failed.
        what: &'static str,
        /// The error of the system call.
        source: std::io::Error,
    },
    /// The broker sent no setup message.
    #[error("the broker did not send a setup message")]
    NoSetup,
}

pub(crate) fn os(what: &'static str) -> impl FnOnce(std::io::Error) -> DeviceError {
    move |source| DeviceError::Os { what, source }
}

/// Exits the process. Called after the broker has exited, because sessions need the broker to
/// charge GPU memory to the VM.
pub(crate) fn end(reason: &str) -> ! {
    tracing::error!("{reason}; the device process is exiting");
    std::process::exit(i32::from(host_ipc::exit::FAILED))
}
