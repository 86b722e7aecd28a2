//! The roster of VMs that operators have configured: the VMs in the configuration file, with the
//! additions, changes, and removals made at run time. Run-time changes are saved before they take
//! effect. The event loop doesn't wait for that.

use std::collections::BTreeMap;
use std::os::fd::RawFd;

use control_api::{ApiError, ErrorCode, GpuRequest, Override, VmOrigin, VmPatch, VmSpec, setting};

use crate::config::{ConfigError, of_vm};
use crate::error::BrokerError;
use crate::settings::differences::differences;
use crate::settings::saver::Saver;
use crate::settings::state::{SavedState, StateDir, StateError};
use crate::usage::record::Record;
use control_server::handle::now_ms;

/// Maximum number of removed VMs that can be restored although they aren't in the configuration
/// file.
const MAX_FORMER: usize = 64;

/// The changes made at run time, and the directory in which they are saved.
pub(crate) struct Roster {
    /// `None` if changes aren't saved, so that they are lost when the broker exits. Also `None`
    /// after `start_saving`, which moves the directory to `saver`.
    dir: Option<StateDir>,
    saver: Option<Saver>,
    saved: SavedState,
    /// The VMs in the configuration file, without saved changes.
    file: Vec<VmSpec>,
    /// Why VMs in the configuration file can't be added before a restart, by name.
    deferred: BTreeMap<String, String>,
    /// True if entries were dropped since the state was last written.
    pruned: bool,
    /// True if VMs got other GPUs since the state was last written.
    moved: bool,
}

impl Roster {
    /// Returns a roster with these saved changes that never writes to the state directory. Used to
    /// check a configuration file.
    pub(crate) fn to_check(saved: SavedState) -> Self {
        Self::with(None, saved)
    }

    /// Reads the saved changes from the directory, if one is configured.
    pub(crate) fn open(dir: Option<StateDir>) -> Result<Self, StateError> {
        let saved = dir.as_ref().map(StateDir::read).transpose()?.unwrap_or_default();
        Ok(Self::with(dir, saved))
    }

    fn with(dir: Option<StateDir>, saved: SavedState) -> Self {
        let (file, deferred) = (Vec::new(), BTreeMap::new());
        Self { dir, saver: None, saved, file, deferred, pruned: false, moved: false }
    }

    /// Returns the VMs to serve: first those in the configuration file `file`, with saved changes
    /// applied and removed VMs left out, then those added at run time. Drops saved entries for VMs
    /// that are no longer in the file.
    pub(crate) fn vms(
        &mut self,
        file: Vec<VmSpec>,
    ) -> Result<Vec<(VmSpec, VmOrigin)>, ConfigError> {
        let (all, next) = self.with_file(&file)?;
        self.pruned = next != self.saved;
        self.report_dropped(&next);
        self.saved = next;
        self.file = file;
        Ok(all)
    }

    /// Logs the saved changes that the state `next` no longer has.
    pub(crate) fn report_dropped(&self, next: &SavedState) {
        for vm in self.saved.changed.keys().filter(|name| !next.changed.contains_key(*name)) {
            let why = "dropping saved changes for a VM that is no longer in the configuration";
            tracing::warn!(vm, "{why}");
        }
    }

    /// Sets the VMs in the configuration file, and why some of them can't be added before a
    /// restart.
    pub(crate) fn set_file(&mut self, file: Vec<VmSpec>, deferred: BTreeMap<String, String>) {
        (self.file, self.deferred) = (file, deferred);
    }

