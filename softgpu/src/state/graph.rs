//! softgpu's part of graphs and captures, which are implemented in cuda-api.

use std::sync::{Arc, LazyLock, Mutex};

use cuda_api::graph::Graphs;

use super::context::Context;
use super::handles::{Kind, Table};
use super::queue::Mark;

/// This library, for the implementation of graphs.
#[derive(Clone, Copy)]
pub(crate) struct Software;

/// The operation of a node.
pub(crate) type Op = cuda_api::graph::Op<Software>;

/// An instantiated graph.
pub(crate) type Exec = cuda_api::graph::Exec<Software>;

/// All graphs and captures of the process.
pub(crate) static GRAPHS: LazyLock<Graphs<Op>> = LazyLock::new(Graphs::new);

/// All instantiated graphs.
pub(crate) static EXECS: Table<Exec> = Table::new(Kind::GraphExec);

/// softgpu's part of an instantiated graph.
pub(crate) struct Loaded {
    pub(crate) context: Arc<Context>,
    /// The end of its last launch. Launches of one graph do not overlap.
    pub(crate) last: Mutex<Option<Mark>>,
}
