//! The GPUs that a container has. The guest package's CDI specification gives a container the file
//! `/dev/nvidiaN` for each GPU that it may use, as NVIDIA's specification does. Each of these files
//! is another name for the virtio-cuda device. If there is no such file, for example outside of
//! containers, a program may use all GPUs.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Returns the GPUs whose files exist, or `None` if the program may use all GPUs.
pub fn given() -> Option<BTreeSet<i32>> {
    given_in(Path::new("/dev"), "virtio-cuda0")
}

fn given_in(folder: &Path, device: &str) -> Option<BTreeSet<i32>> {
    let device = std::fs::metadata(folder.join(device)).ok()?.rdev();
    let number = |entry: std::fs::DirEntry| {
        let number = entry.file_name().to_str()?.strip_prefix("nvidia")?.parse().ok()?;
        // Ignore a file of another device: on a host, a file with this name belongs to NVIDIA's
        // driver.
        let rdev = std::fs::metadata(entry.path()).ok()?.rdev();
        (rdev == device).then_some(number)
    };
    let given: BTreeSet<i32> =
        std::fs::read_dir(folder).ok()?.flatten().filter_map(number).collect();
    (!given.is_empty()).then_some(given)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_names_of_the_device_select_gpus() {
        let folder = std::env::temp_dir().join(format!("gpu-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(given_in(&folder, "virtio-cuda0"), None);
        let file = |name: &str, device: &str| symlink(device, folder.join(name)).unwrap();
        file("virtio-cuda0", "/dev/null");
        file("nvidiactl", "/dev/null");
        file("nvidia7", "/dev/zero");
        assert_eq!(given_in(&folder, "virtio-cuda0"), None);
        file("nvidia1", "/dev/null");
        file("nvidia12", "/dev/null");
        assert_eq!(given_in(&folder, "virtio-cuda0"), Some(BTreeSet::from([1, 12])));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
