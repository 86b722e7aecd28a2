//! Graphs and captures: this library's own part of what cuda-api knows of them.
//!
//! The guest captures and builds graphs by itself, so that no capture needs the worker's streams
//! and no question about a graph a round trip. The worker gets a graph as a whole, when it is
//! instantiated or takes an instantiated one's place.

use crate::objects::Function;
use cuda_api::graph::Graphs;
use protocol::structs::LaunchAttribute;
use std::sync::{Arc, LazyLock};

/// This library, as graphs and captures see it.
#[derive(Clone, Copy)]
pub struct Guest;

/// What a node does.
pub type Op = cuda_api::graph::Op<Guest>;

/// A graph that was instantiated.
pub type Exec = cuda_api::graph::Exec<Guest>;

/// All graphs and captures of the process.
pub static GRAPHS: LazyLock<Graphs<Op>> = LazyLock::new(Graphs::new);

/// A launch's geometry.
#[derive(Clone, Copy)]
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
}

/// A launch, with its parameters as they were when it was captured or added.
#[derive(Clone)]
pub struct Kernel {
    /// As the program named it.
    pub handle: usize,
    pub function: Arc<Function>,
    pub shape: Shape,
    pub params: Arc<[u8]>,
    /// As launches carry them.
    pub attributes: Vec<LaunchAttribute>,
}
