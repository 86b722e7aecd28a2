//! The simulator's event loop. It runs in virtual time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::super::{
    Action, ActionKind, GpuKey, MS, Nanos, OpenMode, Scheduler, Settings, Share, VmKey, VmStats,
};
use super::evict_only::{EvictOnly, Order};
use super::load::Load;
use super::worker::{Grant, Worker};
use super::{Machine, Random};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A batch may have ended on a GPU. Ignored if the GPU's `generation` has changed since this
    /// event was scheduled.
    End { gpu: u32, generation: u64 },
    /// A VM's work is off the GPU, or on it again.
    Switched { vm: u64, gpu: u32, off: bool },
    /// A VM's copy has finished.
    Copied { vm: u64, gpu: u32 },
    /// A worker notices that its gate was opened or changed.
    Grant { vm: u64, gpu: u32, word: u64 },
    /// A worker notices that none of its work is in flight.
    Notice { vm: u64, gpu: u32 },
    /// The scheduler thread notices that a worker rang its bell.
    Bell { vm: u64, gpu: u32 },
    /// The VM's program asks for more work.
    Program { vm: u64 },
    /// The scheduler's timer expires. Ignored if the timer has been set again since.
    Tick { number: u64 },
}

/// A period during which a VM's gate on a GPU was open.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub vm: VmKey,
    pub gpu: GpuKey,
    pub from: Nanos,
    pub to: Nanos,
    pub mode: OpenMode,
}

#[derive(Debug, Default)]
struct Gpu {
    /// VMs with work in flight on this GPU.
    contexts: Vec<u64>,
    last: Option<u64>,
    updated: Nanos,
    /// Time at which the GPU finishes its current switch between VMs.
    frozen: Nanos,
    /// Time at which the latest eviction or return is over. The simulated driver performs them one
    /// after another.
    switched: Nanos,
    generation: u64,
    idle: Nanos,
}

/// The simulated machine, its VMs and the scheduler.
#[derive(Debug)]
pub struct World {
    pub scheduler: Scheduler,
    pub now: Nanos,
    /// Response times of requests, by VM.
    pub latencies: BTreeMap<u64, Vec<Nanos>>,
    /// Periods during which gates were open. `None` if they aren't recorded.
    pub spans: Option<Vec<Span>>,
    /// Number of events handled so far.
    pub events: u64,
    open: BTreeMap<(u64, u32), (Nanos, OpenMode)>,
    machine: Machine,
    random: Random,
    gpus: Vec<Gpu>,
    workers: BTreeMap<u64, BTreeMap<u32, Worker>>,
    grants: BTreeMap<(u64, u32, u64), Grant>,
    queue: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    sequence: u64,
    tick: (Option<Nanos>, u64),
    word: u64,
    next_vm: u64,
    free: bool,
    /// The scheduler that is used in place of the real one, on GPU 0.
    evict_only: Option<EvictOnly>,
}

impl World {
    pub fn new(settings: Settings, machine: Machine, gpus: u32, seed: u64) -> Self {
        World {
            scheduler: Scheduler::new(settings),
            now: 0,
            latencies: BTreeMap::new(),
            spans: None,
            events: 0,
            open: BTreeMap::new(),
            machine,
            random: Random::new(seed),
            gpus: (0..gpus).map(|_| Gpu::default()).collect(),
            workers: BTreeMap::new(),
            grants: BTreeMap::new(),
            queue: BinaryHeap::new(),
            sequence: 0,
            tick: (None, 0),
            word: 0,
            next_vm: 1,
            free: false,
            evict_only: None,
        }
    }

