//! A change to a VM's settings, as a JSON merge patch (RFC 7396): an absent key leaves its setting
//! unchanged, and `null` resets an optional setting.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::ApiError;
use crate::settings::setting;
use crate::spec::VmSpec;
use crate::values::Values;

/// A change to an existing VM's settings. It contains only settings that can be changed while the VM
/// exists. If one of them is refused, none is changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VmPatch(Values);

impl VmPatch {
    /// Returns a patch that sets these values, except values of settings that can't be changed.
    pub fn new(mut values: Values) -> Self {
        values.0.retain(|key, _| setting(key).is_some_and(|setting| setting.is_live()));
        Self(values)
    }

    /// Returns true if the patch changes no setting.
    pub fn is_empty(&self) -> bool {
        self.0.0.is_empty()
    }

    /// Returns the keys of the settings that the patch changes.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.0.0.keys().copied()
    }

    /// Returns the change that has the effect of this one and then `next`. A setting that this one
    /// resets stays reset, unless `next` sets it.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        Self(next.0.clone().or(self.0.clone()))
    }

    /// Returns the settings with the change applied. Doesn't check ranges; see [`VmSpec::check`].
    pub fn applied(&self, to: &VmSpec) -> Result<VmSpec, ApiError> {
        let spec = self.0.clone().or(Values::of(to)).into_spec()?;
        // `Values` can't contain a path that isn't text, so keep the socket's path.
        Ok(VmSpec { socket: to.socket.clone(), ..spec })
    }
}

impl Serialize for VmPatch {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.nested().serialize(to)
    }
}

impl<'de> Deserialize<'de> for VmPatch {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Values::from_change(from).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Timespan;

    #[test]
    fn an_absent_key_changes_nothing_and_null_resets() {
        let mut spec = VmSpec::new("a", 1 << 30);
        spec.compute.kernel_timeout = Some(Timespan::from_nanos(5));
        spec.memory.session_max = Some(7);
        let text = r#"{"memory": {"session_max": null}, "compute": {"weight": 7}}"#;
        let patch: VmPatch = serde_json::from_str(text).unwrap();
        let changed = patch.applied(&spec).unwrap();
        assert_eq!(changed.compute.weight, 7);
        assert_eq!(changed.compute.kernel_timeout, spec.compute.kernel_timeout);
        assert_eq!(changed.memory.session_max, None);
        assert_eq!(changed.memory.max, 1 << 30);
    }

    #[test]
    fn a_required_setting_cannot_be_reset() {
        for text in [
            r#"{"memory": {"max": null}}"#,
            r#"{"compute": {"weight": null}}"#,
            r#"{"compute": {"max": null}}"#,
            r#"{"compute": {"min": null}}"#,
            r#"{"class": null}"#,
            r#"{"sessions": {"max": null}}"#,
            r#"{"compute": null}"#,
            r#"{"compute": {"weight": 1, "weight": 2}}"#,
        ] {
            assert!(serde_json::from_str::<VmPatch>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_patch_round_trips() {
        let text = r#"{"class":"latency","compute":{"max":"25%"},"memory":{"session_max":null}}"#;
        let patch: VmPatch = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&patch).unwrap(), text);
        assert_eq!(serde_json::to_string(&VmPatch::default()).unwrap(), "{}");
        let empty: VmPatch = serde_json::from_str(r#"{"memory": {}}"#).unwrap();
        assert!(empty.is_empty());
    }

    /// JSON can't contain a path that isn't UTF-8, so a change of other settings must keep such a
    /// path.
    #[cfg(unix)]
    #[test]
    fn a_socket_whose_path_is_not_text_stays() {
        use std::os::unix::ffi::OsStringExt;
        let mut spec = VmSpec::new("a", 1 << 30);
        spec.socket = Some(std::ffi::OsString::from_vec(vec![b'/', 0xff]).into());
        let patch: VmPatch = serde_json::from_str(r#"{"compute": {"weight": 7}}"#).unwrap();
        let changed = patch.applied(&spec).unwrap();
        assert_eq!((changed.socket.clone(), changed.compute.weight), (spec.socket.clone(), 7));
        assert_eq!(changed.with_defaults().socket, spec.socket);
    }
}
