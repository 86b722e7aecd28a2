//! The part of graphs and stream capture that doesn't need a GPU.
//!
//! [`Graphs`] holds all graphs of a process, their nodes, and the captures in progress. A library
//! implements the rest with the trait [`Library`]: for example, it creates a node's work from a
//! program's arguments, and launches an instantiated graph.
//! [`graph_entries!`](crate::graph_entries) then exports the entry points of graphs and captures,
//! which are the same for every library.
//!
//! | module | contents |
//! |---|---|
//! | [`ids`] | handles |
//! | [`memory`], [`reuse`] | memory that graphs allocate |
//! | [`edge`] | the data of edges |
//! | [`condition`] | types for nodes whose bodies run depending on a value |
//! | [`dag`] | one graph: nodes, edges, an order in which to run them |
//! | [`steps`] | the nodes of a graph in an order in which they can run |
//! | [`table`] | all graphs, and the graph that each node belongs to |
//! | [`capture`] | streams that are being captured |
//! | [`graphs`] | the graphs and captures of a process |
//! | [`library`] | the part that a library implements |
//! | [`lists`] | arguments that are arrays of nodes or edges |
//! | [`user_objects`] | user objects |
//! | [`host_call`] | functions of the program |
//! | [`kernel_params`] | the versions of a kernel node's parameters |
//! | [`memory_operations`] | batches of stream memory operations |
//! | [`stream_memory`] | the entry points of stream memory operations |
//! | [`dot`] | `cuGraphDebugDotPrint` |
//! | [`structure`], [`nodes`], [`alloc`], [`generic`], [`exec`], [`conditional`], [`users`], [`capturing`] | the entry points, by family |
//! | [`entries`] | the exports |
//!
//! Handles are assigned in ascending order and never reused, so a stale handle is recognized. They
//! are not addresses: they lie in a range that no program can map.

pub mod alloc;
pub mod capture;
pub mod capturing;
pub mod condition;
pub mod conditional;
pub mod dag;
pub mod dot;
pub mod edge;
pub mod entries;
pub mod exec;
pub mod generic;
pub mod graphs;
pub mod host_call;
pub mod ids;
pub mod kernel_params;
pub mod library;
pub mod lists;
pub mod memory;
pub mod memory_operations;
pub mod nodes;
mod reuse;
pub mod steps;
pub mod stream_memory;
pub mod structure;
pub mod table;
pub mod user_objects;
pub mod users;

pub use edge::Edge;
pub use graphs::Graphs;
pub use host_call::HostCall;
pub use ids::{GraphId, NodeId, Operation};
pub use library::{Exec, Library, Op};
