//! The file in which the usage of VMs is saved.
//!
//! A file that can't be read doesn't keep the broker from serving VMs. It's renamed, so that an
//! operator can repair it, and counting begins at zero.

use std::io;

use serde::Deserialize;

use super::record::{Record, VERSION};
use crate::settings::state::{StateDir, StateError};

/// The usage that was read from the state directory.
pub(crate) struct Loaded {
    pub(crate) record: Record,
    /// False if a file is in the way that can't be read and can't be renamed, so it must not be
    /// replaced.
    pub(crate) may_save: bool,
}

/// Reads the saved usage. If the file can't be read, sets it aside.
pub(crate) fn load(dir: &StateDir, now_ms: u64) -> Loaded {
    let read = dir.read_usage().map_err(|error| error.to_string());
    let reason = match read.and_then(|text| text.map(|text| decode(&text)).transpose()) {
        Ok(found) => {
            let record = found.unwrap_or_else(|| Record::new(now_ms));
            return Loaded { record, may_save: true };
        }
        Err(reason) => reason,
    };
    let path = dir.usage_path();
    let aside = format!("usage.json.unreadable-{now_ms}");
    let moved = dir.set_usage_aside(&aside);
    let path = path.display();
    match &moved {
        Ok(()) => tracing::error!(
            "{path} can't be read ({reason}), so the usage of VMs is counted from zero; the file was \
             renamed to {aside}: keep it for billing"
        ),
        Err(error) => tracing::error!(
            "{path} can't be read ({reason}) and can't be renamed ({error}), so usage is counted from \
             zero and is not saved: move the file away and restart vcudad"
        ),
    }
    let mut record = Record::new(now_ms);
    record.set_aside = 1;
    Loaded { record, may_save: moved.is_ok() }
}

fn decode(text: &[u8]) -> Result<Record, String> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let damaged = |error: serde_json::Error| format!("it is damaged: {error}");
    let Version { version } = serde_json::from_slice(text).map_err(damaged)?;
    if version > VERSION {
        return Err(format!(
            "it has version {version}, but this vcudad supports up to {VERSION}: a newer vcudad wrote it"
        ));
    }
    let record: Record = serde_json::from_slice(text).map_err(damaged)?;
    Ok(record.restored())
}

/// Saves the usage. If that fails, the file keeps its previous contents.
pub(crate) fn save(dir: &StateDir, record: &Record) -> Result<(), StateError> {
    let mut text = serde_json::to_vec(record).map_err(io::Error::from);
    if let Ok(text) = &mut text {
        text.push(b'\n');
    }
    let text =
        text.map_err(|source| StateError::Os { what: "encode", path: dir.usage_path(), source })?;
    dir.write_usage(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::counters::Counters;
    use host_test_support::Folder;

    fn record() -> Record {
        let mut record = Record::new(7);
        record.add("a", "GPU-1", Counters { gpu_ns: 5, ..Counters::default() }, 9);
        record
    }

    fn asides(path: &std::path::Path) -> Vec<String> {
        let name = |entry: io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
        let names = std::fs::read_dir(path).unwrap().map(name);
        let names = names.map(|name| name.into_string().unwrap());
        names.filter(|name| name.starts_with("usage.json.unreadable")).collect()
    }

    #[test]
    fn the_next_broker_continues_with_what_was_saved() {
        let path = Folder::new("usage-next");
        let dir = StateDir::open(&path, None).unwrap();
        let first = load(&dir, 3);
        assert_eq!((first.record, first.may_save), (Record::new(3), true));
        save(&dir, &record()).unwrap();
        assert_eq!(load(&dir, 1000).record, record());
    }

    #[test]
    fn a_file_that_cannot_be_read_is_set_aside() {
        let path = Folder::new("usage-aside");
        let dir = StateDir::open(&path, None).unwrap();
        save(&dir, &record()).unwrap();
        let good = std::fs::read_to_string(path.join("usage.json")).unwrap();
        for (number, text) in [
            String::new(),
            good[..good.len() / 2].to_owned(),
            good.replace("\"version\":1", "\"version\":2,\"new\":[]"),
            good.replace("\"gpu_ns\":5", "\"gpu_ns\":-5"),
            "\u{0}".repeat(100),
        ]
        .into_iter()
        .enumerate()
        {
            std::fs::write(path.join("usage.json"), &text).unwrap();
            let loaded = load(&dir, number as u64);
            assert!(loaded.may_save && !path.join("usage.json").exists(), "{text}");
            assert_eq!((loaded.record.set_aside, asides(&path).len()), (1, number + 1), "{text}");
            let aside = path.join(format!("usage.json.unreadable-{number}"));
            assert_eq!(std::fs::read_to_string(aside).unwrap(), text);
        }
        // The broken file can't be renamed either, because there is a directory with the new name.
        std::fs::write(path.join("usage.json"), "").unwrap();
        std::fs::create_dir(path.join("usage.json.unreadable-99")).unwrap();
        assert!(!load(&dir, 99).may_save);
    }

    #[test]
    fn a_full_disk_leaves_the_saved_usage_unchanged() {
        let path = Folder::new("usage-full");
        let dir = StateDir::open(&path, None).unwrap();
        save(&dir, &record()).unwrap();
        std::os::unix::fs::symlink("/dev/full", path.join("usage.json.next")).unwrap();
        let error = save(&dir, &Record::new(1)).unwrap_err().to_string();
        assert!(error.contains("No space left"), "{error}");
        assert_eq!(load(&dir, 1000).record, record());
    }
}
