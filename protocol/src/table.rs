//! The API table as data: what the coverage report, the counters and the worker's checks read.

pub use crate::calls::ENTRIES;

/// What a call may not overtake of what is held with its stream; the table's head says more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Never held.
    None,
    /// After what its stream and its event are held for.
    Stream,
    /// As `Stream`, if memory is to be freed there first.
    Pool,
    /// NOT_READY while what it names is held.
    Query,
    /// After what its stream or event is held for; holds nobody back.
    Wait,
    /// After held launches of a function.
    Function,
    /// After what the context of an allocation holds.
    Allocation,
    /// After what a context holds.
    Context,
    /// After all that is held.
    Session,
}

/// Device memory that a call may take, all of it reserved in the VM's account first.
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
    /// A stream, of which the driver keeps what it took.
    Stream,
    /// Memory and code of graphs.
    Graph,
}

/// One entry of the API table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The number that a command carries.
    pub number: u32,
    /// CUDA's name, or ours with the prefix `vcuda`.
    pub name: &'static str,
    /// Whether the guest waits for an answer.
    pub waited: bool,
    /// Whether it runs on the thread that mirrors the guest's.
    pub blocking: bool,
    /// Whether it is answered when the GPU gets there.
    pub pending: bool,
    /// Whether it makes the GPU work, and so waits for the VM's window.
    pub gated: bool,
    /// What it may not overtake.
    pub order: Order,
    /// What it takes.
    pub charges: Charges,
}

/// The entry with that number; `None` if there is none.
pub fn entry(number: u32) -> Option<&'static Entry> {
    ENTRIES.binary_search_by_key(&number, |entry| entry.number).ok().map(|i| &ENTRIES[i])
}
