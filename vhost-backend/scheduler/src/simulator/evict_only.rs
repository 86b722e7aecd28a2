//! The simplest scheduler that we could think of, for comparison: all gates are always open, and
//! all VMs that have work, except for one, are evicted. It has weights and latency VMs, but no
//! caps, guarantees, copies, or VMs with several GPUs.

use std::collections::BTreeMap;

use super::super::{Class, MS, Nanos, Share, US};

/// `PERIOD` and `MAX_WINDOW` have the same values as in the real scheduler, so windows have the
/// same lengths. The caller gives the minimum length.
const PERIOD: Nanos = 60 * MS;
const MAX_WINDOW: Nanos = 20 * MS;
/// How long a VM keeps the GPU without work.
const GRACE: Nanos = 250 * US;
/// After this time without work, a VM no longer gets GPU time that it was owed before.
const FORGET: Nanos = 100 * MS;
/// How far a latency VM may be ahead of its share.
const AHEAD: f64 = 50e6;

/// An order for the evictor: a VM, and whether its work must leave the GPU or may return.
pub type Order = (u64, bool);

#[derive(Debug)]
struct Vm {
    weight: f64,
    latency: bool,
    /// The GPU time charged so far, divided by the weight.
    charged: f64,
    active: bool,
    idle_since: Nanos,
    off: bool,
}

/// The VMs on one GPU.
#[derive(Debug)]
pub struct EvictOnly {
    vms: BTreeMap<u64, Vm>,
    min_window: Nanos,
    current: Option<u64>,
    since: Nanos,
    until: Nanos,
}

impl EvictOnly {
    pub fn new(min_window: Nanos) -> Self {
        EvictOnly { vms: BTreeMap::new(), min_window, current: None, since: 0, until: 0 }
    }

    pub fn add(&mut self, vm: u64, share: Share) {
        let (weight, latency) = (f64::from(share.weight), share.class == Class::Latency);
        let vm_state =
            Vm { weight, latency, charged: 0.0, active: false, idle_since: 0, off: false };
        self.vms.insert(vm, vm_state);
    }

    /// Handles that a VM has work in flight, or no longer has any.
    pub fn report(&mut self, vm: u64, active: bool, now: Nanos) -> Vec<Order> {
        let least = self.least();
        let Some(state) = self.vms.get_mut(&vm) else { return Vec::new() };
        if active && !state.active && now - state.idle_since > FORGET {
            state.charged = state.charged.max(least);
        }
        if !active && state.active {
            state.idle_since = now;
        }
        state.active = active;
        let mut orders = self.tick(now);
        let is_current = self.current == Some(vm);
        if let Some(state) = self.vms.get_mut(&vm)
            && active
            && !is_current
            && !state.off
        {
            state.off = true;
            orders.push((vm, true));
        }
        orders
    }

    /// Handles the end of the current window, if it's over.
    pub fn tick(&mut self, now: Nanos) -> Vec<Order> {
        let mut orders = Vec::new();
        if let Some(current) = self.current.and_then(|vm| self.vms.get_mut(&vm)) {
            current.charged += (now - self.since) as f64 / current.weight;
            self.since = now;
        }
        let Some(next) = self.best() else {
            return orders;
        };
        let rests = self
            .current
            .and_then(|vm| self.vms.get(&vm))
            .is_none_or(|current| !current.active && now >= current.idle_since + GRACE);
        let overtakes = self.overtakes(next) && !self.current.is_some_and(|vm| self.overtakes(vm));
        if !rests && !overtakes && now < self.until {
            return orders;
        }
        let total: f64 = self.vms.values().filter(|vm| vm.active).map(|vm| vm.weight).sum();
        let length = (PERIOD as f64 * self.vms[&next].weight / total) as Nanos;
        (self.since, self.until) = (now, now + length.clamp(self.min_window, MAX_WINDOW));
        let last = self.current.replace(next).filter(|last| *last != next);
        for (vm, off) in last.map(|last| (last, true)).into_iter().chain([(next, false)]) {
            if let Some(state) = self.vms.get_mut(&vm)
                && state.off != off
                && (state.active || !off)
            {
                state.off = off;
                orders.push((vm, off));
            }
        }
        orders
    }

    /// Returns when [`EvictOnly::tick`] must be called.
    pub fn wake_at(&self) -> Option<Nanos> {
        let current = self.vms.get(&self.current?)?;
        let others = self.vms.iter().any(|(vm, state)| Some(*vm) != self.current && state.active);
        let idle = current.idle_since + GRACE;
        others.then(|| if current.active { self.until } else { self.until.min(idle) })
    }

    fn least(&self) -> f64 {
        let charged = self.vms.values().filter(|vm| vm.active).map(|vm| vm.charged);
        charged.reduce(f64::min).unwrap_or(0.0)
    }

    /// Returns true if this is a latency VM that comes before batch VMs.
    fn overtakes(&self, vm: u64) -> bool {
        let vm = &self.vms[&vm];
        vm.latency && (vm.charged - self.least()) * vm.weight < AHEAD
    }

    /// Returns the VM that should have the GPU, among those with work.
    fn best(&self) -> Option<u64> {
        let active = self.vms.iter().filter(|(_, vm)| vm.active);
        let rank = |(vm, state): &(&u64, &Vm)| (!self.overtakes(**vm), state.charged);
        let best = active.min_by(|a, b| {
            let ((late, charged), (other_late, other_charged)) = (rank(a), rank(b));
            late.cmp(&other_late).then(charged.total_cmp(&other_charged))
        });
        best.map(|(vm, _)| *vm)
    }
}
