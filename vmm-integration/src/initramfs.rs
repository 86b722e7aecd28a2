//! Builds an initramfs that contains a command, everything it needs, and this program as init.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cpio::Cpio;
use crate::error::{RunError, existing};
use crate::job::Job;
pub use crate::payload::{Brought, LIBRARIES};
use crate::payload::{Guest, Payload};

/// Path of init in the guest.
pub const INIT: &str = "/virtio-cuda/init";
/// Path of the job file in the guest.
pub const JOB: &str = "/virtio-cuda/job.json";

/// Builds the initramfs. If `base` is given, appends the archive to `base`. Appended files replace
/// files in `base` with the same path.
pub fn build(job: &mut Job, brought: &Brought, base: Option<&Path>) -> Result<Vec<u8>, RunError> {
    let guest = if base.is_some() { Guest::Initramfs } else { Guest::Bare };
    let mut payload = Payload::gather(job, brought, guest)?;
    let exe = std::env::current_exe().map_err(RunError::host("cannot find this program"))?;
    payload.add(&exe, Path::new(INIT))?;
    payload.add_libraries(&exe, "", guest)?;
    let text = serde_json::to_vec(job)
        .map_err(|e| RunError::Usage(format!("cannot encode the command for the guest: {e}")))?;
    payload.put(JOB, text, 0o644);

    let mut bytes = match base {
        Some(base) => {
            let base = existing("--initrd", base)?;
            fs::read(&base).map_err(RunError::host(format!("cannot read {}", base.display())))?
        }
        None => Vec::new(),
    };
    // The kernel expects the next archive at a multiple of four bytes.
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.extend(pack(&payload, &job.cwd));
    Ok(bytes)
}

fn pack(payload: &Payload, cwd: &Path) -> Vec<u8> {
    let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
    let fixed = [
        "dev",
        "proc",
        "sys",
        "tmp",
        "run",
        "root",
        "etc",
        "usr/bin",
        "usr/sbin",
        "usr/lib",
        "usr/lib64",
    ];
    let cwd = cwd.strip_prefix("/").unwrap_or(cwd);
    for path in fixed.iter().map(Path::new).chain([cwd]) {
        folders.extend(path.ancestors().map(PathBuf::from));
    }
    for path in payload.files.keys() {
        folders.extend(path.ancestors().skip(1).map(PathBuf::from));
    }
    let mut cpio = Cpio::default();
    for folder in folders.iter().filter(|folder| !folder.as_os_str().is_empty()) {
        let mode = if folder.as_os_str() == "tmp" { 0o1777 } else { 0o755 };
        cpio.folder(&folder.to_string_lossy(), mode);
    }
    for link in ["lib", "lib64", "bin", "sbin"] {
        cpio.link(link, &format!("usr/{link}"));
    }
    for (path, entry) in &payload.files {
        cpio.file(&path.to_string_lossy(), entry.mode, &entry.bytes);
    }
    cpio.finish()
}
