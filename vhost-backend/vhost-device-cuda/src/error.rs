//! How the device process ends.

/// Why a device process ended.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The operating system refused something.
    #[error("{what}: {source}")]
    Os {
        /// What was to be done.
        what: &'static str,
        /// Why it could not be.
        source: std::io::Error,
    },
    /// The broker sent no setup.
    #[error("the broker sent no setup")]
    NoSetup,
}

pub(crate) fn os(what: &'static str) -> impl FnOnce(std::io::Error) -> DeviceError {
    move |source| DeviceError::Os { what, source }
}

/// Ends the process: without the broker nobody keeps the ledger, and nothing may run.
pub(crate) fn end(reason: &str) -> ! {
    tracing::error!("{reason}; ending the device process");
    std::process::exit(i32::from(host_ipc::exit::FAILED))
}
