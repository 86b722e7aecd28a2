//! Errors that end the device process.

/// Why a device process ended.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The operating system refused something.
    #[error("{what}: {source}")]
    Os {
        /// The step that failed.
        what: &'static str,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The broker sent no setup.
    #[error("the broker sent no setup")]
    NoSetup,
}

pub(crate) fn os(what: &'static str) -> impl FnOnce(std::io::Error) -> DeviceError {
    move |source| DeviceError::Os { what, source }
}

/// Ends the process. Used when the broker is gone: without it nobody accounts for GPU memory.
pub(crate) fn end(reason: &str) -> ! {
    tracing::error!("{reason}; ending the device process");
    std::process::exit(i32::from(host_ipc::exit::FAILED))
}
