//! Swapping VMs' memory out of their GPUs and back in.
//!
//! At an operator's request, the broker orders a VM's workers to move their memory to the host. Each
//! worker stops taking commands, waits for its work on the GPUs to end, and copies its memory to the
//! host. When a program of the VM sends a command, the broker orders the memory back. The order and
//! its progress are on the workers' gate pages, so they outlive this process.

use std::time::Instant;

use control_api::{ApiError, ErrorCode, EventKind, Sharing, SwapState, format_size};
use control_server::handle::Reply;
use host_ipc::messages::WorkerId;
use host_ipc::residency::Place;
use memory_ledger::{Charge, VmId};

use super::Service;
use crate::reporting::event::BrokerEvent;
use crate::vm::host_memory;
use crate::vm::swap::Step;
use crate::vm::vms::VmState;

impl Service {
    /// Begins to take a VM's memory off its GPUs for an operator, or to put it back.
    pub(super) fn swap(&mut self, name: &str, out: bool, uid: Option<u32>) -> Reply {
        let (id, state) = self.find_staying(name)?;
        let now = state.swap.state();
        match (out, now) {
            (true, SwapState::OnGpu) => {
                self.check_swap(name, id)?;
                tracing::info!(vm = name, uid, "taking the VM's memory off its GPUs");
                self.begin_move(id, SwapState::Leaving);
            }
            (true, SwapState::Returning) => {
                let message = format!(
                    "the memory of VM '{name}' is returning to its GPUs; try again once it's back"
                );
                return Err(ApiError::new(ErrorCode::Conflict, message));
            }
            (false, SwapState::Leaving | SwapState::Away) => {
                tracing::info!(vm = name, uid, "putting the VM's memory back on its GPUs");
                self.begin_move(id, SwapState::Returning);
            }
            // The memory was ordered back, but the GPU is full. Stop trying.
            (true, SwapState::Away) if state.swap.is_stuck() => {
                self.begin_move(id, SwapState::Leaving);
            }
            (true, SwapState::Leaving | SwapState::Away)
            | (false, SwapState::OnGpu | SwapState::Returning) => {}
        }
        self.show(id)
    }

    /// Checks whether a VM's memory may leave its GPUs.
    fn check_swap(&self, name: &str, id: VmId) -> Result<(), ApiError> {
        let refused = |message: String| Err(ApiError::new(ErrorCode::Conflict, message));
        let Some(state) = self.vms.get(id) else { return Err(ApiError::no_vm(name)) };
        if state.vm.spec.sharing == Sharing::Mps {
            return refused(format!(
                "VM '{name}' shares its GPU under MPS, so its memory can't leave the GPU"
            ));
        }
        let workers: Vec<_> = self.sessions.workers().of(id).collect();
        let Some((_, first)) = workers.first() else {
            return refused(format!("VM '{name}' has no sessions, so it has no memory on a GPU"));
        };
        let ledger = self.sessions.ledger();
        let memory = |id, vm: &VmState| {
            let accounts = vm.gpus.iter().filter_map(|gpu| ledger.account(id, *gpu));
            let bytes = accounts.map(|account| account.kinds[Charge::Memory as usize]);
            bytes.fold(0, u64::saturating_add)
        };
        let bytes = memory(id, state);
        // Memory that other VMs are about to copy to the host isn't in use there yet.
        let leaving = |(_, vm): &(VmId, &VmState)| vm.swap.state() == SwapState::Leaving;
        let leaving = self.vms.iter().filter(leaving).map(|(id, vm)| memory(id, vm));
        let leaving = leaving.fold(0, u64::saturating_add);
        let room = host_memory::room(first.pid()).saturating_sub(leaving);
        if bytes > room {
            return refused(format!(
                "the memory of VM '{name}' ({}) would not fit into the host memory that its processes \
                 can still use ({}); raise memory.host_max, or free memory on the host",
                format_size(bytes),
                format_size(room)
            ));
        }
        Ok(())
    }

    fn begin_move(&mut self, id: VmId, to: SwapState) {
        let Some(state) = self.vms.get_mut(id) else { return };
        state.swap.set(to, Instant::now());
        self.must_rewrite = true;
        let place = match to {
            SwapState::Leaving | SwapState::Away => Place::Away,
            SwapState::Returning | SwapState::OnGpu => Place::OnGpu,
        };
        self.sessions.order(id, place);
        self.set_timer();
    }

    /// Continues the moves of all VMs' memory.
    pub(super) fn advance_swaps(&mut self) {
        for id in self.vms.ids() {
            self.advance_swap(id);
        }
    }

    /// Continues the move of the memory of a worker's VM, about which the worker may have reported.
    pub(super) fn advance_swap_of(&mut self, worker: WorkerId) {
        let session = self.sessions.workers().get(worker).and_then(|worker| worker.session());
        if let Some(id) = session.map(|session| session.vm) {
            self.advance_swap(id);
        }
    }

    pub(super) fn advance_swap(&mut self, id: VmId) {
        let Some(state) = self.vms.get_mut(id).filter(|state| state.swap.is_off()) else { return };
        let has_sessions = self.sessions.workers().count_of_vm(id) > 0;
        let mut reports = self.sessions.take_reports(id);
        // Calls that wait for the GPU need the memory, too, but not before the VM is resumed.
        reports.holds &= !state.pause.is_paused();
        let Some(step) = state.swap.step(reports, has_sessions, Instant::now()) else { return };
        self.must_rewrite = true;
        let (kind, message) = match step {
            Step::Left => {
                state.swap.set(SwapState::Away, Instant::now());
                let message = format!("{} of memory have left the GPUs", format_size(reports.away));
                (EventKind::VmSwappedOut, message)
            }
            Step::CannotLeave(why) => {
                self.begin_move(id, SwapState::Returning);
                (EventKind::VmSwapFailed, format!("the memory can't leave the GPU: {why}"))
            }
            Step::Return => return self.begin_move(id, SwapState::Returning),
            Step::Returned => {
                state.swap.set(SwapState::OnGpu, Instant::now());
                (
                    EventKind::VmSwappedIn,
                    "the memory is back on the GPUs, or all sessions have ended".into(),
                )
            }
            Step::CannotReturn { first: false } => return,
            Step::CannotReturn { first: true } => {
                let message =
                    "the memory can't return now, and vcudad will try again; its log says why";
                (EventKind::VmSwapFailed, message.into())
            }
        };
        tracing::info!(vm = self.vms.name(id), "{message}");
        self.publish(BrokerEvent::of_vm(kind, id, message));
    }
}