    /// Adds a VM whose program starts now.
    pub fn add(&mut self, gpus: &[u32], share: Share, load: Load) -> VmKey {
        let vm = self.next_vm;
        self.next_vm += 1;
        let shares: Vec<_> = gpus.iter().map(|gpu| (GpuKey(*gpu), share)).collect();
        self.scheduler.set_vm(VmKey(vm), &shares, self.now);
        let mut workers: BTreeMap<_, _> =
            gpus.iter().map(|gpu| (*gpu, Worker::new(load))).collect();
        for (gpu, worker) in &mut workers {
            worker.skew = 1.0 + self.random.between((0, 300)) as f64 / 1000.0;
            worker.copies = self.scheduler.copies(VmKey(vm), GpuKey(*gpu));
        }
        self.workers.insert(vm, workers);
        if let Some(scheduler) = &mut self.evict_only {
            scheduler.add(vm, share);
        }
        if self.free {
            let mode =
                if self.evict_only.is_some() { OpenMode::Window } else { OpenMode::Unlimited };
            let grant = Grant { mode, until: Nanos::MAX, depth: Nanos::MAX };
            for worker in self.workers.get_mut(&vm).into_iter().flat_map(BTreeMap::values_mut) {
                worker.grant = Some(grant);
            }
        }
        let delay = self.random.between((0, MS));
        self.push(self.now + delay, Event::Program { vm });
        VmKey(vm)
    }

    /// Changes a VM's program, starting now.
    pub fn becomes(&mut self, vm: VmKey, load: Load) {
        for worker in self.workers.get_mut(&vm.0).into_iter().flat_map(BTreeMap::values_mut) {
            worker.load = load;
            worker.source.waiting = 0;
        }
        self.push(self.now, Event::Program { vm: vm.0 });
    }

    /// Opens every gate and turns the scheduler off, so that the driver time-slices between all
    /// VMs.
    pub fn unscheduled(mut self) -> Self {
        self.free = true;
        self
    }

    /// Opens every gate, and evicts all VMs but one. Windows have at least the given length.
    pub fn evict_only(mut self, min_window: Nanos) -> Self {
        self.evict_only = Some(EvictOnly::new(min_window));
        self.unscheduled()
    }

    /// Changes a VM's share.
    pub fn change(&mut self, vm: VmKey, gpu: u32, share: Share) {
        self.scheduler.set_share(vm, GpuKey(gpu), share, self.now);
        self.apply(Vec::new());
    }

    /// Pauses a VM, or lets it continue.
    pub fn set_paused(&mut self, vm: VmKey, paused: bool) {
        let mut out = Vec::new();
        self.scheduler.set_paused(vm, paused, self.now, &mut out);
        self.apply(out);
        let gpus: Vec<u32> =
            self.workers.get(&vm.0).into_iter().flatten().map(|(gpu, _)| *gpu).collect();
        for gpu in gpus {
            self.report(vm.0, gpu);
        }
    }

    /// Returns how much kernel work was done for a VM on a GPU, in ns.
    pub fn done(&self, vm: VmKey, gpu: u32) -> f64 {
        self.workers.get(&vm.0).and_then(|all| all.get(&gpu)).map_or(0.0, |worker| worker.done)
    }

    /// Returns how much copying was done for a VM on a GPU, in ns of copy engine time.
    pub fn moved(&self, vm: VmKey, gpu: u32) -> Nanos {
        self.workers.get(&vm.0).and_then(|all| all.get(&gpu)).map_or(0, |worker| worker.moved)
    }

    pub fn stats(&self, vm: VmKey, gpu: u32) -> VmStats {
        self.scheduler.stats(vm, GpuKey(gpu), self.now).unwrap_or_default()
    }

    /// Returns how long a GPU had no work in flight.
    pub fn idle(&self, gpu: u32) -> Nanos {
        self.gpus[gpu as usize].idle
    }

    /// Returns a percentile of the VM's response times: the fraction `part` of its requests took at
    /// most this long.
    pub fn percentile(&self, vm: VmKey, part: f64) -> Nanos {
        let mut all = self.latencies.get(&vm.0).cloned().unwrap_or_default();
        all.sort_unstable();
        let at = ((all.len() as f64 * part) as usize).min(all.len().saturating_sub(1));
        all.get(at).copied().unwrap_or(0)
    }

