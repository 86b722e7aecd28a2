//! What a session is charged for beside the memory that it allocates.

mod cubin;
mod footprint;
mod ptx;