    /// Returns the VMs that [`Self::vms`] would return for `file`, and the state to save.
    pub(crate) fn with_file(
        &self,
        file: &[VmSpec],
    ) -> Result<(Vec<(VmSpec, VmOrigin)>, SavedState), ConfigError> {
        let mut next = self.saved.clone();
        let saved = &mut next;
        let in_file = |name: &String| file.iter().any(|spec| spec.name == *name);
        let added = &saved.vms;
        let is_added = |name: &String| added.iter().any(|spec| spec.name == *name);
        saved.paused.retain(|name| in_file(name) || is_added(name));
        saved.removed.retain(|name| in_file(name));
        saved.since.retain(|name, _| in_file(name));
        saved.changed.retain(|name, _| in_file(name));
        saved.former.retain(|spec| !in_file(&spec.name) && !is_added(&spec.name));
        let former = &saved.former;
        let is_former = |name: &String| former.iter().any(|spec| spec.name == *name);
        saved.placed.retain(|name, _| in_file(name) || is_added(name) || is_former(name));
        let is_served = |spec: &VmSpec| !saved.removed.contains(&spec.name);
        let is_twice =
            |added: &&VmSpec| file.iter().any(|spec| spec.name == added.name && is_served(spec));
        if let Some(spec) = saved.vms.iter().find(is_twice) {
            let message = "a VM with this name was also added at run time: rename the one in the \
                           file, or take it out and remove the other with vcudactl vm rm";
            let error = ApiError::new(ErrorCode::Conflict, message).of("name");
            return Err(of_vm(&spec.name, &error));
        }
        let mut all = Vec::new();
        for spec in file.iter().filter(|spec| is_served(spec)) {
            let changed = saved.changed.get(&spec.name).map(|patch| patch.applied(spec));
            let current = changed.unwrap_or_else(|| Ok(spec.clone()));
            all.push((current.map_err(|error| of_vm(&spec.name, &error))?, VmOrigin::File));
        }
        all.extend(saved.vms.iter().map(|spec| (spec.clone(), VmOrigin::Api)));
        Ok((all, next))
    }

    /// Writes the saved state if [`Self::vms`] dropped entries from it or VMs got other GPUs, and
    /// starts the thread that saves changes.
    pub(crate) fn start_saving(&mut self) -> Result<(), BrokerError> {
        let Some(dir) = self.dir.take() else { return Ok(()) };
        if self.pruned {
            dir.write(&self.saved)?;
        } else if self.moved
            && let Err(error) = dir.write(&self.saved)
        {
            let why = "cannot save which GPUs VMs have, so they may get others after a restart";
            tracing::warn!("{why}: {error}");
        }
        let saver = Saver::start(dir);
        self.saver = Some(saver.map_err(BrokerError::os("cannot start a thread to save changes"))?);
        Ok(())
    }

    /// Returns true if changes are saved.
    pub(crate) fn has_state(&self) -> bool {
        self.dir.is_some() || self.saver.is_some()
    }

    /// Returns true if some of this VM's settings come from the saved state.
    pub(crate) fn has_saved(&self, name: &str, origin: VmOrigin) -> bool {
        origin == VmOrigin::Api || self.saved.changed.contains_key(name)
    }

    /// Returns the state to save when an operator adds a VM.
    pub(crate) fn added(&self, spec: VmSpec) -> SavedState {
        let mut next = self.saved.clone();
        next.former.retain(|former| former.name != spec.name);
        next.vms.push(spec);
        next
    }

    /// Returns a VM that was removed, with the settings that it had last, and the state to save
    /// when an operator restores it. If the VM is in the configuration file, its settings are those
    /// in the file with the changes that were made at run time.
    pub(crate) fn restored(&self, name: &str) -> Result<(VmSpec, VmOrigin, SavedState), ApiError> {
        let mut next = self.saved.clone();
        if let Some(spec) = self.in_file(name).filter(|_| next.removed.remove(name)) {
            let patch = next.changed.get(name);
            let spec = patch.map_or_else(|| Ok(spec.clone()), |patch| patch.applied(spec))?;
            return Ok((spec, VmOrigin::File, next));
        }
        if let Some(place) = next.former.iter().position(|spec| spec.name == name) {
            let spec = next.former.remove(place);
            next.vms.push(spec.clone());
            return Ok((spec, VmOrigin::Api, next));
        }
        Err(self.no_vm(name))
    }

    /// Returns the error for a VM that isn't served.
    pub(crate) fn no_vm(&self, name: &str) -> ApiError {
        let Some(reason) = self.why_not_added(name) else {
            let known = self.file.iter().chain(&self.saved.vms);
            return ApiError::no_vm_like(name, known.map(|spec| spec.name.as_str()));
        };
        let message = format!("VM '{name}' is in the configuration file, but not added: {reason}");
        ApiError::new(ErrorCode::NotFound, message)
    }

