//! The result of a check.

use serde::Serialize;

use crate::table::printable;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    /// Nothing to do.
    Ok,
    /// Something doesn't work, or can't be checked, but VMs can be served without it.
    #[serde(rename = "warning")]
    Warn,
    /// VMs can't be served with this host's GPUs, vcudad doesn't respond or can't use its file, or
    /// workers can reach the host's files.
    #[serde(rename = "problem")]
    Fail,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) check: &'static str,
    pub(crate) status: Status,
    /// The facts.
    pub(crate) found: String,
    /// Instructions for the operator.
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
