//! Graphs, executable graphs, and the values of conditional nodes.
//!
//! | module | contents |
//! |---|---|
//! | `graph` | calls for graphs |
//! | `graph_exec` | types for graphs and executable graphs |
//! | `graph_node`, `graph_shape` | creating nodes; nodes that never run beside other nodes |
//! | `graph_values`, `graph_conditions` | values on which conditional nodes depend |

pub(crate) mod graph;
pub(crate) mod graph_conditions;
pub(crate) mod graph_exec;
pub(crate) mod graph_node;
pub(crate) mod graph_shape;
pub(crate) mod graph_values;
