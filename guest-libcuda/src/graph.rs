//! The guest's part of graphs and captures, which are implemented in cuda-api.
//!
//! The guest captures streams and builds graphs itself, so captures don't need the worker's
//! streams, and queries about graphs need no round trip. The worker gets a complete graph when one
//! is instantiated, or when an instantiated one is updated.

use crate::objects::Function;
use cuda_api::attributes::Attributes;
use cuda_api::graph::Graphs;
use cuda_api::graph::library::Change;
use protocol::graph::CopyStep;
use std::sync::{Arc, LazyLock};

/// The guest library's implementation of the trait that cuda-api's graphs use.
#[derive(Clone, Copy)]
pub struct Guest;

/// The operation of a node in a graph.
pub type Op = cuda_api::graph::Op<Guest>;

/// An instantiated graph.
pub type Exec = cuda_api::graph::Exec<Guest>;

/// All graphs and captures of the process.
pub static GRAPHS: LazyLock<Graphs<Op>> = LazyLock::new(Graphs::new);

/// The grid and block dimensions of a launch, and its shared memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
}

/// A copy. If a side is in pageable memory, its address is the program's; otherwise, it's the
/// GPU's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GraphCopy {
    pub step: CopyStep,
    pub pageable_dst: bool,
    pub pageable_src: bool,
}

/// A kernel launch, with its parameters at the time of capture.
#[derive(Clone)]
pub struct Kernel {
    /// The program's handle for the function.
    pub handle: usize,
    pub function: Arc<Function>,
    pub shape: Shape,
    pub params: Arc<[u8]>,
    pub attributes: Attributes,
}

impl Kernel {
    /// Returns how an instantiated graph can be changed to launch `new` instead of this kernel.
    pub fn change(&self, new: &Self) -> Change {
        if !Arc::ptr_eq(&self.function, &new.function) || self.attributes != new.attributes {
            Change::Graph
        } else if self.shape == new.shape && self.params == new.params {
            Change::Nothing
        } else {
            Change::Step
        }
    }
}
