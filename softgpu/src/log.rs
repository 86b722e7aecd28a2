//! Logs to standard error if `SOFTGPU_LOG` is set.

use std::sync::OnceLock;

/// Returns whether logging is enabled.
pub(crate) fn enabled() -> bool {
    static ENABLED: OnceLock<bool> = OnceLock::new();
    *ENABLED.get_or_init(|| std::env::var_os("SOFTGPU_LOG").is_some_and(|v| v != "0"))
}

/// Writes one line to the log.
pub(crate) fn line(text: &str) {
    if enabled() {
        eprintln!("softgpu: {text}");
    }
}
