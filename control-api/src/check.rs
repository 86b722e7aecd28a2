//! Range checks for a VM's settings. vcudad itself does the checks that depend on the host's GPUs,
//! sockets and users.

use serde_json::Value;

use crate::error::ApiError;
use crate::expected::expected;
use crate::settings::SETTINGS;
use crate::spec::{ComputeSpec, GpuRequest, MpsSpec, Sharing, VmSpec};
use crate::values::Values;

/// Maximum number of GPUs per VM.
pub(crate) const MAX_GPUS: usize = 16;
/// The environment variables that `env.allow` can contain. They are variables of the CUDA driver,
/// and affect only the worker that gets them. Don't add variables of the dynamic linker, or
/// variables that contain paths, because a guest chooses the values.
pub const PERMITTED_ENV: [&str; 9] = [
    "CUDA_AUTO_BOOST",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DISABLE_JIT",
    "CUDA_DISABLE_PTX_JIT",
    "CUDA_FORCE_JIT",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_DATA_LOADING",
    "CUDA_MODULE_LOADING",
];

type Checked = Result<(), ApiError>;

/// Checks a VM's name.
pub fn check_name(name: &str) -> Checked {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if (1..=64).contains(&name.len()) && name.chars().all(allowed) && !name.starts_with('.') {
        return Ok(());
    }
    let rule = "must be 1 to 64 letters, digits, '-', '_' and '.', and must not begin with '.'";
    Err(ApiError::invalid("name", rule))
}

impl ComputeSpec {
    fn check(&self) -> Checked {
        if self.min > self.max {
            let message = format!("{} is above compute.max, which is {}", self.min, self.max);
            return Err(ApiError::invalid("compute.min", message));
        }
        Ok(())
    }
}

impl MpsSpec {
    fn check(&self, sharing: Sharing) -> Checked {
        if sharing != Sharing::Mps && !self.is_empty() {
            let message = "these settings need sharing = \"mps\"";
            return Err(ApiError::invalid("mps", message));
        }
        Ok(())
    }
}

impl VmSpec {
    /// Checks each setting. The error names the field.
    pub fn check(&self) -> Checked {
        check_name(&self.name)?;
        self.check_socket()?;
        self.check_gpus()?;
        self.mps.check(self.sharing)?;
        self.check_ranges().map_err(|error| match self.uid {
            Some(0) if error.field.as_deref() == Some("uid") => {
                ApiError::invalid("uid", format!("{} (0 is root's)", error.message))
            }
            _ => error,
        })?;
        self.compute.check()?;
        if let Some(cpu) = &self.cpu.max {
            check_cpu_max(cpu)?;
        }
        self.check_env()
    }

