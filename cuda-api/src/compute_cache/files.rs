//! A directory with one file for each entry. Any number of processes can use it at the same time: a
//! file is written under a temporary name and then renamed, and is never changed afterwards. A file
//! contains the whole key, so an entry is never returned for another key, and a checksum, so that
//! a damaged file is ignored.

use super::settings::Settings;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// The first bytes of every file.
const MAGIC: [u8; 8] = *b"VCUCACH1";
/// The length of a file's header: the magic bytes, the lengths of key and value, and the checksum
/// of both.
const HEADER_BYTES: usize = 32;
/// The number of new entries after which a process counts the sizes of all files again, because
/// other processes add entries, too.
const COUNT_AFTER: u64 = 64;

/// The entries of the cache.
#[derive(Debug)]
pub struct ComputeCache {
    settings: Settings,
    usage: Mutex<Usage>,
}

/// This process's knowledge of the directory.
#[derive(Debug, Default)]
struct Usage {
    /// The total size of all files in bytes when they were last counted, plus that of the entries
    /// that this process has added since.
    bytes: u64,
    /// The number of entries that this process has added since it last counted the files. `None` if
    /// it never counted them.
    added: Option<u64>,
}

/// A file in the directory.
struct Found {
    used: SystemTime,
    bytes: u64,
    path: PathBuf,
}

/// The FNV-1a hash of some bytes. It only has to tell keys apart and to detect damage.
fn hash(parts: &[&[u8]]) -> u64 {
    parts.iter().copied().flatten().fold(0xCBF2_9CE4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

fn header(key: &[u8], value: &[u8]) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC);
    header[8..16].copy_from_slice(&(key.len() as u64).to_le_bytes());
    header[16..24].copy_from_slice(&(value.len() as u64).to_le_bytes());
    header[24..].copy_from_slice(&hash(&[key, value]).to_le_bytes());
    header
}

impl ComputeCache {
    /// Returns the cache with these settings. Its directory is created when the first entry is
    /// added.
    pub fn new(settings: Settings) -> Self {
        Self { settings, usage: Mutex::default() }
    }

    fn path(&self, key: &[u8]) -> PathBuf {
        self.settings.directory.join(format!("{:016x}", hash(&[key])))
    }

    /// Returns the value of a key, if there is one.
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let mut file = File::open(self.path(key)).ok()?;
        // Larger files can't be entries of this cache, so don't read them.
        if file.metadata().ok()?.len() > self.settings.max_bytes {
            return None;
        }
        let mut content = Vec::new();
        file.read_to_end(&mut content).ok()?;
        let (stored_header, rest) = content.split_at_checked(HEADER_BYTES)?;
        let (stored_key, value) = rest.split_at_checked(key.len())?;
        if stored_key != key || stored_header != header(key, value) {
            return None;
        }
        // The modification time is the time of the entry's last use, which determines the entries
        // that are removed first. If setting it fails, the entry keeps an older time, which only
        // makes it more likely to be removed.
        let _ = file.set_modified(SystemTime::now());
        content.drain(..HEADER_BYTES + key.len());
        Some(content)
    }

    /// Adds an entry, and removes the entries that were used least recently if there is no room.
    pub fn add(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        let bytes = (HEADER_BYTES + key.len() + value.len()) as u64;
        if bytes > self.settings.max_bytes {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than the cache"));
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.settings.directory)?;
        self.make_room(bytes)?;
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let unique = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = self.settings.directory.join(format!(".{}.{unique}", process::id()));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)
            .and_then(|mut file| {
                file.write_all(&header(key, value))?;
                file.write_all(key)?;
                file.write_all(value)
            })
            .and_then(|()| fs::rename(&temporary, self.path(key)));
        if written.is_err() {
            // Remove the incomplete file, which would only take up space, for example on a full
            // disk.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Removes entries until there is room for this many bytes.
    fn make_room(&self, bytes: u64) -> io::Result<()> {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let max = self.settings.max_bytes - bytes;
        if usage.added.is_none_or(|added| added >= COUNT_AFTER) || usage.bytes > max {
            let mut files = self.files()?;
            usage.bytes = files.iter().map(|file| file.bytes).sum();
            usage.added = Some(0);
            files.sort_unstable_by_key(|file| file.used);
            for file in files {
                if usage.bytes <= max {
                    break;
                }
                // Ignore errors: another process may have removed the file already.
                let _ = fs::remove_file(&file.path);
                usage.bytes -= file.bytes;
            }
        }
        usage.bytes += bytes;
        usage.added = usage.added.map(|added| added + 1);
        Ok(())
    }

    /// Returns all files, including those that a process left unfinished.
    fn files(&self) -> io::Result<Vec<Found>> {
        let entries = fs::read_dir(&self.settings.directory)?;
        let found = entries.filter_map(|entry| {
            let entry = entry.ok()?;
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            let used = metadata.modified().ok()?;
            Some(Found { used, bytes: metadata.len(), path: entry.path() })
        });
        Ok(found.collect())
    }
}
