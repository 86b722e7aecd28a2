//! Graphs.

pub(crate) mod graph;
pub(crate) mod graph_copy;