    /// Returns why a VM in the configuration file isn't served.
    pub(crate) fn why_not_added(&self, name: &str) -> Option<String> {
        self.in_file(name)?;
        if self.saved.removed.contains(name) {
            let why = "removed with vcudactl vm rm; to bring it back, run vcudactl vm restore";
            return Some(format!("{why} {name}"));
        }
        let deferred = self.deferred.get(name).cloned();
        Some(deferred.unwrap_or_else(|| "run systemctl reload vcudad".into()))
    }

    /// Returns the names of VMs in this file that stay removed.
    pub(crate) fn stay_removed(&self, file: &[VmSpec]) -> Vec<String> {
        let names = file.iter().map(|spec| &spec.name);
        names.filter(|name| self.saved.removed.contains(*name)).cloned().collect()
    }

    /// Returns the VMs in the configuration file.
    pub(crate) fn file(&self) -> &[VmSpec] {
        &self.file
    }

    /// Returns the UUIDs of the GPUs that a VM had before. Empty if the VM doesn't request any GPU
    /// with `any`.
    pub(crate) fn placed(&self, name: &str) -> &[String] {
        self.saved.placed.get(name).map_or(&[], Vec::as_slice)
    }

    /// Sets the UUIDs of the GPUs that a VM now has. They are saved with the next change.
    pub(crate) fn set_placed(&mut self, spec: &VmSpec, uuids: Vec<String>) {
        self.moved |= place(&mut self.saved, spec, uuids);
    }

    /// Returns the state to save when an operator changes a VM. `after` contains the VM's settings
    /// with `patch` applied.
    pub(crate) fn changed(&self, origin: VmOrigin, patch: &VmPatch, after: &VmSpec) -> SavedState {
        let mut next = self.saved.clone();
        match origin {
            VmOrigin::Api => {
                next.vms.retain(|spec| spec.name != after.name);
                next.vms.push(after.clone());
            }
            VmOrigin::File => {
                let since = next.since.entry(after.name.clone()).or_default();
                since.extend(patch.keys().map(|key| (key.to_owned(), now_ms())));
                let changed = next.changed.entry(after.name.clone()).or_default();
                *changed = changed.then(patch);
            }
        }
        next
    }

    /// Returns a VM's settings in the configuration file, if the VM is in the file.
    pub(crate) fn in_file(&self, name: &str) -> Option<&VmSpec> {
        self.file.iter().find(|spec| spec.name == name)
    }

    /// Returns the state to save when a VM's settings are reset to those in the file.
    pub(crate) fn reset(&self, name: &str) -> SavedState {
        let mut next = self.saved.clone();
        next.changed.remove(name);
        next.since.remove(name);
        next
    }

    /// Returns the settings that differ from those in the file. `spec` contains the VM's current
    /// settings. `origin` matters because a VM that was added at run time may have the name of a VM
    /// in the file that was removed.
    pub(crate) fn differs_from_file(
        &self,
        spec: &VmSpec,
        origin: VmOrigin,
    ) -> BTreeMap<String, Override> {
        let Some(file) = self.in_file(&spec.name) else { return BTreeMap::new() };
        let since = self.saved.since.get(&spec.name).filter(|_| origin == VmOrigin::File);
        let mut differs = differences(spec, file);
        if origin == VmOrigin::Api {
            // If the file doesn't give the socket and the uid, vcudad chooses and saves them, so
            // they don't count as changed.
            let is_given = |key: &str| match key {
                "socket" => file.socket.is_some(),
                "uid" => file.uid.is_some(),
                _ => true,
            };
            differs.retain(|key, _| is_given(key));
        }
        let differs = differs.into_iter().map(|(key, value)| {
            let since_ms = since.and_then(|since| since.get(key)).copied();
            let file = setting(key).and_then(|setting| setting.text(&value));
            (key.to_owned(), Override { file, since_ms })
        });
        differs.collect()
    }

    /// Returns true if an operator has paused this VM.
    pub(crate) fn is_paused(&self, name: &str) -> bool {
        self.saved.paused.contains(name)
    }

    /// Returns the state to save when an operator pauses a VM, or lets it continue.
    pub(crate) fn with_paused(&self, name: &str, paused: bool) -> SavedState {
        let mut next = self.saved.clone();
        match paused {
            true => next.paused.insert(name.to_owned()),
            false => next.paused.remove(name),
        };
        next
    }

