//! The last configuration file with which a broker was started. It's copied to a file beside the
//! spawner's socket. If the configuration file has an error when another broker is started, that
//! broker uses this copy instead, so that it can continue with the VMs that the spawner still has.
//!
//! The copy determines the broker's user and the spawner's permissions, so only root writes it,
//! before the broker drops its privileges. It's in the directory of the spawner's socket, which is
//! removed with the spawner, and so with the VMs. Settings of VMs that were reloaded later are in
//! the broker's record (`handover`).

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Maximum number of bytes that are read.
const MAX_SIZE: u64 = 16 << 20;

/// The path of the copy.
pub(crate) struct LastGood(PathBuf);

impl LastGood {
    /// Returns the path of the copy for a spawner with this socket.
    pub(crate) fn beside(socket: &Path) -> Self {
        let mut path = OsString::from(socket);
        path.push(".config");
        Self(path.into())
    }

    /// Reads the copy. Returns `None` if there is none, or if it belongs to another user.
    pub(crate) fn read(&self) -> Option<String> {
        let file = File::options().read(true).custom_flags(libc::O_NOFOLLOW).open(&self.0).ok()?;
        let meta = file.metadata().ok()?;
        if !meta.is_file() || meta.uid() != rustix::process::geteuid().as_raw() {
            return None;
        }
        let mut text = String::new();
        file.take(MAX_SIZE).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Replaces the copy.
    pub(crate) fn write(&self, text: &str) -> io::Result<()> {
        let mut next = self.0.clone().into_os_string();
        next.push(".next");
        let _ = fs::remove_file(&next);
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&next)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&next, &self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_is_replaced_as_a_whole_and_no_link_is_followed() {
        let folder = host_test_support::Folder::new("last-good");
        let copy = LastGood::beside(&folder.join("socket"));
        assert_eq!(copy.read(), None);
        for text in ["scheduler = \"off\"\n", "", "user = \"vcudad\"\n"] {
            copy.write(text).unwrap();
            assert_eq!(copy.read().as_deref(), Some(text));
        }
        assert_eq!(fs::metadata(&copy.0).unwrap().mode() & 0o777, 0o600);
        fs::rename(&copy.0, folder.join("other")).unwrap();
        std::os::unix::fs::symlink(folder.join("other"), &copy.0).unwrap();
        assert_eq!(copy.read(), None);
    }
}
