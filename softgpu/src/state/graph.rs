//! Graphs and captures: this library's own part of what cuda-api knows of them.

use std::sync::{Arc, LazyLock, Mutex};

use cuda_api::graph::Graphs;

use super::context::Context;
use super::handles::{Kind, Table};
use super::queue::Mark;

/// This library, as graphs and captures see it.
#[derive(Clone, Copy)]
pub(crate) struct Software;

/// What a node does.
pub(crate) type Op = cuda_api::graph::Op<Software>;

/// A graph that is ready to be launched.
pub(crate) type Exec = cuda_api::graph::Exec<Software>;

/// All graphs and captures of the process.
pub(crate) static GRAPHS: LazyLock<Graphs<Op>> = LazyLock::new(Graphs::new);

/// All graphs that are ready to be launched.
pub(crate) static EXECS: Table<Exec> = Table::new(Kind::GraphExec);

/// What belongs to a graph that is ready to be launched.
pub(crate) struct Loaded {
    pub(crate) context: Arc<Context>,
    /// The end of its last launch: it does not run beside itself.
    pub(crate) last: Mutex<Option<Mark>>,
}
