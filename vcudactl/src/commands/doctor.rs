//! The `doctor` command.

use std::path::Path;

use super::output::Output;
use crate::client::Client;
use crate::doctor::{self, Status};
use crate::error::CtlError;

pub(super) async fn run(client: &Client, output: &Output, socket: &Path) -> Result<(), CtlError> {
    let findings = doctor::check(client, socket).await;
    output.answer(&findings, |out| {
        findings.iter().try_for_each(|finding| writeln!(out, "{}", finding.line()))
    })?;
    match findings.iter().filter(|finding| finding.status == Status::Fail).count() {
        0 => Ok(()),
        failed => Err(CtlError::Unhealthy(failed)),
    }
}