    /// Runs the simulation until time `to`.
    pub fn run(&mut self, to: Nanos) {
        while let Some(Reverse((at, _, _))) = self.queue.peek()
            && *at <= to
        {
            let Some(Reverse((at, _, event))) = self.queue.pop() else { break };
            self.now = self.now.max(at);
            self.events += 1;
            self.handle(event);
        }
        self.now = self.now.max(to);
        for gpu in 0..self.gpus.len() as u32 {
            self.advance(gpu);
        }
    }

    fn push(&mut self, at: Nanos, event: Event) {
        self.sequence += 1;
        self.queue.push(Reverse((at, self.sequence, event)));
    }

    fn worker(&mut self, vm: u64, gpu: u32) -> Option<&mut Worker> {
        self.workers.get_mut(&vm)?.get_mut(&gpu)
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::End { gpu, generation } => {
                if self.gpus[gpu as usize].generation == generation {
                    self.advance(gpu);
                    self.plan(gpu);
                }
            }
            Event::Grant { vm, gpu, word } => {
                let Some(grant) = self.grants.remove(&(vm, gpu, word)) else { return };
                let now = self.now;
                let Some(worker) = self.worker(vm, gpu) else { return };
                if worker.word == word {
                    worker.account(now);
                    worker.started &= worker.grant.is_some();
                    worker.active |= worker.copying.is_some();
                    worker.grant = Some(grant);
                    (worker.prepared, worker.standby) = (false, None);
                    self.copy(vm, gpu);
                    self.pump(vm, gpu);
                }
            }
            Event::Notice { vm, gpu } => {
                let Some(worker) = self.worker(vm, gpu) else { return };
                let copies = worker.grant.is_some() && worker.copying.is_some();
                if worker.flight.is_empty() && !copies && worker.active {
                    worker.active = false;
                    let unlimited = worker.grant.is_some_and(|g| g.mode == OpenMode::Unlimited);
                    if !unlimited {
                        self.ring(vm, gpu);
                    }
                }
            }
            Event::Switched { vm, gpu, off } => self.switched(vm, gpu, off),
            Event::Copied { vm, gpu } => self.copied(vm, gpu),
            Event::Bell { vm, gpu } => self.report(vm, gpu),
            Event::Program { vm } => self.program(vm),
            Event::Tick { number } => {
                if self.tick.1 != number {
                    return;
                }
                if let Some(scheduler) = &mut self.evict_only {
                    let orders = scheduler.tick(self.now);
                    self.carry_out(orders);
                    return;
                }
                let watched: Vec<_> = self.scheduler.watched(self.now).collect();
                for (vm, gpu) in watched {
                    self.report(vm.0, gpu.0);
                }
                let mut out = Vec::new();
                self.scheduler.tick(self.now, &mut out);
                self.apply(out);
            }
        }
    }

    fn ring(&mut self, vm: u64, gpu: u32) {
        let delay = self.random.between(self.machine.scheduler);
        self.push(self.now + delay, Event::Bell { vm, gpu });
    }

    /// Simulates that the scheduler thread reads a gate page and reports its contents to the
    /// scheduler.
    fn report(&mut self, vm: u64, gpu: u32) {
        self.advance(gpu);
        let (now, evictable) = (self.now, self.machine.evict.is_some());
        let Some(worker) = self.worker(vm, gpu) else { return };
        worker.account(now);
        let report = worker.report(evictable, now);
        if let Some(scheduler) = &mut self.evict_only {
            let orders = scheduler.report(vm, report.active, now);
            self.carry_out(orders);
            return;
        }
        let mut out = Vec::new();
        self.scheduler.report(VmKey(vm), GpuKey(gpu), report, now, &mut out);
        self.apply(out);
    }

    fn apply(&mut self, actions: Vec<Action>) {
        let (now, mut closed) = (self.now, Vec::new());
        for Action { vm, gpu, kind } in actions {
            self.word += 1;
            let word = self.word;
            match kind {
                ActionKind::Prepare => {
                    if let Some(worker) = self.worker(vm.0, gpu.0) {
                        worker.prepared = true;
                    }
                }
                ActionKind::StandBy { depth } => {
                    if let Some(worker) = self.worker(vm.0, gpu.0) {
                        worker.standby = Some(depth);
                    }
                    self.pump(vm.0, gpu.0);
                }
                ActionKind::Open { mode, until, depth } => {
                    let (prepared, asleep) = (self.machine.prepared, self.machine.asleep);
                    let Some(worker) = self.worker(vm.0, gpu.0) else { continue };
                    worker.word = word;
                    let awake = worker.prepared || worker.grant.is_some();
                    let delay = self.random.between(if awake { prepared } else { asleep });
                    self.grants.insert((vm.0, gpu.0, word), Grant { mode, until, depth });
                    self.push(self.now + delay, Event::Grant { vm: vm.0, gpu: gpu.0, word });
                    self.record(vm.0, gpu.0, Some(mode));
                }
                ActionKind::Close => {
                    if let Some(worker) = self.worker(vm.0, gpu.0) {
                        worker.account(now);
                        worker.word = word;
                        worker.active &= !worker.flight.is_empty() || worker.copying.is_none();
                        worker.grant = None;
                        (worker.prepared, worker.standby) = (false, None);
                        worker.started = false;
                        closed.push((vm.0, gpu.0));
                    }
                    self.record(vm.0, gpu.0, None);
                }
                ActionKind::Evict => self.switch(vm.0, gpu.0, true),
                ActionKind::Restore => self.switch(vm.0, gpu.0, false),
                ActionKind::Copies { depth } => {
                    if let Some(worker) = self.worker(vm.0, gpu.0) {
                        worker.copies = depth;
                    }
                    self.copy(vm.0, gpu.0);
                }
                ActionKind::Slices { .. } | ActionKind::Timeout { .. } => {}
            }
        }
        for (vm, gpu) in closed {
            self.report(vm, gpu);
        }
        self.set_timer(self.scheduler.wake_at());
    }

    /// Carries out the orders of [`EvictOnly`].
    fn carry_out(&mut self, orders: Vec<Order>) {
        for (vm, off) in orders {
            self.switch(vm, 0, off);
        }
        self.set_timer(self.evict_only.as_ref().and_then(EvictOnly::wake_at));
    }

    fn set_timer(&mut self, wanted: Option<Nanos>) {
        if wanted != self.tick.0 {
            self.tick = (wanted, self.tick.1 + 1);
            if let Some(at) = wanted {
                let late = self.random.between(self.machine.scheduler) / 4;
                self.push(at.max(self.now) + late, Event::Tick { number: self.tick.1 });
            }
        } else if wanted.is_some_and(|at| at <= self.now) {
            // Another tick is already due. Schedule it a little later, so that time advances.
            self.tick.1 += 1;
            self.push(self.now + 1000, Event::Tick { number: self.tick.1 });
        }
    }

    /// Begins to take a VM's work off the GPU, or to let it continue.
    fn switch(&mut self, vm: u64, gpu: u32, off: bool) {
        let range = if off { self.machine.evict.unwrap_or_default() } else { self.machine.restore };
        let took = self.random.between(range);
        let state = &mut self.gpus[gpu as usize];
        state.switched = state.switched.max(self.now) + took;
        let at = state.switched;
        self.push(at, Event::Switched { vm, gpu, off });
        if off && self.machine.evict_stops {
            self.switched(vm, gpu, true);
        }
    }

    fn switched(&mut self, vm: u64, gpu: u32, off: bool) {
        self.advance(gpu);
        let Some(worker) = self.worker(vm, gpu) else { return };
        worker.off = off;
        let waits = !worker.flight.is_empty();
        let contexts = &mut self.gpus[gpu as usize].contexts;
        contexts.retain(|other| *other != vm);
        if !off && waits {
            contexts.push(vm);
        }
        self.plan(gpu);
    }

    fn record(&mut self, vm: u64, gpu: u32, mode: Option<OpenMode>) {
        let before = self.open.remove(&(vm, gpu));
        if let (Some(spans), Some((from, mode))) = (&mut self.spans, before) {
            spans.push(Span { vm: VmKey(vm), gpu: GpuKey(gpu), from, to: self.now, mode });
        }
        if let Some(mode) = mode {
            self.open.insert((vm, gpu), (self.now, mode));
        }
    }

    /// Starts a worker's next copy, if one is waiting and allowed.
    fn copy(&mut self, vm: u64, gpu: u32) {
        let now = self.now;
        let Some(worker) = self.worker(vm, gpu) else { return };
        let beside = worker.grant.is_none();
        if worker.copy(now) {
            let ends = now + worker.load.copy();
            self.push(ends, Event::Copied { vm, gpu });
            if beside {
                self.ring(vm, gpu);
            }
        }
    }

    /// Handles the end of a copy. Another copy or a kernel may start then.
    fn copied(&mut self, vm: u64, gpu: u32) {
        let (now, notice) = (self.now, self.machine.notice);
        let Some(worker) = self.worker(vm, gpu) else { return };
        worker.account(now);
        let Some(since) = worker.copying.take() else { return };
        worker.moved += now - since;
        worker.finished += u64::from(worker.active);
        match worker.load {
            Load::Copies { .. } => worker.source.copies = true,
            Load::Pipeline { .. } => worker.source.waiting += 1,
            _ => {}
        }
        let closed = worker.grant.is_none();
        let waits = worker.source.waiting > 0 || worker.copies == 0;
        self.copy(vm, gpu);
        self.pump(vm, gpu);
        if closed && waits {
            self.ring(vm, gpu);
        } else if !closed {
            let delay = self.random.between(notice);
            self.push(now + delay, Event::Notice { vm, gpu });
        }
    }

    /// Lets a worker submit as much work as its gate allows.
    fn pump(&mut self, vm: u64, gpu: u32) {
        self.advance(gpu);
        let (now, most) = (self.now, self.machine.in_flight);
        // When the driver time-slices, `Machine::sliced` already includes the cost of switching.
        let free = self.free && self.evict_only.is_none();
        let rings = self.evict_only.is_some();
        let sliced = free || self.open.keys().any(|(other, at)| *at == gpu && *other != vm);
        let Some(worker) = self.worker(vm, gpu) else { return };
        let was_active = worker.active;
        let (pumped, off) = (worker.pump(most, now), worker.off);
        let rings = rings || worker.standby.is_some();
        if rings && pumped && !was_active {
            self.ring(vm, gpu);
        }
        if pumped && !off {
            let state = &mut self.gpus[gpu as usize];
            if !state.contexts.contains(&vm) {
                if state.contexts.is_empty() && state.last != Some(vm) && !sliced {
                    state.frozen = now + self.machine.change;
                }
                state.contexts.push(vm);
                state.last = Some(vm);
            }
            self.plan(gpu);
        }
    }

    /// Returns true if the batch at the head of a VM's queue can run. A collective batch can run
    /// once it's at the head on all of the VM's GPUs.
    fn released(&self, vm: u64, number: Option<u64>) -> bool {
        let Some(number) = number else { return true };
        self.workers[&vm].values().all(|worker| worker.reached.is_some_and(|at| at >= number))
    }

    /// Advances the work on a GPU to the current time.
    fn advance(&mut self, gpu: u32) {
        let now = self.now;
        let state = &mut self.gpus[gpu as usize];
        let from = state.updated.max(state.frozen.min(now));
        let (all, ran) = (now - state.updated, now - from);
        state.updated = now;
        let contexts = state.contexts.clone();
        // Count the evicted work of a worker as busy time: to the worker, that work still seems to
        // be running.
        for worker in self.workers.values_mut().filter_map(|all| all.get_mut(&gpu)) {
            worker.busy += if worker.off && !worker.flight.is_empty() { all } else { 0 };
        }
        if contexts.is_empty() {
            self.gpus[gpu as usize].idle += all;
            return;
        }
        let runs = self.runs(gpu, from);
        let mut ended = Vec::new();
        for vm in contexts {
            let rate = self.rate(vm, runs);
            let head = self.workers[&vm][&gpu].flight.front().copied();
            let goes = head.is_some_and(|batch| self.released(vm, batch.number));
            let Some(worker) = self.worker(vm, gpu) else { continue };
            worker.busy += all;
            if goes && let Some(batch) = worker.flight.front_mut() {
                let part = (ran as f64 * rate).min(batch.left);
                batch.left -= part;
                worker.done += part;
                if batch.left < 1.0 {
                    worker.finished += batch.kernels;
                    worker.flight.pop_front();
                    worker.head_since = now;
                    ended.push(vm);
                }
            }
        }
        for vm in ended {
            self.ended(vm, gpu);
        }
    }

    /// If several VMs have work in flight on the GPU, returns the VM that has the time slice at
    /// `at`.
    fn runs(&self, gpu: u32, at: Nanos) -> Option<u64> {
        let contexts = &self.gpus[gpu as usize].contexts;
        let slice = (at / self.machine.slice) as usize;
        (contexts.len() > 1).then(|| contexts[slice % contexts.len()])
    }

    /// Returns the speed at which a VM's work runs, relative to having the GPU alone.
    fn rate(&self, vm: u64, runs: Option<u64>) -> f64 {
        match runs {
            None => 1.0,
            Some(runs) if runs == vm => self.machine.sliced,
            Some(_) => 0.0,
        }
    }

    /// Handles the end of a batch. The program may ask for more work, and the worker may submit
    /// more.
    fn ended(&mut self, vm: u64, gpu: u32) {
        let (now, most, notice) = (self.now, self.machine.in_flight, self.machine.notice);
        // Without jitter, two chains would stay in lockstep forever.
        let jitter = self.random.between((50, 150));
        let Some(worker) = self.worker(vm, gpu) else { return };
        let next = match worker.load {
            Load::Chain { gap, .. } => Some(gap * jitter / 100),
            Load::Pipeline { .. } => Some(1),
            Load::Requests { gap, count, .. } => {
                worker.source.left = worker.source.left.saturating_sub(1);
                let mut next = Some(gap);
                let mut answered = None;
                if worker.source.left == 0 {
                    answered = worker.source.requests.pop_front();
                    worker.source.left = count;
                    next = (!worker.source.requests.is_empty()).then_some(gap);
                }
                if let Some(came) = answered {
                    self.latencies.entry(vm).or_default().push(now - came);
                }
                next
            }
            Load::Eager { pause, .. } => {
                worker.source.left = worker.source.left.saturating_sub(1);
                let answered =
                    (worker.source.left == 0).then(|| worker.source.requests.pop_front());
                answered.flatten().map(|came| {
                    self.latencies.entry(vm).or_default().push(now - came);
                    pause * jitter / 100
                })
            }
            _ => None,
        };
        if let Some(gap) = next {
            self.push(now + gap.max(1), Event::Program { vm });
        }
        let Some(worker) = self.worker(vm, gpu) else { return };
        worker.pump(most, now);
        if worker.flight.is_empty() {
            self.gpus[gpu as usize].contexts.retain(|other| *other != vm);
            let delay = self.random.between(notice);
            self.push(now + delay, Event::Notice { vm, gpu });
        }
    }

    /// Schedules the event for the end of the next batch on a GPU.
    fn plan(&mut self, gpu: u32) {
        // A collective batch that has reached the head on this GPU may allow its counterparts on
        // other GPUs to run. Schedule their ends, too.
        let mut others = Vec::new();
        for vm in self.gpus[gpu as usize].contexts.clone() {
            let Some(worker) = self.worker(vm, gpu) else { continue };
            let number = worker.flight.front().and_then(|batch| batch.number);
            if number.is_some() && worker.reached < number {
                let peers = self.workers[&vm].keys().copied().filter(|peer| *peer != gpu);
                let peers: Vec<_> = peers.collect();
                for peer in &peers {
                    self.advance(*peer);
                }
                if let Some(worker) = self.worker(vm, gpu) {
                    worker.reached = number;
                }
                others.extend(peers);
            }
        }
        self.plan_end(gpu);
        for other in others {
            self.plan(other);
        }
    }

    fn plan_end(&mut self, gpu: u32) {
        let contexts = self.gpus[gpu as usize].contexts.clone();
        let start = self.gpus[gpu as usize].frozen.max(self.now);
        let runs = self.runs(gpu, start);
        let heads = contexts.iter().filter_map(|vm| {
            let batch = self.workers[vm][&gpu].flight.front()?;
            let rate = self.rate(*vm, runs);
            let goes = rate > 0.0 && self.released(*vm, batch.number);
            goes.then_some((batch.left / rate).ceil() as Nanos)
        });
        // If the driver time-slices, the current slice may end before the batch does. Another VM
        // has the next slice.
        let rest = runs.map(|_| self.machine.slice - start % self.machine.slice);
        let soonest = heads.chain(rest).min();
        let state = &mut self.gpus[gpu as usize];
        state.generation += 1;
        let generation = state.generation;
        if let Some(left) = soonest {
            self.push(start + left.max(1), Event::End { gpu, generation });
        }
    }

    /// Handles that a VM's program asks for more work.
    fn program(&mut self, vm: u64) {
        let now = self.now;
        let Some(all) = self.workers.get_mut(&vm) else { return };
        let mut again = None;
        let (mut asked, mut copies) = (Vec::new(), Vec::new());
        for (gpu, worker) in all.iter_mut() {
            let before = worker.source.waiting;
            match worker.load {
                Load::Saturate { .. } | Load::Collective { .. } => worker.source.waiting = u64::MAX,
                Load::OnOff { on, off, .. } => {
                    let starts = before == 0;
                    worker.source.waiting = if starts { u64::MAX } else { 0 };
                    again = Some(now + if starts { on } else { off });
                }
                Load::Chain { .. } => worker.source.waiting += 1,
                Load::Requests { period, count, .. } => {
                    // A `Program` event occurs both for the next kernel in a request and for a new
                    // request.
                    let due = worker.source.due;
                    if now >= due {
                        worker.source.due = if due == 0 { now } else { due } + period;
                        again = Some(worker.source.due);
                        worker.source.requests.push_back(now);
                        if worker.source.requests.len() == 1 {
                            worker.source.left = count;
                            worker.source.waiting += 1;
                        }
                    } else {
                        worker.source.waiting += 1;
                    }
                }
                Load::Copies { .. } | Load::Pipeline { .. } => {
                    worker.source.copies = true;
                    copies.push((*gpu, worker.grant.is_none() && worker.copies == 0));
                }
                Load::Eager { count, launch, .. } => {
                    if worker.source.left == 0 {
                        (worker.source.left, worker.source.unasked) = (count, count);
                        worker.source.requests.push_back(now);
                    }
                    if worker.source.unasked > 0 {
                        worker.source.waiting += 1;
                        worker.source.unasked -= 1;
                    }
                    again = (worker.source.unasked > 0).then_some(now + launch);
                }
                Load::Idle => {}
            }
            if before == 0 && worker.source.waiting > 0 {
                asked.push((*gpu, worker.grant.is_none() && worker.standby.is_none()));
            }
        }
        if let Some(at) = again {
            self.push(at, Event::Program { vm });
        }
        for (gpu, waits) in copies {
            self.copy(vm, gpu);
            if waits {
                self.ring(vm, gpu);
            }
        }
        for (gpu, closed) in asked {
            if closed {
                self.ring(vm, gpu);
            } else {
                self.pump(vm, gpu);
            }
        }
    }
}
