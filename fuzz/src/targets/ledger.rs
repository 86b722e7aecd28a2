//! Sends the requests of compromised workers to the ledger, in the same way as the broker, and
//! forges the workers' credit words. No account may ever exceed its limit or be inconsistent, and
//! no other VM's account may change.

use memory_ledger::{CREDIT, Charge, Credit, GpuId, Kinds, Ledger, Quota, VmId, WorkerId};

use crate::input::Input;

const MAX: u64 = 1 << 40;
const PIECE: u64 = 2 << 20;
const GPU: GpuId = GpuId(0);
/// The VM of each worker: workers 0 to 2 belong to the first VM, and worker 3 to the second.
const WORKERS: [VmId; 4] = [VmId(1), VmId(1), VmId(1), VmId(2)];
const MAX_STEPS: usize = 1000;

fn state(ledger: &Ledger, vm: VmId) -> (u64, u64, Kinds) {
    let account = ledger.account(vm, GPU);
    account.map_or((0, 0, Kinds::default()), |of| (of.used, of.resident(), of.kinds))
}

/// Withdraws all credit of a VM's workers, as the broker does before it refuses a request.
fn recall(ledger: &mut Ledger, credits: &[Credit; 4], vm: VmId) {
    for (worker, credit) in (0..).zip(credits) {
        if WORKERS[worker as usize] == vm {
            ledger.withdraw(worker, 0, credit.withdraw());
        }
    }
}

/// Adjusts a worker's credit to the intended amount, as the broker does.
fn grant(ledger: &mut Ledger, credit: &Credit, worker: WorkerId) {
    ledger.withdraw(worker, 0, credit.take_excess());
    let more = ledger.advance(worker, 0, CREDIT.saturating_sub(credit.bytes()), PIECE);
    credit.add(more);
}

/// Runs the target.
pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let session_max = input.one_in(2).then_some(MAX / 2);
    let mut ledger = Ledger::default();
    for vm in [VmId(1), VmId(2)] {
        ledger.set(vm, GPU, Quota { max: MAX, session_max });
    }
    let credits: [Credit; 4] = Default::default();
    (0..).zip(WORKERS).for_each(|(worker, vm)| ledger.open(worker, vm, &[GPU]));
    for _ in 0..MAX_STEPS {
        if input.is_empty() {
            break;
        }
        let worker = input.below(4) as WorkerId;
        let (vm, credit) = (WORKERS[worker as usize], &credits[worker as usize]);
        let other = if vm == VmId(1) { VmId(2) } else { VmId(1) };
        let before = state(&ledger, other);
        let device = u32::from(input.one_in(16));
        let kind = input.pick(&Charge::ALL);
        let amount =
            if input.one_in(4) { input.long() } else { input.long() % (MAX / PIECE) * PIECE };
        let share = u64::from(input.byte());
        match input.below(12) {
            0 => {
                if !ledger.has_room(worker, device, amount) {
                    recall(&mut ledger, &credits, vm);
                }
                let room = ledger.has_room(worker, device, amount);
                assert_eq!(ledger.reserve(worker, device, amount, kind).is_ok(), room);
            }
            1 => drop(ledger.release(worker, device, amount, kind)),
            2 => drop(ledger.convert(worker, device, amount, kind)),
            3 => drop(ledger.share(worker, device, amount)),
            4 => drop(ledger.join(worker, device, share)),
            5 => drop(ledger.leave(worker, device, share)),
            6 => {
                // The worker forges its credit: it writes an arbitrary value into its word.
                credit.withdraw();
                credit.add(amount & !7);
            }
            7 => grant(&mut ledger, credit, worker),
            8 => {
                let held = ledger.memory_of(worker, 0);
                assert!(ledger.withdraw(worker, 0, credit.withdraw()) <= held);
            }
            9 => drop(ledger.send_away(worker, device, amount)),
            10 => drop(ledger.bring_back(worker, device, amount)),
            _ => {
                ledger.close(worker);
                credit.withdraw();
                ledger.open(worker, vm, &[GPU]);
            }
        }
        assert_eq!(state(&ledger, other), before, "another VM's account has changed");
        let (used, resident, kinds) = state(&ledger, vm);
        assert!(used <= MAX && used == kinds.iter().sum::<u64>(), "{used} {kinds:?}");
        assert!(resident <= used, "{resident} {used}");
        let held = ledger.held_by(worker)[0].1;
        assert!(held <= used && session_max.is_none_or(|max| held <= max), "{held} {used}");
        assert!(ledger.usage_of(worker, 0, (0, credit.bytes().into())).is_ok());
    }
    for worker in 0..4 {
        ledger.close(worker);
    }
    for vm in [VmId(1), VmId(2)] {
        assert_eq!(state(&ledger, vm), (0, 0, Kinds::default()), "something stays charged");
    }
}
