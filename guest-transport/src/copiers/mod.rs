//! Threads that copy memory together with the calling thread.
//!
//! One thread can't copy as fast as a GPU can. A call that copies many bytes divides the copy into
//! jobs, and shares them with a few threads of this process, the *helpers*, which start when they
//! are first needed and exit when they have been idle for a while.
//!
//! All state is in statics, and the locks are futexes, so helpers need no memory from `malloc`
//! while they run jobs: jobs can replace pages of the program, which may contain memory from
//! `malloc` (see [`keep`]).

mod batch;
mod fifo;
mod job;
mod state;
mod threads;

pub use batch::{Batch, each_slice, with};
pub use job::{JOBS, Job};
pub use threads::{Kept, helpers, keep};
