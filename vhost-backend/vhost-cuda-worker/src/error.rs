//! The worker's error.

/// Why a worker ended before, or instead of, serving a session.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// A step of its start failed.
    #[error("the worker could not start: {0}")]
    Start(std::io::Error),
    /// The pinned window is taken.
    #[error("the window for pinned memory is not free: {0}")]
    Window(String),
    /// The broker can't be talked to.
    #[error("the broker cannot be reached: {0}")]
    Broker(std::io::Error),
    /// The broker sent something else.
    #[error("the broker sent no assignment")]
    NoAssignment,
    /// The broker was told so, too.
    #[error("{0}")]
    Useless(String),
}
