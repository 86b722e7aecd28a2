//! Tests with random reports.

use super::*;
use proptest::prelude::*;
use std::collections::HashSet;

fn report() -> impl Strategy<Value = Report> {
    let any_time = prop_oneof![0u64..10_000_000, any::<u64>()];
    (any::<[bool; 6]>(), any_time.clone(), any_time.clone(), any_time.clone(), any_time).prop_map(
        |(
            [held, active, stalled, copying, evictable, contexts],
            finished,
            busy_ns,
            copied_ns,
            oldest_for,
        )| {
            Report {
                held,
                active,
                stalled,
                finished,
                busy_ns,
                begun_ns: busy_ns,
                copying,
                copied_ns,
                oldest_for,
                ends_at: oldest_for,
                evictable,
                sessions: finished as u32,
                contexts,
                contexts_begun: finished,
            }
        },
    )
}

/// A change that the host makes before a VM is reported.
#[derive(Clone, Copy, Debug)]
enum Change {
    Pause(bool),
    Share(Share),
    /// The VM is removed, and another one with the same key is added.
    Replace,
}

fn change() -> impl Strategy<Value = Change> {
    let cap = prop_oneof![Just(WHOLE), 1..WHOLE];
    let share =
        (50u32..200, cap, 0..WHOLE, any::<bool>()).prop_map(|(weight, max, min, latency)| {
            let class = if latency { Class::Latency } else { Class::Batch };
            Share { weight, max, min, class, ..Share::default() }
        });
    prop_oneof![
        4 => any::<bool>().prop_map(Change::Pause),
        1 => share.prop_map(Change::Share),
        1 => Just(Change::Replace),
    ]
}

/// The VMs, from 1, and their GPUs.
const VMS: [&[u32]; 5] = [&[0], &[0, 1], &[0, 1, 2], &[1, 2], &[0, 2]];

fn vms() -> impl Iterator<Item = VmKey> {
    (1..=VMS.len() as u64).map(VmKey)
}

/// Returns the GPUs of a VM. A VM that isn't in the list has none.
fn gpus(vm: VmKey) -> impl Iterator<Item = GpuKey> {
    let gpus = vm.0.checked_sub(1).and_then(|index| VMS.get(index as usize));
    gpus.into_iter().copied().flatten().map(|gpu| GpuKey(*gpu))
}

fn add(scheduler: &mut Scheduler, vm: VmKey, now: Nanos) {
    let gpus: Vec<_> = gpus(vm).map(|gpu| (gpu, share(100))).collect();
    scheduler.set_vm(vm, &gpus, now);
}

/// The state of gates and kernels after all actions so far.
#[derive(Default)]
struct State {
    open: HashSet<(VmKey, GpuKey)>,
    standby: HashSet<(VmKey, GpuKey)>,
    off: HashSet<(VmKey, GpuKey)>,
    copies: HashSet<(VmKey, GpuKey)>,
    short: HashSet<(VmKey, GpuKey)>,
    /// Gates that have been closed since they were open.
    closed: HashSet<(VmKey, GpuKey)>,
    /// Number of evictions that didn't end a turn.
    others: u64,
}

impl State {
    /// Carries out actions, and checks that each of them is allowed in this state.
    fn carry_out(&mut self, actions: &mut Vec<Action>) -> Result<(), TestCaseError> {
        for Action { vm, gpu, kind } in actions.drain(..) {
            match kind {
                ActionKind::Open { .. } => {
                    prop_assert!(!self.off.contains(&(vm, gpu)));
                    self.standby.remove(&(vm, gpu));
                    self.closed.remove(&(vm, gpu));
                    self.open.insert((vm, gpu));
                }
                ActionKind::StandBy { .. } => {
                    prop_assert!(!self.off.contains(&(vm, gpu)));
                    prop_assert!(!self.open.contains(&(vm, gpu)));
                    prop_assert!(self.standby.insert((vm, gpu)));
                }
                ActionKind::Close => {
                    self.standby.remove(&(vm, gpu));
                    if self.open.remove(&(vm, gpu)) {
                        self.closed.insert((vm, gpu));
                    }
                }
                ActionKind::Evict => {
                    prop_assert!(!self.open.contains(&(vm, gpu)));
                    prop_assert!(!self.standby.contains(&(vm, gpu)));
                    prop_assert!(self.off.insert((vm, gpu)));
                    self.others += u64::from(!self.closed.remove(&(vm, gpu)));
                }
                ActionKind::Restore => prop_assert!(self.off.remove(&(vm, gpu))),
                ActionKind::Copies { depth: 0 } => {
                    self.copies.remove(&(vm, gpu));
                }
                ActionKind::Copies { .. } => {
                    self.copies.insert((vm, gpu));
                }
                ActionKind::Slices { short: true } => {
                    prop_assert!(self.short.insert((vm, gpu)));
                }
                ActionKind::Slices { short: false } => {
                    prop_assert!(self.short.remove(&(vm, gpu)));
                }
                ActionKind::Prepare => prop_assert!(!self.open.contains(&(vm, gpu))),
                ActionKind::Timeout { .. } => prop_assert!(false, "no VM has a timeout"),
            }
        }
        Ok(())
    }

