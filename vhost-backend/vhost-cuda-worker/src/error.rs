//! The worker's error.

/// The error with which a worker ended, before or while it served a session.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// A step of the start failed.
    #[error("the worker could not start: {0}")]
    Start(std::io::Error),
    /// The pinned window's addresses are already in use.
    #[error("the addresses of the pinned memory window are in use: {0}")]
    Window(String),
    /// The socket to the broker failed.
    #[error("cannot communicate with the broker: {0}")]
    Broker(std::io::Error),
    /// The broker sent a message other than an assignment.
    #[error("the broker sent no assignment")]
    NoAssignment,
    /// The worker can't serve a session. The broker has received the same reason.
    #[error("{0}")]
    Useless(String),
}
