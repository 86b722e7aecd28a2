//! Graphs.
//!
//! | module | contents |
//! |---|---|
//! | `graph`, `graph_exec`, `graph_node`, `graph_shape` | graphs |

pub(crate) mod graph;
pub(crate) mod graph_conditions;
pub(crate) mod graph_exec;
pub(crate) mod graph_node;
pub(crate) mod graph_shape;
pub(crate) mod graph_values;
