//! The API table as data, for the coverage report, the counters and the worker's checks.

pub use crate::calls::ENTRIES;

/// The held commands that a call must not overtake. A held command is one that the worker has read
/// but delays. The comments at the start of api.table describe the orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The call is never held.
    None,
    /// The call runs after all held commands in its stream and for its event.
    Stream,
    /// While a held command frees memory, the call has the order `Stream`. If no held command frees
    /// memory, the call isn't held.
    Pool,
    /// The call returns CUDA_ERROR_NOT_READY while a command is held for its stream or event.
    Query,
    /// The call runs after all commands that are held for its stream or event. Later calls needn't
    /// wait for it.
    Wait,
    /// The call runs after all held launches of the function that it names.
    Function,
    /// The call runs after all commands that are held for the context to which its allocation
    /// belongs.
    Allocation,
    /// The call runs after all commands that are held for its context.
    Context,
    /// The call runs after all held commands of the session.
    Session,
}

/// The kind of device memory that a call may allocate. Before the call runs, the worker reserves
/// the memory in the VM's account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charges {
    /// The call doesn't allocate device memory.
    None,
    /// Memory that the program allocates.
    Memory,
    /// The memory that a context needs.
    Context,
    /// The code and variables of a module.
    Module,
    /// The stacks, local memory or heap that kernels use.
    Limit,
    /// Only the local memory that kernels use.
    Local,
    /// A stream. After a stream is destroyed, the driver keeps its memory for the next stream.
    Stream,
    /// The memory and code that graphs need.
    Graph,
}

/// One entry of the API table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The call's number, which its commands contain.
    pub number: u32,
    /// CUDA's name, or the name of a project-specific call, which starts with `vcuda`.
    pub name: &'static str,
    /// Whether the guest waits for a reply.
    pub waited: bool,
    /// Whether the call is posted and its error is ignored, because it only destroys or frees an
    /// object.
    pub quiet: bool,
    /// Whether the call runs on the worker thread that mirrors the calling guest thread.
    pub blocking: bool,
    /// Whether the worker replies only when the GPU has reached this call.
    pub pending: bool,
    /// Whether the call submits GPU work, and so has to wait until the VM may use the GPU.
    pub gated: bool,
    /// The held commands that the call must not overtake.
    pub order: Order,
    /// The kind of device memory that the call may take.
    pub charges: Charges,
}

/// Returns the entry with this number.
pub fn entry(number: u32) -> Option<&'static Entry> {
    ENTRIES.binary_search_by_key(&number, |entry| entry.number).ok().map(|i| &ENTRIES[i])
}
