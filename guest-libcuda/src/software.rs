//! Distinguishes softgpu from NVIDIA's driver.

use crate::driver::driver;
use std::sync::OnceLock;

/// The name of softgpu's devices.
const SOFTGPU: &[u8] = b"softgpu";

/// Returns whether the host's driver executes PTX, but no machine code. Returns false before
/// `cuInit`. A forked child returns the parent's result, because the two may share a cache of
/// compiled code, in which their entries must agree.
pub fn executes_ptx() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    let ask = || {
        let driver = driver().ok()?;
        Some(*KNOWN.get_or_init(|| driver.devices.iter().any(|device| device.name() == SOFTGPU)))
    };
    KNOWN.get().copied().or_else(ask).unwrap_or(false)
}