    /// Checks the ranges of numbers, sizes, percentages, and durations.
    fn check_ranges(&self) -> Checked {
        let values = Values::of(self).0;
        for setting in SETTINGS {
            match values.get(setting.key) {
                Some(Value::Number(number)) => {
                    setting.check_number(number.as_u64().unwrap_or(0))?;
                }
                Some(Value::String(text)) => setting.check_text(text)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn check_socket(&self) -> Checked {
        if let Some(socket) = &self.socket {
            let length = socket.as_os_str().len();
            if length > 107 {
                let message =
                    format!("the path has {length} bytes; a socket path can have at most 107");
                return Err(ApiError::invalid("socket", message));
            }
            if !socket.is_absolute() {
                return Err(ApiError::invalid("socket", "must be an absolute path"));
            }
        }
        if let Some(text) = &self.socket_mode {
            let octal = u32::from_str_radix(text, 8).is_ok_and(|mode| mode <= 0o777);
            if !octal || text.starts_with('+') {
                let must = expected("socket_mode").unwrap_or_default();
                let message = format!("'{}' is not a mode: it must be {must}", text.escape_debug());
                return Err(ApiError::invalid("socket_mode", message));
            }
        }
        Ok(())
    }

    fn check_gpus(&self) -> Checked {
        let count = self.gpus.len();
        if !(1..=MAX_GPUS).contains(&count) {
            let message = format!("{count} GPUs: a VM must have from 1 to {MAX_GPUS}");
            return Err(ApiError::invalid("gpus", message));
        }
        for (place, gpu) in self.gpus.iter().enumerate() {
            if *gpu != GpuRequest::Any && self.gpus[..place].contains(gpu) {
                return Err(ApiError::invalid("gpus", format!("{gpu} is listed twice")));
            }
        }
        Ok(())
    }

    fn check_env(&self) -> Checked {
        for name in self.env.allow.iter().flatten() {
            if !PERMITTED_ENV.contains(&name.as_str()) {
                let message = format!(
                    "'{}' can't be passed to a worker: use names from {}",
                    name.escape_debug(),
                    PERMITTED_ENV.join(", ")
                );
                return Err(ApiError::invalid("env.allow", message));
            }
        }
        Ok(())
    }
}

/// Checks `cpu.max`: `max` or a quota, and optionally a period, in the ranges that the kernel
/// accepts. This check is necessary because, if the kernel rejected the value, none of the VM's
/// cgroup limits would apply.
fn check_cpu_max(text: &str) -> Checked {
    let mut words = text.split(' ');
    let number = |word: &str, most| word.parse::<u64>().is_ok_and(|n| (1000..=most).contains(&n));
    let quota = |word: &str| word == "max" || number(word, (1 << 44) - 1);
    let fits = match (words.next(), words.next(), words.next()) {
        (Some(first), period, None) => {
            quota(first) && period.is_none_or(|word| number(word, 1_000_000))
        }
        _ => false,
    };
    if fits {
        return Ok(());
    }
    let must = expected("cpu.max").unwrap_or_default();
    let message = format!("'{}' is out of range: it must be {must}", text.escape_debug());
    Err(ApiError::invalid("cpu.max", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks minimal settings plus `more`, which must be refused, and returns the field and
    /// message of the error.
    fn refused(more: &str) -> (String, String) {
        let text = format!(r#"{{"name": "a", {more}}}"#);
        let text = if more.contains("\"memory\"") {
            text
        } else {
            text.replacen('{', r#"{"memory": {"max": 2097152}, "#, 1)
        };
        let spec: VmSpec = serde_json::from_str(&text).unwrap();
        let error = spec.check().unwrap_err();
        (error.field.unwrap(), error.message)
    }

    #[test]
    fn an_error_names_the_field_and_its_range() {
        for (more, field, expected) in [
            (r#""compute": {"weight": 0}"#, "compute.weight", "from 1 to 10000"),
            (r#""compute": {"weight": 10001}"#, "compute.weight", "10001"),
            (r#""compute": {"max": "0.99%"}"#, "compute.max", "from 1% to 100%"),
            (r#""compute": {"max": "101%"}"#, "compute.max", "101%"),
            (r#""compute": {"min": "100.01%"}"#, "compute.min", "from 0% to 100%"),
            (r#""compute": {"min": "30%", "max": "20%"}"#, "compute.min", "above compute.max"),
            (
                r#""compute": {"kernel_timeout": "1us"}"#,
                "compute.kernel_timeout",
                "from 1ms to 24h",
            ),
            (r#""memory": {"max": 0}"#, "memory.max", "from 2097152"),
            (r#""memory": {"max": 8}"#, "memory.max", "blocks of 2 MiB"),
            (r#""memory": {"max": 2097151}"#, "memory.max", "2097151 bytes is too small"),
            (r#""memory": {"max": 1125899906842625}"#, "memory.max", "from 2097152"),
            (
                r#""memory": {"max": 2097152, "session_max": 8}"#,
                "memory.session_max",
                "8 bytes is too small",
            ),
            (
                r#""sharing": "mps", "mps": {"pinned_memory_limit": 8}"#,
                "mps.pinned_memory_limit",
                "8 bytes is too small",
            ),
            (r#""sessions": {"max": 0}"#, "sessions.max", "from 1 to 4096"),
            (r#""gpus": []"#, "gpus", "from 1 to 16"),
            (r#""gpus": ["0", 0]"#, "gpus", "twice"),
            (r#""mps": {"active_thread_percentage": "50%"}"#, "mps", "sharing"),
            (r#""socket": "here.sock""#, "socket", "absolute"),
            (r#""socket_mode": "0999""#, "socket_mode", "0660"),
            (r#""uid": 0"#, "uid", "root"),
            (r#""uid": 4294967295"#, "uid", "from 1 to 4294967294"),
            (r#""cpu": {"max": "5"}"#, "cpu.max", "QUOTA"),
            (r#""cpu": {"max": "1000 999"}"#, "cpu.max", "PERIOD from 1000 to 1000000"),
            (r#""cpu": {"max": "2000000 2000000"}"#, "cpu.max", "PERIOD from 1000 to 1000000"),
            (r#""cpu": {"max": "999 100000"}"#, "cpu.max", "QUOTA from 1000"),
            (r#""cpu": {"max": "17592186044416"}"#, "cpu.max", "17592186044415"),
            (r#""env": {"allow": ["A=B"]}"#, "env.allow", "A=B"),
            (r#""env": {"allow": ["CUDA_FORCE_JIT", "LD_PRELOAD"]}"#, "env.allow", "LD_PRELOAD"),
            (r#""env": {"allow": ["CUDA_CACHE_PATH"]}"#, "env.allow", "use names from CUDA_AUTO"),
        ] {
            let (named, message) = refused(more);
            assert_eq!(named, field, "{more}");
            assert!(message.contains(expected), "{more}: {message}");
        }
    }

    #[test]
    fn defaults_are_in_range() {
        let mut spec = VmSpec::new("a", 1 << 30);
        spec.check().unwrap();
        for cpu in ["max", "max 1000000", "1000 1000", "1000", "17592186044415 1000000"] {
            spec.cpu.max = Some(cpu.into());
            spec.check().unwrap_or_else(|error| panic!("{cpu}: {error}"));
        }
        for name in ["", ".a", "a b", "a/b", "ä"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
