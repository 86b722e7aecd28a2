//! Builds the archive that is attached as the second disk of a guest that boots from a disk image.
//! The script `run` in the archive copies the payload to the guest's root file system (changes to
//! it are discarded later) and runs the job.

use std::path::{Path, PathBuf};

use crate::error::RunError;
use crate::job::Job;
use crate::payload::{Brought, Guest, Payload};

const BLOCK: usize = 512;
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

    let mut tar = Tar::default();
    tar.file(Path::new("run"), 0o755, RUN.as_bytes())?;
    tar.file(Path::new("job.json"), 0o644, &text)?;
    for (path, entry) in &own.files {
        let name = path.file_name().unwrap_or_default();
        tar.file(&Path::new("agent").join(name), entry.mode, &entry.bytes)?;
    }
    let mut this = Payload::default();
    this.add(&exe, Path::new("/exe"))?;
    for entry in this.files.values() {
        tar.file(Path::new("agent/vcuda-run"), 0o755, &entry.bytes)?;
    }
    tar.folder("files/");
    for (path, entry) in &payload.files {
        tar.file(&Path::new("files").join(path), entry.mode, &entry.bytes)?;
    }
    Ok(tar.finish())
}

/// Builds a "ustar" archive.
#[derive(Debug, Default)]
struct Tar {
    bytes: Vec<u8>,
}

impl Tar {
    fn folder(&mut self, name: &str) {
        self.header("", name, 0o755, 0, b'5');
    }

    fn file(&mut self, path: &Path, mode: u32, bytes: &[u8]) -> Result<(), RunError> {
        let (prefix, name) = split(path)?;
        self.header(&prefix, &name, mode, bytes.len(), b'0');
        self.bytes.extend_from_slice(bytes);
        self.pad(BLOCK);
        Ok(())
    }

    fn header(&mut self, prefix: &str, name: &str, mode: u32, size: usize, kind: u8) {
        let mut header = [0u8; BLOCK];
        let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
        put(0, name.as_bytes());
        put(100, format!("{mode:07o}\0{:07o}\0{:07o}\0{size:011o}\0{:011o}\0", 0, 0, 0).as_bytes());
        // While the checksum is computed, its field contains blanks.
        put(148, b"        ");
        put(156, &[kind]);
        put(257, b"ustar\x0000");
        put(345, prefix.as_bytes());
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.bytes.extend_from_slice(&header);
    }

    fn finish(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len() + 2 * BLOCK, 0);
        // The size of a QEMU disk must be a multiple of this.
        self.pad(64 * 1024);
        self.bytes
    }

    fn pad(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
    }
}

/// Splits a path at a slash into the two fields of a ustar header: a prefix of at most 155 bytes
/// and a name of at most 100 bytes.
fn split(path: &Path) -> Result<(String, String), RunError> {
    let text = path.to_string_lossy().into_owned();
    if text.len() <= 100 {
        return Ok((String::new(), text));
    }
    let at = text
        .char_indices()
        .filter(|(at, c)| *c == '/' && *at <= 155 && text.len() - at - 1 <= 100)
        .map(|(at, _)| at)
        .next();
    match at {
        Some(at) => Ok((text[..at].to_string(), text[at + 1..].to_string())),
        None => Err(RunError::Usage(format!(
            "the path '{}' is too long for a tar archive: choose a shorter one with --file SRC:DEST",
            PathBuf::from(text).display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn test_tar_unpacks_what_was_packed() {
        let long = PathBuf::from("d".repeat(90)).join("e".repeat(60)).join("file");
        let mut tar = Tar::default();
        tar.folder("files/");
        tar.file(Path::new("files/run"), 0o755, b"#!/bin/sh\n").unwrap();
        tar.file(&long, 0o600, &[7; 513]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("a.tar");
        std::fs::write(&archive, tar.finish()).unwrap();
        let status =
            Command::new("tar").arg("-xf").arg(&archive).current_dir(folder.path()).status();
        assert!(status.unwrap().success());
        assert_eq!(std::fs::read(folder.path().join("files/run")).unwrap(), b"#!/bin/sh\n");
        assert_eq!(std::fs::read(folder.path().join(long)).unwrap(), [7; 513]);
        assert!(split(&PathBuf::from("x".repeat(101))).is_err());
    }
}
