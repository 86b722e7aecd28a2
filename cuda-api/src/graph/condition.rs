//! Types for conditional nodes.

use super::ids::GraphId;
use crate::error::{CuError, CuResult};
use crate::sys::CUgraphConditionalNodeType as Type;
use std::any::Any;
use std::sync::Arc;

/// The library's data for the handles of one graph.
pub type Conditions = Arc<dyn Any + Send + Sync>;

/// Determines which body of a conditional node runs, depending on the value of the node's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The first body runs if the value isn't 0, the second one if it's 0.
    If,
    /// The body runs as long as the value isn't 0.
    While,
    /// The body with the value's number runs.
    Switch,
}

impl Kind {
    /// Converts the parameters of a node. `size` is the number of bodies.
    pub(super) fn new(kind: Type, size: u32) -> CuResult<Self> {
        match kind {
            Type::CU_GRAPH_COND_TYPE_IF if (1..=2).contains(&size) => Ok(Self::If),
            Type::CU_GRAPH_COND_TYPE_WHILE if size == 1 => Ok(Self::While),
            Type::CU_GRAPH_COND_TYPE_SWITCH if size > 0 => Ok(Self::Switch),
            _ => Err(CuError::INVALID_VALUE),
        }
    }

    /// Returns the number in cuda.h.
    pub fn number(self) -> u32 {
        match self {
            Self::If => Type::CU_GRAPH_COND_TYPE_IF.0,
            Self::While => Type::CU_GRAPH_COND_TYPE_WHILE.0,
            Self::Switch => Type::CU_GRAPH_COND_TYPE_SWITCH.0,
        }
    }
}

/// A handle for a conditional node. It lives as long as its graph.
#[derive(Clone, Copy, Debug)]
pub struct Handle {
    /// The value that the handle gets when the graph is launched, if any.
    pub default: Option<u32>,
    /// Whether a node uses the handle.
    pub used: bool,
}

/// The work of a conditional node.
#[derive(Debug)]
pub struct Conditional {
    /// The handle whose value determines which body runs.
    pub handle: u64,
    pub kind: Kind,
    /// The body graphs, which belong to the node. The program gets the address of this array.
    pub bodies: Box<[GraphId]>,
}
