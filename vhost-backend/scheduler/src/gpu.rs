//! The state of a GPU, and a VM's turn.

use std::collections::BTreeSet;

use super::types::{GpuKey, Nanos, OpenMode, VmKey};

#[derive(Debug, Default)]
pub struct Gpu {
    /// VMs that are running or had work recently. The scheduler considers only these.
    pub recent: Vec<VmKey>,
    /// VMs in class latency, with or without work.
    pub latency: BTreeSet<VmKey>,
    /// VMs whose turn includes this GPU, whether drained or not.
    pub running: Vec<VmKey>,
    /// A VM with several GPUs that gets this one as soon as it has the others.
    pub reserved: Option<VmKey>,
    /// The VM that is preparing for the next turn.
    pub prepared: Option<VmKey>,
    /// Whether the GPU is in shared mode, when that began, and the time up to which the sharing VMs
    /// have been charged.
    pub shared: bool,
    pub shared_since: Nanos,
    pub split_at: Nanos,
    /// How long VMs share before their demand is measured, when the next measurement is due, and
    /// when the current one began.
    pub share_for: Nanos,
    pub measure_at: Nanos,
    pub measuring_since: Option<Nanos>,
    /// How long VMs stay in windows before they try sharing again, and when that time ends.
    pub apart_for: Nanos,
    pub apart_until: Nanos,
    /// How long the other VMs must be idle before a VM counts as alone, and when a VM became alone.
    pub alone_after: Nanos,
    pub alone_since: Option<Nanos>,
    /// The least virtual time among the VMs with work. It never decreases.
    pub clock: u128,
    /// Number of turns that have ended.
    pub turns: u64,
    /// Time of the next check.
    pub wake: Option<Nanos>,
}

/// A VM's turn on one or more GPUs.
#[derive(Debug)]
pub struct Turn {
    /// GPUs, in key order.
    pub gpus: Vec<GpuKey>,
    pub mode: OpenMode,
    pub opened: Nanos,
    /// Time by which the turn must have drained. `None` while no end is needed.
    pub until: Option<Nanos>,
    pub depth: Nanos,
    pub phase: Phase,
    /// Time at which a call last finished or the gate last changed.
    pub progress_at: Nanos,
    /// How often a stuck turn was reopened without knowing the cause, since no GPU lagged behind.
    pub reopens: u32,
    /// Whether a call was let through on one GPU because another GPU may be waiting for it.
    pub stepped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Open,
    /// Reopened during a drain for one call, until that call finishes or `end` is reached.
    Reopened {
        since: Nanos,
        end: Nanos,
    },
    Draining {
        since: Nanos,
    },
}