    /// Returns the state to save when an operator removes a VM.
    pub(crate) fn removed(&self, name: &str, origin: VmOrigin) -> SavedState {
        let mut next = self.with_paused(name, false);
        match origin {
            VmOrigin::Api => {
                if let Some(place) = next.vms.iter().position(|spec| spec.name == name) {
                    next.former.push(next.vms.remove(place));
                    let old = next.former.len().saturating_sub(MAX_FORMER);
                    next.former.drain(..old);
                }
            }
            // Keep the VM's changes, in case the VM is restored.
            VmOrigin::File => drop(next.removed.insert(name.to_owned())),
        }
        next
    }

    /// Starts to save the state `next`, and returns true if [`Self::take_saved`] will return the
    /// result. If changes aren't saved, makes `next` the current state and returns false.
    pub(crate) fn save(&mut self, next: SavedState) -> bool {
        match &self.saver {
            Some(saver) => saver.save(next),
            None => self.saved = next,
        }
        self.saver.is_some()
    }

    /// Returns the result of [`Self::save`], or `None` if the state is still being saved. If the
    /// state was saved, makes it the current state.
    pub(crate) fn take_saved(&mut self) -> Option<Result<(), ApiError>> {
        let saved = self.saver.as_ref()?.take()?;
        Some(saved.map(|state| self.saved = state).map_err(|error| {
            tracing::error!("refusing a change that can't be saved: {error}");
            ApiError::new(
                ErrorCode::NoRoom,
                format!("cannot save the change, so nothing was changed: {error}"),
            )
        }))
    }

    /// Starts to save the usage of VMs. [`Self::take_usage_saved`] returns the result.
    pub(crate) fn save_usage(&self, record: Record) {
        if let Some(saver) = &self.saver {
            saver.save_usage(record);
        }
    }

    /// Returns the result of [`Self::save_usage`], or `None` if the usage is still being saved.
    pub(crate) fn take_usage_saved(&self) -> Option<Result<(), String>> {
        let saved = self.saver.as_ref()?.take_usage()?;
        Some(saved.map_err(|error| error.to_string()))
    }

    /// Makes the eventfd unreadable again. Call this before results are taken.
    pub(crate) fn acknowledge(&self) {
        self.saver.iter().for_each(Saver::acknowledge);
    }

    /// Returns an eventfd that is readable when [`Self::take_saved`] has a result. Returns `None`
    /// if changes aren't saved.
    pub(crate) fn bell(&self) -> Option<RawFd> {
        self.saver.as_ref().map(Saver::bell)
    }
}

