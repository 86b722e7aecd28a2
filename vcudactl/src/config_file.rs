//! Describes whether vcudad uses its configuration file.

use control_api::ConfigInfo;

use crate::table::timestamp;

/// Describes the last read of the file.
pub(crate) fn describe(file: &ConfigInfo) -> String {
    match &file.refused {
        None => format!("read and applied at {}", timestamp(file.read_ms)),
        Some(reason) => format!("REFUSED at {}: {reason}", timestamp(file.read_ms)),
    }
}

/// Returns instructions for a file that was refused.
pub(crate) fn advice(file: &ConfigInfo) -> String {
    let since = match file.applied_ms {
        Some(applied) => format!("the settings that it applied at {}", timestamp(applied)),
        None => "the settings of the vcudad before it".into(),
    };
    format!(
        "correct the file, run vcudad --check and then systemctl reload vcudad; vcudad still uses \
         {since}, but can't start with this file once it has no VMs to continue with, as after a reboot"
    )
}
