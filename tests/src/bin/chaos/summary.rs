//! The table that is printed at the end of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::bystanders::Results;
use crate::programs::Ends;
use crate::watch::Peaks;

#[derive(Debug, Default)]
pub struct Summary {
    pub seconds: f64,
    pub counts: BTreeMap<&'static str, (u64, u64)>,
    pub programs: BTreeMap<&'static str, Ends>,
    pub unharmed: Results,
    pub holders: Results,
    pub peaks: Peaks,
    pub sessions: u64,
    /// The broker's peak resident size, in KiB.
    pub memory: u64,
    /// The longest response time of the control API.
    pub api: Duration,
    pub log_lines: usize,
    pub left: String,
    pub violations: usize,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<30} {:>9} {:>10}", "action", "performed", "no object")?;
        for (kind, (performed, without)) in &self.counts {
            writeln!(f, "{kind:<30} {performed:>9} {without:>10}")?;
        }
        let sum = |of: fn(&(u64, u64)) -> u64| self.counts.values().map(of).sum::<u64>();
        writeln!(f, "{:<30} {:>9} {:>10}", "all", sum(|one| one.0), sum(|one| one.1))?;
        writeln!(f)?;
        writeln!(
            f,
            "{:<30} {:>9} {:>10} {:>8} {:>8}",
            "programs", "started", "passed", "failed", "killed"
        )?;
        for (kind, ends) in &self.programs {
            let Ends { started, passed, failed, killed } = ends;
            let kind = format!("attacked VMs, {kind}");
            writeln!(f, "{kind:<30} {started:>9} {passed:>10} {failed:>8} {killed:>8}")?;
        }
        for (kind, results) in [("short", self.unharmed), ("long", self.holders)] {
            let (kind, all) = (format!("unharmed VMs, {kind}"), results.passed + results.failed);
            let Results { passed, failed, .. } = results;
            writeln!(f, "{kind:<30} {all:>9} {passed:>10} {failed:>8} {:>8}", 0)?;
        }
        writeln!(f)?;
        let peaks = self.peaks;
        for (what, value) in [
            ("time", format!("{:.0} s", self.seconds)),
            ("workers started", self.sessions.to_string()),
            ("most sessions at a time", peaks.sessions.to_string()),
            ("most device memory in use", format!("{} MiB", peaks.memory >> 20)),
            ("checks of the ledger", peaks.samples.to_string()),
            ("longest unharmed program", format!("{:.1} s", self.unharmed.longest.as_secs_f64())),
            ("longest API response", format!("{} ms", self.api.as_millis())),
            ("vcudad's peak memory", format!("{} KiB", self.memory)),
            ("lines in vcudad's log", self.log_lines.to_string()),
            ("left over", self.left.clone()),
            ("violations", self.violations.to_string()),
        ] {
            writeln!(f, "{what:<30} {value}")?;
        }
        Ok(())
    }
}
