//! Jobs, the parts of a copy.

/// The maximum number of outstanding jobs per call: jobs that were submitted and whose completion
/// the call hasn't received.
pub const JOBS: usize = 64;

/// A part of a copy. Only the function that executes the jobs interprets the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// Identifies the job. [`Batch::finished`](super::Batch::finished) returns it after the job has
    /// been executed.
    pub tag: usize,
    pub from: usize,
    pub to: usize,
    pub len: usize,
}

/// A function that executes jobs. It must not panic.
pub type Run<'a> = dyn Fn(Job) + Sync + 'a;
