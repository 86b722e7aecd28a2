//! Findings, which are the results of checks.

use serde::Serialize;

use crate::table::printable;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    /// The operator needn't do anything.
    Ok,
    /// Something doesn't work or can't be checked, but VMs can use GPUs without it.
    #[serde(rename = "warning")]
    Warn,
    /// VMs can't use this host's GPUs, or vcudad doesn't respond or can't use its configuration
    /// file, or workers can access files of the host.
    #[serde(rename = "problem")]
    Fail,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) check: &'static str,
    pub(crate) status: Status,
    /// A description of the state that the check has found.
    pub(crate) found: String,
    /// Instructions for the operator, if there is anything to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) advice: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, status: Status::Ok, found: found.into(), advice: None }
    }

    pub(super) fn warn(
        check: &'static str,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { check, status: Status::Warn, found: found.into(), advice: Some(advice.into()) }
    }

    pub(super) fn fail(
        check: &'static str,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { check, status: Status::Fail, found: found.into(), advice: Some(advice.into()) }
    }

    /// Returns the finding as one line of text.
    pub(crate) fn line(&self) -> String {
        let status = match self.status {
            Status::Ok => "ok",
            Status::Warn => "warning",
            Status::Fail => "problem",
        };
        let advice = self.advice.as_ref().map(|advice| format!(": {advice}")).unwrap_or_default();
        printable(&format!("{status:<7}  {:<16}  {}{advice}", self.check, self.found))
    }
}
