//! A GPU's state, and the turn of a VM.

use std::collections::BTreeSet;

use super::types::{GpuKey, Nanos, OpenMode, VmKey};

#[derive(Debug, Default)]
pub struct Gpu {
    /// The VMs that had work recently or are running. Only these are considered.
    pub recent: Vec<VmKey>,
    /// The VMs of class latency, with or without work.
    pub latency: BTreeSet<VmKey>,
    /// The VMs whose turn includes this GPU, drained or not.
    pub running: Vec<VmKey>,
    /// The VM of several GPUs that gets this one as soon as it has the others.
    pub reserved: Option<VmKey>,
    /// The VM that was asked to prepare.
    pub prepared: Option<VmKey>,
    /// Whether the GPU is in shared mode, since when, and the time up to which sharing VMs were
    /// charged.
    pub shared: bool,
    pub shared_since: Nanos,
    pub split_at: Nanos,
    /// How long VMs share until their demand is measured, when that is due, and since when it has been
    /// measured.
    pub share_for: Nanos,
    pub measure_at: Nanos,
    pub measuring_since: Option<Nanos>,
    /// How long VMs stay in windows until sharing is tried again, and until when.
    pub apart_for: Nanos,
    pub apart_until: Nanos,
    /// How long the others must be idle until a VM counts as alone, and since when one does.
    pub alone_after: Nanos,
    pub alone_since: Option<Nanos>,
    /// The least virtual time of the VMs with work; never goes back.
    pub clock: u128,
    /// The number of turns that have ended.
    pub turns: u64,
    /// When the next check is due.
    pub wake: Option<Nanos>,
}

/// A VM's time on its GPUs.
#[derive(Debug)]
pub struct Turn {
    /// The GPUs, in order.
    pub gpus: Vec<GpuKey>,
    pub mode: OpenMode,
    pub opened: Nanos,
    /// When the turn must have drained. `None` while no end is needed.
    pub until: Option<Nanos>,
    pub depth: Nanos,
    pub phase: Phase,
    /// When a call last finished, or the gate last changed.
    pub progress_at: Nanos,
    /// How often the turn was opened again on suspicion, without a GPU that lags behind.
    pub reopens: u32,
    /// Whether a call was let through on one GPU because another may wait for it.
    pub stepped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Open,
    /// Opened again during a drain for one call, until that finishes or `end` is reached.
    Reopened {
        since: Nanos,
        end: Nanos,
    },
    Draining {
        since: Nanos,
    },
}
