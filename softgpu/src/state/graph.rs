//! The softgpu types that cuda-api's implementation of graphs and captures needs.

use std::sync::{Arc, LazyLock, Mutex};

use cuda_api::graph::Graphs;

use super::context::Context;
use super::handles::{Kind, Table};
use super::queue::Mark;

/// Selects softgpu as the backend of cuda-api's graphs.
#[derive(Clone, Copy)]
pub(crate) struct Software;

/// The operation that a graph node performs.
pub(crate) type Op = cuda_api::graph::Op<Software>;

/// An instantiated graph.
pub(crate) type Exec = cuda_api::graph::Exec<Software>;

/// All graphs and captures in the process.
pub(crate) static GRAPHS: LazyLock<Graphs<Op>> = LazyLock::new(Graphs::new);

/// All instantiated graphs.
pub(crate) static EXECS: Table<Exec> = Table::new(Kind::GraphExec);

/// The data that softgpu stores for each instantiated graph.
pub(crate) struct Loaded {
    pub(crate) context: Arc<Context>,
    /// Position of the end of the graph's last launch. The next launch waits for it, because
    /// launches of one instantiated graph must not overlap.
    pub(crate) last: Mutex<Option<Mark>>,
}
