//! The `doctor` command.

use super::output::Output;
use crate::client::Client;
use crate::color;
use crate::doctor::{self, Status};
use crate::error::CtlError;

pub(super) async fn run(client: &Client, output: &Output) -> Result<(), CtlError> {
    let findings = doctor::check(client).await;
    let has_colors = color::is_wanted();
    output.answer(&findings, |out| {
        findings.iter().try_for_each(|finding| {
            let is_alarm = finding.status == Status::Fail;
            writeln!(out, "{}", color::red(finding.line(), is_alarm && has_colors))
        })
    })?;
    match findings.iter().filter(|finding| finding.status == Status::Fail).count() {
        0 => Ok(()),
        failed => Err(CtlError::Unhealthy(failed)),
    }
}
