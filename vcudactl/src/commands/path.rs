//! The paths of requests that are about a VM.

use control_api::check_name;

use crate::error::CtlError;

/// Returns the path of a VM's resource. Fails for an invalid name, because a name such as `a/b`
/// would form the path of a different resource.
pub(super) fn vm_path(name: &str) -> Result<String, CtlError> {
    check_name(name)?;
    Ok(format!("/v1/vms/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_name_makes_no_path() {
        for name in ["../gpus", "a/sessions", "a b", "a?x", ""] {
            assert!(vm_path(name).is_err(), "{name}");
        }
    }
}
