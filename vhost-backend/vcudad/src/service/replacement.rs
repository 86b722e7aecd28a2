//! Replacement of the broker by another vcudad.

use control_api::{EventKind, counted};
use event_manager::EventOps;

use super::Service;
use crate::continuity::handover::{Handover, HandoverState, Successor};
use crate::continuity::journal::Handling;
use crate::continuity::record::{Change, Counts};
use crate::error::BrokerError;
use crate::reporting::event::BrokerEvent;
use crate::settings::reload::fixed_settings;
use crate::watches::Source;
use memory_ledger::VmId;

impl Service {
    pub(super) fn ask_successor(&mut self) {
        let successor = self.successor.as_ref().ok_or("there is no configuration file".to_owned());
        let is_root = self.launcher.spawner().is_root();
        match successor.and_then(|successor| successor.ask(is_root)) {
            Ok(()) => self.is_replaced = true,
            Err(reason) => {
                let message = format!("continuing without being replaced: {reason}");
                tracing::error!("{message}");
                self.publish(BrokerEvent::new(EventKind::ReplacementRefused, message));
            }
        }
    }

    /// Returns true if another vcudad must take over now.
    pub(crate) fn must_hand_over(&self) -> bool {
        let is_saving = self.changes.is_saving() || self.is_leaving && self.usage.is_saving();
        let is_busy = self.ended || is_saving;
        !is_busy && (self.is_leaving || self.is_replaced && self.starting.is_empty())
    }

    /// Hands everything over. Returns the state, and the program to execute, or `None` if another
    /// broker will be started later. If this fails, all sessions end, because the scheduler has
    /// stopped.
    pub(crate) fn hand_over(mut self) -> Result<(HandoverState, Option<Successor>), BrokerError> {
        let successor = self.successor.take().filter(|_| !self.is_leaving);
        tracing::info!("handing over to another vcudad");
        self.refuse_requests();
        self.sample_usage(true);
        self.sessions.stop_scheduler().map_err(BrokerError::Handover)?;
        let state = HandoverState { usage: Some(self.usage.record().clone()), ..self.state() };
        // Don't drop the service, because that would end all processes and remove the VMs' sockets.
        std::mem::forget(self);
        Ok((state, successor))
    }

    fn state(&self) -> HandoverState {
        HandoverState {
            last_process: self.launcher.spawner().last_process(),
            driver: self.driver.clone(),
            has_jail: self.launcher.has_jail(),
            no_jail: self.launcher.no_jail().map(str::to_owned),
            evicts: self.evicts,
            gpus: self.gpus.clone(),
            cgroups: self.cgroups.clone(),
            supervisor: self.sessions.record_supervisor(),
            vms: self.vms.record(),
            sessions: self.sessions.record(),
            fixed: self.fixed.clone(),
            config: Some(self.applied.clone()),
            usage: None,
        }
    }

    /// Adds to the record all changes that were made while an event was handled.
    pub(super) fn record(&mut self) {
        let vms = self.vms.take_changes();
        let sessions = self.sessions.take_changes();
        let is_whole = std::mem::take(&mut self.must_rewrite) || vms.is_none();
        if self.journal.is_on() {
            let vms = vms.into_iter().flatten().map(|vm| Change::Vm(Box::new(vm)));
            let sessions = sessions.into_iter().map(Change::Session);
            let changes: Vec<_> = vms.chain(sessions).chain(self.other_changes()).collect();
            if is_whole || !self.journal.add(&changes) {
                self.rewrite();
            }
        }
        // Let the spawner forget the ended processes only now that the record contains their ends.
        // Until then, another broker would have to learn of an end from the spawner.
        for process in std::mem::take(&mut self.handled) {
            self.spawner().forget(process);
        }
        self.journal.mark(Handling::Nothing);
    }

    /// Writes the whole record.
    fn rewrite(&mut self) {
        match Handover::encode(self.state(), None) {
            Ok(state) => self.journal.replace(state),
            Err(error) => tracing::error!("cannot record the state: {error}"),
        }
    }

    /// Returns changes that don't belong to a VM.
    fn other_changes(&mut self) -> impl Iterator<Item = Change> + use<> {
        let counts = Counts {
            last_process: self.launcher.spawner().last_process(),
            workers: self.sessions.workers().counts(),
            supervisor: self.sessions.record_supervisor(),
        };
        let counts = self.recorded.set_counts(counts);
        let may_differ = std::mem::take(&mut self.has_sampled);
        let gpus = may_differ.then(|| self.recorded.set_gpus(&self.gpus)).flatten();
        counts.into_iter().chain(gpus)
    }

    /// Continues to serve a VM of the previous broker: watches its device process, starts one, or
    /// completes the VM's removal.
    pub(super) fn continue_vm(&mut self, ops: &mut EventOps, id: VmId) {
        let Some(state) = self.vms.get(id) else { return };
        match state.device.socket_fd() {
            Some(socket) => self.watches.add(ops, socket, Source::DeviceSocket(id)),
            None if state.is_leaving() => self.forget_vm(id),
            None => self.start_device(ops, id),
        }
    }

    /// Warns about changed settings that have no effect until the spawner is restarted.
    pub(super) fn warn_about_fixed(&self) {
        let now = fixed_settings(&self.started);
        let program =
            if self.spawner().outlives_broker() { "virtio-cuda-spawner" } else { "vcudad" };
        for (key, _) in self.fixed.iter().filter(|(key, value)| now.get(*key) != Some(*value)) {
            tracing::warn!(
                "{key} has changed, which needs a restart of {program}, which ends all sessions"
            );
        }
    }

    pub(super) fn report_take_over(&mut self) {
        let Some(began) = self.took_over.take() else { return };
        let sessions = self.sessions.workers().count(|worker| worker.session().is_some());
        let message = format!(
            "version {} of vcudad took over {} with {} in {} ms",
            env!("CARGO_PKG_VERSION"),
            counted(self.vms.ids().len(), "VM"),
            counted(sessions, "session"),
            began.elapsed().as_millis()
        );
        tracing::info!("{message}");
        self.publish(BrokerEvent::new(EventKind::BrokerReplaced, message));
        // Read the configuration file again, because it may have changed during the replacement.
        if let Some(rereader) = &self.rereader {
            rereader.request();
        }
    }
}
