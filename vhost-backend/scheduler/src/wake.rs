//! Calculates the time of a GPU's next check.

use super::Scheduler;
use super::types::{GpuKey, Nanos, OpenMode};

impl Scheduler {
    /// Sets the time of a GPU's next check. `ticks` is true if this is called from a tick.
    pub(super) fn plan_wake(&mut self, gpu: GpuKey, now: Nanos, ticks: bool) {
        let state = &self.gpus[&gpu];
        if !ticks && state.wake.is_some_and(|at| at <= now) {
            // A tick is due, and the caller is sending the reports that precede it. These reports
            // must not postpone the tick.
            return;
        }
        let mut wake: Option<Nanos> = None;
        // If something that is already due hasn't happened, check again after one sampling
        // interval, not immediately.
        let sample = self.settings.sample;
        let mut at = |time: Nanos| {
            let time = if time > now { time } else { now.saturating_add(sample) };
            wake = Some(wake.map_or(time, |wake| wake.min(time)));
        };
        for vm in &state.running {
            let (Some(turn), member) = (self.turn(*vm), self.member(*vm, gpu)) else { continue };
            match turn.mode {
                _ if !member.presence.is_running() => {
                    self.drains_until(*vm, now).into_iter().for_each(&mut at);
                }
                // Even an unlimited VM is sampled regularly, so that its usage is recent when
                // another VM gets work.
                OpenMode::Unlimited => at(now.saturating_add(self.settings.unlimited_sample)),
                OpenMode::Shared => at(now + self.settings.sample),
                OpenMode::Window => {
                    let works = member.last.active || member.last.held;
                    let waited = self.wanted(*vm, &turn.gpus, now);
                    if waited || works {
                        at(now + self.settings.sample);
                    }
                    if waited {
                        if let Some(since) = member.account.idle_since {
                            at(since.saturating_add(member.grace(&self.settings)));
                        }
                        let (end, lead) = (turn.until, self.settings.lead);
                        at(if end > now.saturating_add(lead) { end - lead } else { end });
                    } else if let Some(alone) = self.alone_at(gpu, *vm) {
                        at(alone);
                    }
                    if works && let Some(bucket) = &member.bucket {
                        at(now.saturating_add(bucket.lasts(now)));
                    }
                }
            }
        }
        for (vm, member) in self.recent(gpu) {
            if let Some(timeout) = member.share.kernel_timeout.filter(|_| member.may_time_out()) {
                let ran_for = member.last.oldest_for.saturating_sub(member.off_for(now));
                let left = timeout.saturating_sub(ran_for);
                at(now.saturating_add(left.min(timeout / 4).max(self.settings.sample)));
            }
            if member.last.copying || member.contexts_since.is_some() {
                at(now.saturating_add(sample));
            }
            self.strays_until(vm, gpu).into_iter().chain(member.rests_until).for_each(&mut at);
            if let Some(bucket) = &member.bucket
                && self.unwanted(vm, gpu).is_none()
                && member.barred(member.need(&self.settings), now).is_some()
            {
                at(bucket.ready_at(member.need(&self.settings), now));
            }
        }
        // Between ticks, reports may only make a planned check earlier. If reports could make it
        // later, frequent reports could postpone it forever.
        self.gpu_mut(gpu).wake = match (state.wake, wake) {
            (Some(planned), Some(wake)) if !ticks => Some(planned.min(wake)),
            (_, wake) => wake,
        };
    }
}
