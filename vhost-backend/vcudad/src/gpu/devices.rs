//! The device files of GPUs, which a worker gets in its jail.

use std::fs;
use std::path::{Path, PathBuf};

/// Devices through which NVIDIA's libraries reach the kernel driver, on Linux and on WSL.
const CONTROL: [&str; 3] = ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/dxg"];
/// The device files of MIG slices.
const CAPABILITIES: &str = "/dev/nvidia-caps";
/// A directory per GPU, named by its PCI address, with a file that contains the number of its
/// device file.
const GPUS: &str = "/proc/driver/nvidia/gpus";

/// Returns the device files that a worker needs for the GPUs with these PCI addresses. `slices` is
/// true if they are MIG slices.
pub(crate) fn devices<'a>(
    addresses: impl IntoIterator<Item = &'a str>,
    slices: bool,
) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = CONTROL.iter().map(PathBuf::from).collect();
    let minors: Option<Vec<u32>> = addresses.into_iter().map(minor).collect();
    match minors {
        Some(minors) => {
            all.extend(minors.iter().map(|minor| PathBuf::from(format!("/dev/nvidia{minor}"))));
        }
        // The driver doesn't say which file belongs to which GPU, so include the files of all GPUs.
        None => all.extend(files("/dev").into_iter().filter(|path| is_gpu(path))),
    }
    if slices {
        all.extend(files(CAPABILITIES));
    }
    all
}

/// Returns the minor number of a GPU's device file.
fn minor(address: &str) -> Option<u32> {
    let file = Path::new(GPUS).join(address.to_ascii_lowercase()).join("information");
    minor_in(&fs::read_to_string(file).ok()?)
}

fn minor_in(information: &str) -> Option<u32> {
    information.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key == "Device Minor").then(|| value.trim().parse().ok())?
    })
}

fn is_gpu(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let number = name.and_then(|name| name.strip_prefix("nvidia"));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

fn files(directory: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_gets_the_device_files_of_its_own_gpus() {
        // The format of NVIDIA's driver 580.
        let text = "Model: \t\t NVIDIA H200\nBus Type: \t PCIe\nBus Location: \t 0000:1b:00.0\n\
                    Device Minor: \t 3\nGPU Excluded:\t No\n";
        assert_eq!(minor_in(text), Some(3));
        assert_eq!(minor_in("Device Minor: \t none\n"), None);
        assert_eq!(minor_in(""), None);
    }

    #[test]
    fn only_gpus_count_as_gpus() {
        for name in ["nvidia0", "nvidia15"] {
            assert!(is_gpu(&Path::new("/dev").join(name)), "{name}");
        }
        for name in ["nvidiactl", "nvidia-uvm", "nvidia-modeset", "nvidia", "null"] {
            assert!(!is_gpu(&Path::new("/dev").join(name)), "{name}");
        }
    }
}
