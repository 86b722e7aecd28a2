//! A GPU: who is on it now, and who is to be next.

use std::collections::BTreeSet;

use super::types::{GpuKey, Nanos, OpenMode, VmKey};

#[derive(Debug, Default)]
pub struct Gpu {
    /// VMs that had work a short while ago, and all that run: nobody else is looked at.
    pub recent: Vec<VmKey>,
    /// VMs of class latency, with work or without.
    pub latency: BTreeSet<VmKey>,
    /// VMs whose turn includes this GPU, drained or not.
    pub running: Vec<VmKey>,
    /// A VM of several GPUs takes this one as soon as it has the others.
    pub reserved: Option<VmKey>,
    /// Who was told to prepare.
    pub prepared: Option<VmKey>,
    /// VMs share it, since then, and their time is booked up to there.
    pub shared: bool,
    pub shared_since: Nanos,
    pub split_at: Nanos,
    /// For how long they share before what they want is looked at, when that is, and since when it is
    /// being looked at.
    pub share_for: Nanos,
    pub look_at: Nanos,
    pub looks_since: Option<Nanos>,
    /// For how long VMs stay in windows before sharing is tried again, and until when.
    pub apart_for: Nanos,
    pub apart_until: Nanos,
    /// How long the others must be idle for one to be alone, and since when it is.
    pub alone_after: Nanos,
    pub alone_since: Option<Nanos>,
    /// The virtual time of the VM with work that has least of it; never goes back.
    pub clock: u128,
    /// Turns that ended.
    pub turns: u64,
    /// When something is to be looked at.
    pub wake: Option<Nanos>,
}

/// A VM's time on its GPUs.
#[derive(Debug)]
pub struct Turn {
    /// In order.
    pub gpus: Vec<GpuKey>,
    pub mode: OpenMode,
    pub opened: Nanos,
    /// When it is to have drained, if somebody waits.
    pub until: Option<Nanos>,
    pub depth: Nanos,
    pub phase: Phase,
    /// When something last finished, or the gate last moved.
    pub progress_at: Nanos,
    /// How often it was opened again without knowing that this would help.
    pub reopens: u32,
    /// A call was let through on one GPU for which another waited.
    pub stepped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Open,
    /// Opened again while draining, for one call, until that ends or for as long as is granted.
    Reopened {
        since: Nanos,
        end: Nanos,
    },
    Draining {
        since: Nanos,
    },
}
