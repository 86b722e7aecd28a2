//! What the nodes of graphs do, and graphs that are ready to be launched.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cuda_api::graph::Operation;
use cuda_api::graph::table::Step;
use cuda_api::sys::{CUDA_MEMCPY3D, CUresult};

use super::context::Context;
use super::event::{Event, now};
use super::handles::{Kind, Table};
use super::stream::{Mark, Stream};
use crate::api::copy::{Copy, Fill};
use crate::api::launch::Kernel;

/// All graphs that are ready to be launched.
pub(crate) static EXECS: Table<Exec> = Table::new(Kind::GraphExec);

/// As programs give it.
pub(crate) type HostFn = unsafe extern "C" fn(*mut c_void);

/// A host function with its argument.
#[derive(Clone, Copy)]
pub(crate) struct Host {
    pub(crate) function: HostFn,
    pub(crate) data: *mut c_void,
}

// SAFETY: the program gave the pointer for use on another thread.
unsafe impl Send for Host {}
// SAFETY: as above; nothing here follows it.
unsafe impl Sync for Host {}

impl Host {
    pub(crate) fn run(&self) {
        // SAFETY: the program asked for this call.
        unsafe { (self.function)(self.data) };
    }
}

/// The parameters that a program gave for a copy. They are only given back.
#[derive(Clone, Copy)]
pub(crate) struct CopyParams(pub(crate) CUDA_MEMCPY3D);

// SAFETY: plain numbers; nothing here follows the pointers among them.
unsafe impl Send for CopyParams {}
// SAFETY: as above.
unsafe impl Sync for CopyParams {}

/// What a node does.
#[derive(Clone)]
pub(crate) enum Op {
    Kernel(Kernel),
    Copy(Copy, Option<CopyParams>),
    Fill(Fill),
    Host(Host),
    /// Events with their handles.
    Wait(Arc<Event>, usize),
    Record(Arc<Event>, usize),
}

impl Operation for Op {
    fn kind(&self) -> u32 {
        match self {
            Self::Kernel(_) => 0,
            Self::Copy(..) => 1,
            Self::Fill(_) => 2,
            Self::Host(_) => 3,
            Self::Wait(..) => 6,
            Self::Record(..) => 7,
        }
    }
}

/// A graph that is ready to be launched.
pub(crate) struct Exec {
    pub(crate) context: Arc<Context>,
    pub(crate) flags: u64,
    steps: Mutex<Arc<[Step<Op>]>>,
    /// The end of its last launch: it does not run beside itself.
    last: Mutex<Option<Mark>>,
}

impl Exec {
    pub(crate) fn new(context: Arc<Context>, flags: u64, steps: Vec<Step<Op>>) -> Self {
        Self { context, flags, steps: Mutex::new(steps.into()), last: Mutex::new(None) }
    }

    pub(crate) fn steps(&self) -> Arc<[Step<Op>]> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the next launches do. The nodes keep their handles.
    pub(crate) fn set_steps(&self, steps: Vec<Step<Op>>) {
        *self.steps.lock().unwrap_or_else(PoisonError::into_inner) = steps.into();
    }

    /// Queues one run of it.
    pub(crate) fn launch(&self, stream: &Stream) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mark) = last.take().filter(|mark| !mark.reached()) {
            stream.submit_after(mark);
        }
        let steps = self.steps();
        let mut records = Vec::new();
        for step in steps.iter() {
            if let Some(Op::Record(event, _)) = &step.op {
                records.push((event.clone(), Arc::new(AtomicU64::new(0))));
            }
        }
        let cells: Vec<_> = records.iter().map(|(_, cell)| cell.clone()).collect();
        let own: Vec<_> = records.iter().map(|(event, _)| Arc::as_ptr(event) as usize).collect();
        let mark = stream.submit(move |context| {
            let mut cells = cells.iter();
            for step in steps.iter() {
                match &step.op {
                    Some(Op::Record(..)) => {
                        cells
                            .next()
                            .into_iter()
                            .for_each(|cell| cell.store(now(), Ordering::Release));
                    }
                    // What this very launch records lies before the wait, in the one order that
                    // the nodes run in here.
                    Some(Op::Wait(event, _)) if !own.contains(&(Arc::as_ptr(event) as usize)) => {
                        event.wait();
                    }
                    Some(op) if !context.failed() => run(op, context),
                    _ => {}
                }
            }
        });
        for (event, cell) in records {
            event.set(mark.clone(), cell);
        }
        *last = Some(mark);
    }
}

fn run(op: &Op, context: &Context) {
    match op {
        Op::Kernel(kernel) => match kernel.prepare() {
            Ok(launch) => kernel.run(launch, context),
            Err(_) => context.fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY),
        },
        Op::Copy(copy, _) => copy.run(),
        Op::Fill(fill) => fill.run(),
        Op::Host(host) => host.run(),
        Op::Wait(..) | Op::Record(..) => {}
    }
}
