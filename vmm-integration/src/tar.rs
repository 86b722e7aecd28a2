//! Builds the archive that is attached as the second disk of a guest that boots from a disk image.
//! The script `run` in the archive copies the payload to the guest's root file system and runs the
//! job. Changes to that file system are discarded when the guest ends.

use std::path::Path;

use tar::{EntryType, Header};

use crate::error::RunError;
use crate::job::Job;
use crate::payload::{Brought, Guest, Payload};

/// The archive's `run` script. It runs vcuda-run with the host's libraries, because the guest's
/// libraries may be older.
const RUN: &str = "#!/bin/sh
# Copies the files to where the job expects them, then runs it.
tar -cf - -C files . | tar -xf - -C / --no-overwrite-dir || exit 126
exec ./agent/ld-linux-x86-64.so.2 --library-path ./agent ./agent/vcuda-run guest-agent ./job.json
";

/// Builds the archive for a job.
pub fn archive(job: &mut Job, brought: &Brought) -> Result<Vec<u8>, RunError> {
    let payload = Payload::gather(job, brought, Guest::System)?;
    let exe = std::env::current_exe().map_err(RunError::host("cannot find this program"))?;
    let mut own = Payload::default();
    own.add_libraries(&exe, "", Guest::Bare)?;
    let text = serde_json::to_vec(job)
        .map_err(|e| RunError::Usage(format!("cannot encode the command for the guest: {e}")))?;

    let mut archive = Archive(tar::Builder::new(Vec::new()));
    archive.file(Path::new("run"), 0o755, RUN.as_bytes())?;
    archive.file(Path::new("job.json"), 0o644, &text)?;
    for (path, entry) in &own.files {
        let name = path.file_name().unwrap_or_default();
        archive.file(&Path::new("agent").join(name), entry.mode, &entry.bytes)?;
    }
    let mut this = Payload::default();
    this.add(&exe, Path::new("/exe"))?;
    for entry in this.files.values() {
        archive.file(Path::new("agent/vcuda-run"), 0o755, &entry.bytes)?;
    }
    archive.folder(Path::new("files/"))?;
    for (path, entry) in &payload.files {
        archive.file(&Path::new("files").join(path), entry.mode, &entry.bytes)?;
    }
    archive.finish()
}

/// Builds an archive in memory.
struct Archive(tar::Builder<Vec<u8>>);

impl Archive {
    fn folder(&mut self, path: &Path) -> Result<(), RunError> {
        self.entry(path, EntryType::Directory, 0o755, &[])
    }

    fn file(&mut self, path: &Path, mode: u32, bytes: &[u8]) -> Result<(), RunError> {
        self.entry(path, EntryType::Regular, mode, bytes)
    }

    fn entry(
        &mut self,
        path: &Path,
        kind: EntryType,
        mode: u32,
        bytes: &[u8],
    ) -> Result<(), RunError> {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(bytes.len() as u64);
        self.0.append_data(&mut header, path, bytes).map_err(RunError::host("cannot pack a file"))
    }

    fn finish(self) -> Result<Vec<u8>, RunError> {
        let mut bytes = self.0.into_inner().map_err(RunError::host("cannot pack the files"))?;
        // Pad the archive, because QEMU requires a disk's size to be a multiple of 64 KiB.
        bytes.resize(bytes.len().next_multiple_of(64 * 1024), 0);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn test_tar_unpacks_what_was_packed() {
        let long = Path::new(&"d".repeat(90)).join("e".repeat(160)).join("file");
        let mut tar = Archive(tar::Builder::new(Vec::new()));
        tar.folder(Path::new("files/")).unwrap();
        tar.file(Path::new("files/run"), 0o755, b"#!/bin/sh\n").unwrap();
        tar.file(&long, 0o600, &[7; 513]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("a.tar");
        std::fs::write(&archive, tar.finish().unwrap()).unwrap();
        let status =
            Command::new("tar").arg("-xf").arg(&archive).current_dir(folder.path()).status();
        assert!(status.unwrap().success());
        assert_eq!(std::fs::read(folder.path().join("files/run")).unwrap(), b"#!/bin/sh\n");
        assert_eq!(std::fs::read(folder.path().join(long)).unwrap(), [7; 513]);
    }
}
