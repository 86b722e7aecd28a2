//! The API table as data, for the coverage report, the counters and the worker's checks.

pub use crate::calls::ENTRIES;

/// The held commands that a call must not overtake; the head of api.table describes the orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The call is never held.
    None,
    /// It runs after everything held for its stream and its event.
    Stream,
    /// Like `Stream`, if memory must be freed there first.
    Pool,
    /// It answers NOT_READY while its stream or event is held.
    Query,
    /// It runs after everything held for its stream or event, but doesn't hold later calls back.
    Wait,
    /// It runs after held launches of its function.
    Function,
    /// It runs after everything held for the context of its allocation.
    Allocation,
    /// It runs after everything held for its context.
    Context,
    /// It runs after everything that is held.
    Session,
}

/// The kind of device memory that a call may take. All of it is reserved in the VM's account first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charges {
    /// Nothing.
    None,
    /// An allocation.
    Memory,
    /// A context.
    Context,
    /// Code and variables.
    Module,
    /// Stacks, local memory or the heap of kernels.
    Limit,
    /// Local memory of kernels.
    Local,
    /// A stream. The driver keeps its memory for the next one.
    Stream,
    /// Memory and code of graphs.
    Graph,
}

/// One entry of the API table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The number that a command carries.
    pub number: u32,
    /// CUDA's name, or the name of a project-specific call, which starts with `vcuda`.
    pub name: &'static str,
    /// Whether the guest waits for an answer.
    pub waited: bool,
    /// Whether the call runs on the thread that mirrors the guest thread.
    pub blocking: bool,
    /// Whether the answer waits for the GPU.
    pub pending: bool,
    /// Whether the call makes the GPU work, and so waits for the VM's window.
    pub gated: bool,
    /// The held commands that it must not overtake.
    pub order: Order,
    /// The kind of device memory that it may take.
    pub charges: Charges,
}

/// Returns the entry with this number.
pub fn entry(number: u32) -> Option<&'static Entry> {
    ENTRIES.binary_search_by_key(&number, |entry| entry.number).ok().map(|i| &ENTRIES[i])
}
