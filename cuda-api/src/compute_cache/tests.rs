use super::files::ComputeCache;
use super::settings::Settings;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// A directory that doesn't exist yet, and is removed at the end of a test.
struct Directory {
    path: PathBuf,
    _parent: TempDir,
}

impl Directory {
    fn new() -> Self {
        let parent = tempfile::tempdir().unwrap();
        Self { path: parent.path().join("cache"), _parent: parent }
    }

    fn cache(&self, max_bytes: u64) -> ComputeCache {
        ComputeCache::new(Settings { directory: self.path.clone(), max_bytes })
    }

    fn files(&self) -> Vec<PathBuf> {
        fs::read_dir(&self.path).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    fn bytes(&self) -> u64 {
        self.files().iter().map(|path| path.metadata().unwrap().len()).sum()
    }
}

fn set_age(path: &Path, seconds: u64) {
    let file = fs::File::open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
}

#[test]
fn another_process_finds_an_entry_and_only_for_the_same_key() {
    let directory = Directory::new();
    directory.cache(1 << 20).add(b"key", b"value").unwrap();
    let cache = directory.cache(1 << 20);
    assert_eq!(cache.get(b"key").as_deref(), Some(&b"value"[..]));
    assert_eq!(cache.get(b"kez"), None);
    assert_eq!(cache.get(b""), None);
    cache.add(b"key", b"").unwrap();
    assert_eq!(cache.get(b"key").as_deref(), Some(&b""[..]));
}

#[test]
fn a_damaged_or_foreign_file_is_ignored_and_replaced() {
    let directory = Directory::new();
    let cache = directory.cache(1 << 20);
    cache.add(b"key", b"value").unwrap();
    let path = directory.files().pop().unwrap();
    let content = fs::read(&path).unwrap();
    for length in 0..content.len() {
        fs::write(&path, &content[..length]).unwrap();
        assert_eq!(cache.get(b"key"), None, "{length} bytes are left");
    }
    for index in 0..content.len() {
        let mut damaged = content.clone();
        damaged[index] ^= 1;
        fs::write(&path, damaged).unwrap();
        assert_eq!(cache.get(b"key"), None, "byte {index} has changed");
    }
    cache.add(b"key", b"value").unwrap();
    assert_eq!(cache.get(b"key").as_deref(), Some(&b"value"[..]));
}

#[test]
fn a_file_with_another_key_is_not_an_entry() {
    let directory = Directory::new();
    let cache = directory.cache(1 << 20);
    cache.add(b"first", b"1").unwrap();
    let first = directory.files().pop().unwrap();
    cache.add(b"other", b"2").unwrap();
    let other = directory.files().into_iter().find(|path| *path != first).unwrap();
    // Simulate two keys with the same hash: put the file of one where the file of the other is
    // expected.
    fs::rename(first, other).unwrap();
    assert_eq!(cache.get(b"other"), None);
}

#[test]
fn entries_that_were_used_least_recently_make_room_for_new_ones() {
    let directory = Directory::new();
    let cache = directory.cache(1000);
    for name in [b"a", b"b"] {
        cache.add(name, &[0; 400]).unwrap();
    }
    for path in directory.files() {
        set_age(&path, 60);
    }
    assert!(cache.get(b"a").is_some(), "using an entry makes it recent");
    cache.add(b"c", &[0; 400]).unwrap();
    assert_eq!(cache.get(b"b"), None);
    assert!(cache.get(b"a").is_some() && cache.get(b"c").is_some());
    assert!(directory.bytes() <= 1000);
}

#[test]
fn entries_of_other_processes_count() {
    let directory = Directory::new();
    let ours = directory.cache(10_000);
    ours.add(b"ours", &[0; 100]).unwrap();
    let theirs = directory.cache(10_000);
    for number in 0..20u8 {
        theirs.add(&[number], &[0; 450]).unwrap();
    }
    for number in 100..200u8 {
        ours.add(&[number], &[0; 10]).unwrap();
    }
    assert!(directory.bytes() <= 10_000, "{}", directory.bytes());
}

#[test]
fn a_value_larger_than_the_cache_is_not_cached() {
    let directory = Directory::new();
    let cache = directory.cache(1000);
    cache.add(b"small", &[0; 10]).unwrap();
    assert!(cache.add(b"large", &[0; 1000]).is_err());
    assert_eq!(cache.get(b"large"), None);
    assert!(cache.get(b"small").is_some());
}

#[test]
fn only_the_owner_can_read_the_entries() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new();
    directory.cache(1000).add(b"key", b"value").unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory.path), 0o700);
    assert_eq!(mode(&directory.files()[0]), 0o600);
}

#[test]
fn a_directory_that_cannot_be_written_is_an_error() {
    let directory = Directory::new();
    fs::write(&directory.path, "a file").unwrap();
    let cache = directory.cache(1000);
    assert!(cache.add(b"key", b"value").is_err());
    assert_eq!(cache.get(b"key"), None);
}

/// Returns the settings in an environment.
fn read(variables: &[(&str, &str)]) -> Option<Settings> {
    Settings::read(|name| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| OsString::from(value))
    })
}

#[test]
fn the_environment_has_the_settings() {
    let settings = |directory: &str, max_bytes| {
        Some(Settings { directory: PathBuf::from(directory), max_bytes })
    };
    let home = ("HOME", "/home/user");
    let default = settings("/home/user/.nv/ComputeCache/virtio-cuda", 1 << 30);
    assert_eq!(read(&[home]), default);
    assert_eq!(read(&[home, ("CUDA_CACHE_DISABLE", "0"), ("CUDA_CACHE_PATH", "")]), default);
    assert_eq!(read(&[home, ("CUDA_CACHE_DISABLE", "1")]), None);
    assert_eq!(
        read(&[home, ("CUDA_CACHE_PATH", "/cache"), ("CUDA_CACHE_MAXSIZE", "4096")]),
        settings("/cache/virtio-cuda", 4096)
    );
    assert_eq!(
        read(&[home, ("CUDA_CACHE_MAXSIZE", "99999999999")]).unwrap().max_bytes,
        4 << 30,
        "CUDA's maximum is 4 GiB"
    );
    assert_eq!(read(&[]), None, "there is no place for the files");
}
