//! Graphs: what their nodes do, and how they travel to the worker.
//!
//! The guest captures and builds graphs by itself, so that no capture needs the worker's streams
//! and no question about a graph a round trip. The worker gets a graph as a whole, when it is
//! instantiated or takes an instantiated one's place.

use crate::driver::Driver;
use crate::entry::copy2d::Memcpy3D;
use crate::entry::host_func::{self, Callback};
use crate::entry::launch::Shape;
use crate::error::{CuError, CuResult};
use crate::handles::Handle;
use crate::objects::{Event, Function};
use cuda_api::graph::table::Step;
use cuda_api::graph::{Graphs, Operation};
use parking_lot::Mutex;
use protocol::codec::Writer;
use protocol::graph as wire;
use protocol::limits::GRAPH_NODES_MAX;
use std::sync::{Arc, LazyLock};

/// All graphs and captures of the process.
pub static GRAPHS: LazyLock<Graphs<Op>> = LazyLock::new(Graphs::new);

/// A launch, with its parameters as they were when it was captured or added.
#[derive(Clone)]
pub struct Kernel {
    /// As the program named it.
    pub handle: Handle,
    pub function: Arc<Function>,
    pub shape: Shape,
    pub params: Arc<[u8]>,
    /// As launches carry them.
    pub attributes: Vec<u8>,
}

/// What a node does.
#[derive(Clone)]
pub enum Op {
    Kernel(Kernel),
    /// With the parameters that the program gave, if it gave any.
    Copy(wire::Copy, Option<Memcpy3D>),
    Memset(wire::Memset),
    Host(Callback),
    /// Events with their handles.
    Wait(Arc<Event>, Handle),
    Record(Arc<Event>, Handle),
}

impl Operation for Op {
    fn kind(&self) -> u32 {
        match self {
            Self::Kernel(_) => 0,
            Self::Copy(..) => 1,
            Self::Memset(_) => 2,
            Self::Host(_) => 3,
            Self::Wait(..) => 6,
            Self::Record(..) => 7,
        }
    }
}

/// A graph that was instantiated.
pub struct Exec {
    pub id: u64,
    pub flags: u64,
    pub state: Mutex<ExecState>,
}

/// What the next launch does.
pub struct ExecState {
    /// As the worker has them; the handles are those of the graph that was instantiated.
    pub steps: Vec<Step<Op>>,
    /// Tokens of host functions, by place in `steps`.
    pub tokens: Vec<(usize, u64)>,
}

/// Encodes what a node does. A host function gets a token, under which the worker asks for it.
pub fn with_step<R>(
    driver: &Driver,
    op: Option<&Op>,
    then: impl FnOnce(&wire::Step<'_>, Option<u64>) -> R,
) -> R {
    let step = match op {
        None => wire::Step::Empty,
        Some(Op::Kernel(kernel)) => {
            let Shape { grid, block, shared } = kernel.shape;
            wire::Step::Kernel(wire::Kernel {
                f: kernel.function.id,
                dims: [grid[0], grid[1], grid[2], block[0], block[1], block[2]],
                shared,
                params: &kernel.params,
                attributes: &kernel.attributes,
            })
        }
        Some(Op::Copy(copy, _)) => wire::Step::Copy(*copy),
        Some(Op::Memset(set)) => wire::Step::Memset(*set),
        Some(Op::Wait(event, _)) => wire::Step::EventWait { event: event.id },
        Some(Op::Record(event, _)) => wire::Step::EventRecord { event: event.id },
        Some(Op::Host(callback)) => {
            let token = host_func::keep(driver, *callback);
            return then(&wire::Step::HostFunc { token }, Some(token));
        }
    };
    then(&step, None)
}

/// A graph as it travels, and the tokens of its host functions.
pub fn encode(driver: &Driver, steps: &[Step<Op>]) -> CuResult<(Writer, Vec<(usize, u64)>)> {
    if steps.len() > GRAPH_NODES_MAX {
        return Err(CuError::OUT_OF_MEMORY);
    }
    let (mut writer, mut tokens) = (Writer::new(), Vec::new());
    writer.word(steps.len() as u64);
    for (place, step) in steps.iter().enumerate() {
        let mut after: Vec<u32> = step.after.iter().map(|place| *place as u32).collect();
        after.sort_unstable();
        after.dedup();
        with_step(driver, step.op.as_ref(), |step, token| {
            wire::encode_node(&after, step, &mut writer);
            tokens.extend(token.map(|token| (place, token)));
        });
    }
    Ok((writer, tokens))
}