    /// Forgets a VM that was removed. Its workers have ended.
    fn forget(&mut self, vm: VmKey) -> Result<(), TestCaseError> {
        let mut opened = self.open.iter().chain(&self.standby);
        prop_assert!(opened.all(|(open, _)| *open != vm), "its gates are closed");
        self.off.retain(|(off, _)| *off != vm);
        self.closed.retain(|(closed, _)| *closed != vm);
        self.copies.retain(|(copies, _)| *copies != vm);
        self.short.retain(|(short, _)| *short != vm);
        Ok(())
    }
}

proptest! {
    /// Any sequence of reports and changes leaves the scheduler in a consistent state: every open
    /// gate belongs to a turn on that GPU, an open gate never gets `Prepare`, evictions and returns
    /// alternate, neither an evicted nor a paused VM has an open gate or may copy, and the timer
    /// always advances. Afterwards, every VM gets its turns.
    #[test]
    fn reports_bring_nothing_into_disorder(
        steps in prop::collection::vec(
            (
                0u64..7,
                0u32..3,
                report(),
                prop_oneof![Just(0u64), 0u64..30_000_000],
                prop_oneof![4 => Just(None), 1 => change().prop_map(Some)],
            ),
            0..300,
        ),
    ) {
        let mut bench = Bench::new(&[]);
        vms().for_each(|vm| add(&mut bench.scheduler, vm, 0));
        let (mut state, mut paused, mut evictions) = (State::default(), HashSet::new(), 4);
        for (vm, gpu, report, passes, change) in steps {
            let (vm, gpu) = (VmKey(vm), GpuKey(gpu));
            bench.now += passes;
            let mut actions = Vec::new();
            bench.scheduler.tick(bench.now, &mut actions);
            state.carry_out(&mut actions)?;
            match change {
                Some(Change::Pause(pause)) => {
                    actions = bench.set_paused(vm, pause);
                    if pause && gpus(vm).next().is_some() {
                        paused.insert(vm);
                    } else {
                        paused.remove(&vm);
                    }
                    evictions += 1;
                }
                Some(Change::Share(share)) => {
                    bench.scheduler.set_share(vm, gpu, share, bench.now);
                }
                Some(Change::Replace) if gpus(vm).next().is_some() => {
                    bench.scheduler.remove_vm(vm, bench.now, &mut actions);
                    state.carry_out(&mut actions)?;
                    state.forget(vm)?;
                    paused.remove(&vm);
                    add(&mut bench.scheduler, vm, bench.now);
                }
                _ => {}
            }
            actions.extend(bench.report_on(vm, gpu, report));
            state.carry_out(&mut actions)?;
            for (vm, gpu) in &state.open {
                let turn = bench.scheduler.turn(*vm);
                prop_assert!(turn.is_some_and(|turn| turn.gpus.contains(gpu)));
                prop_assert!(!paused.contains(vm));
            }
            prop_assert!(state.standby.iter().all(|(vm, _)| !paused.contains(vm)));
            for vm in &paused {
                for gpu in gpus(*vm) {
                    prop_assert_eq!(bench.scheduler.copies(*vm, gpu), 0);
                    prop_assert!(!state.copies.contains(&(*vm, gpu)));
                }
            }
            // A report or a change of a share may make a check due immediately.
            bench.scheduler.tick(bench.now, &mut actions);
            state.carry_out(&mut actions)?;
            let wake = bench.scheduler.wake_at();
            prop_assert!(wake.is_none_or(|at| at > bench.now), "the timer spins");
            let charged: u64 = vms()
                .filter_map(|vm| bench.scheduler.stats(vm, GPU, bench.now))
                .map(|stats| stats.charged_ns)
                .sum();
            // Allow for time that is charged twice. Work that continues after its VM's window may
            // be charged at the same time as another VM's work. A VM that claims to copy in its own
            // window is charged for the copies and for the window. Also allow for evictions, which
            // are charged in addition: each pause may cause one, and so may work without a turn. An
            // eviction is charged when it begins, so each VM's latest eviction may not be over.
            let settings = Settings::default();
            let eviction = settings.eviction + 63 * settings.eviction_more;
            let evictions = evictions + state.others;
            prop_assert!(charged <= 2 * 4 * bench.now + evictions * eviction);
        }
        all_get_turns(&mut bench)?;
    }
}

/// Lets all VMs continue with equal shares and work on all of their GPUs, until each has had a turn
/// on each of them. A VM may be ten seconds ahead of its share. It then waits until three other
/// VMs, whose weights may have grown, have caught up.
fn all_get_turns(bench: &mut Bench) -> Result<(), TestCaseError> {
    let members: Vec<_> = vms().flat_map(|vm| gpus(vm).map(move |gpu| (vm, gpu))).collect();
    for (vm, gpu) in &members {
        bench.scheduler.set_share(*vm, *gpu, share(100), bench.now);
        bench.scheduler.set_paused(*vm, false, bench.now, &mut bench.out);
    }
    bench.out.clear();
    let since = bench.now;
    let is_open = |bench: &Bench, vm, gpu| {
        bench.scheduler.find(vm, gpu).is_some_and(|member| member.presence.is_running())
    };
    let mut waiting: HashSet<_> = members.iter().copied().collect();
    while !waiting.is_empty() {
        prop_assert!(bench.now < since + 300 * SEC, "{waiting:?} get no turn");
        for (vm, gpu) in &members {
            let report = if is_open(bench, *vm, *gpu) { BUSY } else { HELD };
            bench.report_on(*vm, *gpu, report);
        }
        waiting.retain(|(vm, gpu)| !is_open(bench, *vm, *gpu));
        bench.tick(bench.now + MS);
    }
    Ok(())
}
