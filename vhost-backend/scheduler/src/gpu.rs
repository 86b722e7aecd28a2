//! The state of a GPU, and of a VM's turn.

use std::collections::BTreeSet;

use super::types::{Class, GpuKey, Nanos, OpenMode, VmKey};

#[derive(Debug, Default)]
pub struct Gpu {
    /// VMs that have a turn or had work recently. The scheduler considers only these VMs.
    pub recent: Vec<VmKey>,
    /// VMs that have or had class latency, whether or not they have work.
    pub latency: BTreeSet<VmKey>,
    /// VMs whose turn includes this GPU, even if the GPU has already drained.
    pub running: Vec<VmKey>,
    /// A VM that needs several GPUs, for which this GPU is kept free until the VM has all of them.
    pub reserved: Option<VmKey>,
    /// The VM whose workers were asked to prepare for the next turn.
    pub prepared: Option<VmKey>,
    pub sharing: Sharing,
    /// How long all other VMs must be idle before a VM counts as alone, or 0 for the minimum.
    pub alone_after: Nanos,
    /// Since when a VM has been running without limits because it's alone. `None` if no VM is.
    pub alone_since: Option<Nanos>,
    /// Time at which the latest eviction is over.
    pub evicting_until: Nanos,
    /// The least virtual time among the VMs with work. It never decreases.
    pub clock: u128,
    /// Number of turns that have ended on this GPU.
    pub turns: u64,
    pub facts: Facts,
    /// Time of the next check of this GPU.
    pub wake: Option<Nanos>,
}

impl Gpu {
    pub fn note_class(&mut self, vm: VmKey, class: Class) {
        if class == Class::Latency {
            self.latency.insert(vm);
        }
    }

    pub fn note_recent(&mut self, vm: VmKey) {
        if !self.recent.contains(&vm) {
            self.recent.push(vm);
        }
    }

    /// Returns true if the GPU is kept free for another VM.
    pub fn is_kept_from(&self, vm: VmKey) -> bool {
        self.reserved.is_some_and(|holder| holder != vm)
    }
}

/// Whether VMs share a GPU, and when that changes.
#[derive(Debug, Default)]
pub struct Sharing {
    /// Whether the GPU is in shared mode.
    pub shared: bool,
    /// When sharing began. Short measurements in windows do not reset this time.
    pub since: Nanos,
    /// Time up to which the sharing VMs have been charged.
    pub split_at: Nanos,
    /// How long VMs share before their demand is measured in windows again.
    pub share_for: Nanos,
    /// Time at which the next measurement is due.
    pub measure_at: Nanos,
    /// When the current measurement in windows began, if there is one.
    pub measuring_since: Option<Nanos>,
    /// How long VMs stay in windows before they try to share again.
    pub apart_for: Nanos,
    /// Time until which the VMs must stay in windows.
    pub apart_until: Nanos,
}

/// A VM's turn on one or more GPUs.
#[derive(Debug)]
pub struct Turn {
    /// The turn's GPUs, in key order.
    pub gpus: Vec<GpuKey>,
    pub mode: OpenMode,
    pub opened: Nanos,
    /// Time by which all work in the turn must have finished, or [`Nanos::MAX`] if the turn has no
    /// end.
    pub until: Nanos,
    pub depth: Nanos,
    /// How many other VMs had a turn on one of the GPUs when the gates were closed. After shared
    /// mode, all VMs drain at once, and each has to wait for its time slices.
    pub drains_beside: usize,
}

/// Facts about a GPU that stay the same during a whole decision.
#[derive(Debug, Default)]
pub struct Facts {
    /// Latency VMs that had work recently.
    pub awake: Vec<VmKey>,
    /// VMs that are creating or destroying contexts while a latency VM is awake. Batch VMs stay off
    /// the GPU during this time.
    ///
    /// While a context is created or destroyed, the driver performs other operations late, so an
    /// eviction can take 20 ms. If batch VMs are off the GPU, a request of a latency VM needs no
    /// eviction. The VM that creates or destroys the context is charged for the time that others
    /// wait, as if it had used the GPU.
    pub creators: Vec<VmKey>,
}

impl Facts {
    /// Returns true if a latency VM is awake.
    pub fn latency(&self) -> bool {
        !self.awake.is_empty()
    }

    /// Returns true if a latency VM other than `vm` is awake.
    pub fn latency_beside(&self, vm: VmKey) -> bool {
        self.awake.iter().any(|other| *other != vm)
    }
}
