//! What softgpu has to say, on standard error where `SOFTGPU_LOG` is set.

use std::sync::OnceLock;

/// Whether anybody wants to know.
pub(crate) fn enabled() -> bool {
    static ENABLED: OnceLock<bool> = OnceLock::new();
    *ENABLED.get_or_init(|| std::env::var_os("SOFTGPU_LOG").is_some_and(|v| v != "0"))
}

/// Writes a line.
pub(crate) fn line(text: &str) {
    if enabled() {
        eprintln!("softgpu: {text}");
    }
}
