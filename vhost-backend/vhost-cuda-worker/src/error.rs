//! The worker's error.

/// An error that ends a worker.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The worker failed to start.
    #[error("the worker could not start: {0}")]
    Start(std::io::Error),
    /// The addresses of the pinned memory window are already in use.
    #[error("the addresses of the pinned memory window are in use: {0}")]
    Window(String),
    /// Communication with the broker failed.
    #[error("cannot communicate with the broker: {0}")]
    Broker(std::io::Error),
    /// The broker sent something other than the assignment of a session.
    #[error("the broker sent no assignment")]
    NoAssignment,
    /// The worker can't serve a session, for this reason. It has already reported the reason to the
    /// broker.
    #[error("{0}")]
    Useless(String),
}
