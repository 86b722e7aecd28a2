//! Describes whether vcudad uses its configuration file or has refused it.

use control_api::ConfigInfo;

use crate::table::timestamp;

/// Describes the result of vcudad's last attempt to read the file.
pub(crate) fn describe(file: &ConfigInfo) -> String {
    match &file.refused {
        None => format!("read and applied at {}", timestamp(file.read_ms)),
        Some(reason) => format!("REFUSED at {}: {reason}", timestamp(file.read_ms)),
    }
}

/// Returns advice for the operator if vcudad has refused the file.
pub(crate) fn advice(file: &ConfigInfo) -> String {
    let since = match file.applied_ms {
        Some(applied) => format!("the settings that it applied at {}", timestamp(applied)),
        None => "the settings of the vcudad before it".into(),
    };
    let (place, check) = match file.refused.as_deref().and_then(place) {
        Some((path, Some(line))) => (format!("line {line} of {path}"), format!(" --config {path}")),
        Some((path, None)) => (path.to_owned(), format!(" --config {path}")),
        None => ("the file".into(), String::new()),
    };
    format!(
        "correct {place}, run vcudad --check{check} and then systemctl reload vcudad; vcudad still uses \
         {since}, but can't start with this file once it has no VMs to continue with, as after a reboot"
    )
}

/// Returns the path and the line number at the beginning of vcudad's error.
fn place(refused: &str) -> Option<(&str, Option<u32>)> {
    let (path, rest) = refused.split_once(": ").filter(|(path, _)| path.starts_with('/'))?;
    let line = rest.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
    Some((path, line.and_then(|(number, _)| number.parse().ok())))
}
