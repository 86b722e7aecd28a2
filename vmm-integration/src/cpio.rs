//! Writes cpio archives in the "newc" format, which Linux unpacks as its initramfs.

const FILE: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;
const LINK: u32 = 0o120_000;

/// Builds an archive.
#[derive(Debug, Default)]
pub struct Cpio {
    bytes: Vec<u8>,
    inode: u32,
}

impl Cpio {
    /// Adds a directory. Its parents must have been added before.
    pub fn folder(&mut self, name: &str, mode: u32) {
        self.entry(name, FOLDER | mode, &[]);
    }

    /// Adds a regular file.
    pub fn file(&mut self, name: &str, mode: u32, bytes: &[u8]) {
        self.entry(name, FILE | mode, bytes);
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, name: &str, target: &str) {
        self.entry(name, LINK | 0o777, target.as_bytes());
    }

    /// Completes the archive and returns its bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        // Pad the archive, because another archive may be appended to it.
        self.bytes.resize(self.bytes.len().next_multiple_of(512), 0);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, bytes: &[u8]) {
        self.inode += 1;
        let size = u32::try_from(bytes.len()).expect("a guest's file is below 4 GiB");
        let links = if mode & FOLDER != 0 { 2 } else { 1 };
        let name_size = name.len() as u32 + 1;
        // inode, mode, uid, gid, links, time, size, device, special device, name, checksum
        let fields = [self.inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_size, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(bytes);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Stdio};

    #[test]
    fn test_cpio_unpacks_what_was_packed() {
        let mut cpio = Cpio::default();
        cpio.folder("usr", 0o755);
        cpio.link("lib", "usr");
        cpio.file("usr/odd", 0o640, b"12345");
        cpio.file("usr/empty", 0o755, b"");
        let bytes = cpio.finish();
        assert_eq!(bytes.len() % 512, 0);
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new("cpio")
            .args(["--extract", "--quiet"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .spawn()
            .expect("cpio is installed (scripts/install-deps.sh)");
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        assert!(child.wait().unwrap().success());
        let at = |name: &str| folder.path().join(name);
        assert_eq!(std::fs::read(at("lib/odd")).unwrap(), b"12345");
        assert_eq!(std::fs::read_link(at("lib")).unwrap().to_str(), Some("usr"));
        let mode = |name: &str| std::fs::metadata(at(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("usr/odd"), mode("usr/empty")), (0o640, 0o755));
    }
}