/// Sets the UUIDs of a VM's GPUs in a state to save, if the VM requests a GPU with `any`. Returns
/// true if the state has changed.
pub(crate) fn place(state: &mut SavedState, spec: &VmSpec, uuids: Vec<String>) -> bool {
    match spec.gpus.contains(&GpuRequest::Any) && !uuids.is_empty() {
        true => state.placed.insert(spec.name.clone(), uuids.clone()) != Some(uuids),
        false => state.placed.remove(&spec.name).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn roster(saved: SavedState) -> Roster {
        Roster::to_check(saved)
    }

    fn names(of: &[(VmSpec, VmOrigin)]) -> Vec<(&str, VmOrigin)> {
        of.iter().map(|(spec, origin)| (spec.name.as_str(), *origin)).collect()
    }

    fn weight(weight: u32) -> VmPatch {
        serde_json::from_value(json!({"compute": {"weight": weight}})).unwrap()
    }

    #[test]
    fn run_time_changes_take_precedence_over_the_file() {
        let file = || ["a", "b"].map(|name| VmSpec::new(name, 1 << 30)).to_vec();
        let mut saved = SavedState::default();
        saved.vms.push(VmSpec::new("c", 1 << 20));
        saved.changed.insert("a".into(), weight(7));
        saved.removed.insert("b".into());
        let mut roster = roster(saved);
        let all = roster.vms(file()).unwrap();
        assert_eq!(names(&all), [("a", VmOrigin::File), ("c", VmOrigin::Api)]);
        assert_eq!((all[0].0.compute.weight, all[0].0.memory.max), (7, 1 << 30));
        assert!(!roster.pruned);
        // VM b in the file has been removed, so another VM named b may be added.
        roster.save(roster.added(VmSpec::new("b", 1 << 20)));
        let all = roster.vms(file()).unwrap();
        assert_eq!(names(&all)[2], ("b", VmOrigin::Api));
        roster.save(roster.added(VmSpec::new("a", 1 << 20)));
        let error = roster.vms(file()).unwrap_err().to_string();
        assert!(error.contains("vm 'a': name: a VM with this name was also added"), "{error}");
    }

    #[test]
    fn entries_for_vms_that_left_the_file_are_dropped() {
        let mut saved = SavedState::default();
        saved.changed.insert("a".into(), weight(7));
        saved.removed.insert("b".into());
        let mut roster = roster(saved);
        assert!(roster.vms(Vec::new()).unwrap().is_empty());
        assert_eq!(roster.saved, SavedState::default());
        assert!(roster.pruned);
    }

    #[test]
    fn a_vm_stays_paused_until_it_continues_or_is_removed() {
        let mut saved = SavedState::default();
        saved.vms.push(VmSpec::new("b", 1 << 20));
        let mut roster = roster(saved);
        for name in ["a", "b", "gone"] {
            roster.save(roster.with_paused(name, true));
        }
        roster.vms(vec![VmSpec::new("a", 1 << 20)]).unwrap();
        assert!(["a", "b"].iter().all(|name| roster.is_paused(name)));
        assert!(!roster.is_paused("gone") && roster.pruned);
        roster.save(roster.with_paused("a", false));
        roster.save(roster.removed("b", VmOrigin::Api));
        assert!(!roster.is_paused("a") && !roster.is_paused("b"));
    }

    #[test]
    fn removed_vms_are_restored_with_their_last_settings() {
        let mut roster = roster(SavedState::default());
        roster.set_file(vec![VmSpec::new("a", 1 << 20)], BTreeMap::new());
        let changed = roster.changed(VmOrigin::File, &weight(7), &VmSpec::new("a", 1 << 20));
        roster.save(changed);
        roster.save(roster.removed("a", VmOrigin::File));
        for number in 0..=MAX_FORMER {
            let name = format!("vm{number}");
            roster.save(roster.added(VmSpec::new(&name, number as u64)));
            roster.save(roster.removed(&name, VmOrigin::Api));
        }
        let (spec, origin, next) = roster.restored("a").unwrap();
        assert_eq!((spec.compute.weight, origin, next.removed.len()), (7, VmOrigin::File, 0));
        // Only the VMs that were removed last can be restored.
        assert_eq!(roster.saved.former.len(), MAX_FORMER);
        assert!(roster.restored("vm0").is_err());
        let (spec, origin, next) = roster.restored("vm1").unwrap();
        assert_eq!((spec.memory.max, origin), (1, VmOrigin::Api));
        assert_eq!((next.vms.len(), next.former.len()), (1, MAX_FORMER - 1));
        // A removed VM can't be restored if another VM with its name is added or is in the file.
        roster.save(roster.added(VmSpec::new("vm2", 9)));
        roster.vms(vec![VmSpec::new("vm3", 9)]).unwrap();
        assert!(
            ["vm1", "vm2", "vm3"].map(|name| roster.restored(name).is_ok()) == [true, false, false]
        );
    }

    #[test]
    fn successive_changes_are_combined() {
        let patch = |text: &str| serde_json::from_str::<VmPatch>(text).unwrap();
        let first =
            patch(r#"{"compute": {"weight": 3, "kernel_timeout": "2s"}, "memory": {"max": 9}}"#);
        let second =
            patch(r#"{"compute": {"weight": 5, "kernel_timeout": null}, "class": "latency"}"#);
        let sum = VmPatch::default().then(&first).then(&second);
        let mut spec = VmSpec::new("a", 1);
        let one_by_one = second.applied(&first.applied(&spec).unwrap()).unwrap();
        assert_eq!(sum.applied(&spec).unwrap(), one_by_one);
        // The change removes the setting, even if the file gives it a value later.
        spec.compute.kernel_timeout = Some(control_api::Timespan::from_nanos(7));
        assert_eq!(sum.applied(&spec).unwrap().compute.kernel_timeout, None);
    }
}
