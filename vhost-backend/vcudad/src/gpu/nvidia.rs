//! Decides whether `driver_library = "auto"` means NVIDIA's library or softgpu. softgpu runs every
//! program, but slowly, so it must never be used in place of a GPU whose driver doesn't work.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Device nodes of NVIDIA's driver on Linux, and of the GPU in WSL.
const NODES: [&str; 2] = ["dev/nvidiactl", "dev/dxg"];
/// PCI vendor ID, as in sysfs.
const VENDOR: &str = "0x10de";
/// PCI base class of display controllers, which include those without outputs ("3D controllers").
/// NVIDIA also makes bridges, audio devices, and network adapters.
const DISPLAY: &str = "0x03";
/// How often to check whether the driver has created its device node.
const POLL: Duration = Duration::from_millis(200);

/// Returns the path of NVIDIA's library. If the host seems to have no NVIDIA GPU, logs the reason
/// for this conclusion and returns `None`. Fails if the host has a GPU that can't be used. If a
/// GPU's driver isn't ready, as may happen while the host boots, waits for the driver. `probe`
/// initializes the library, and `root` is the host's root directory.
pub(crate) fn find(
    root: &Path,
    wait: Duration,
    probe: impl FnOnce() -> Result<PathBuf, String>,
) -> Result<Option<PathBuf>, String> {
    let ready = || NODES.iter().any(|node| root.join(node).exists());
    if hardware(root).is_some() && !ready() {
        tracing::info!("waiting up to {} s for NVIDIA's driver", wait.as_secs());
        let since = Instant::now();
        while !ready() && since.elapsed() < wait {
            std::thread::sleep(POLL);
        }
    }
    // If neither device node exists, NVIDIA's driver isn't loaded. Any libcuda.so.1 that the
    // dynamic loader finds is then a different library.
    let found = if ready() { probe() } else { Err("/dev/nvidiactl does not exist".into()) };
    let reason = match found {
        Ok(library) => return Ok(Some(library)),
        Err(reason) => reason,
    };
    // Look for hardware again, because the driver may have been loaded since the first check.
    let Some(hardware) = hardware(root) else {
        tracing::info!("no NVIDIA device: {reason}");
        return Ok(None);
    };
    Err(format!(
        "driver_library = \"auto\": this host has {hardware}, but NVIDIA's driver does not work: \
         {reason}. Repair the driver (nvidia-smi must list the GPU), or set driver_library = \
         \"softgpu\" to run programs on the CPU"
    ))
}

/// Describes an NVIDIA GPU of the host, or the loaded driver. Returns `None` if there is neither.
fn hardware(root: &Path) -> Option<String> {
    let devices = fs::read_dir(root.join("sys/bus/pci/devices")).into_iter().flatten().flatten();
    let mut gpus: Vec<_> = devices.map(|entry| entry.path()).filter(|path| is_gpu(path)).collect();
    gpus.sort();
    if let Some(gpu) = gpus.first() {
        let address = gpu.file_name().unwrap_or_default().display();
        let driver = fs::read_link(gpu.join("driver")).ok();
        let driver = driver.as_deref().and_then(Path::file_name).map_or_else(
            || "without a driver".into(),
            |driver| format!("with the driver {}", driver.display()),
        );
        return Some(format!("an NVIDIA GPU ({address}, {driver})"));
    }
    ["proc/driver/nvidia", "dev/nvidiactl"]
        .iter()
        .find(|path| root.join(path).exists())
        .map(|path| format!("NVIDIA's kernel driver (/{path})"))
}

fn is_gpu(device: &Path) -> bool {
    let starts = |file: &str, prefix: &str| {
        fs::read_to_string(device.join(file)).is_ok_and(|text| text.starts_with(prefix))
    };
    starts("vendor", VENDOR) && starts("class", DISPLAY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_test_support::Folder;

    /// A directory with the files of a host.
    struct Root(Folder);

    impl Root {
        fn new(name: &str) -> Self {
            Self(Folder::new(&format!("nvidia-{name}")))
        }

        fn file(self, path: &str, text: &str) -> Self {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            self
        }

        fn pci(self, address: &str, vendor: &str, class: &str) -> Self {
            let device = format!("sys/bus/pci/devices/{address}");
            self.file(&format!("{device}/vendor"), vendor).file(&format!("{device}/class"), class)
        }

        fn find(&self, probed: Result<&str, &str>) -> Result<Option<PathBuf>, String> {
            find(&self.0, Duration::ZERO, || {
                probed.map(PathBuf::from).map_err(|reason| reason.to_owned())
            })
        }
    }

    const LIBRARY: Result<&str, &str> = Ok("/usr/lib/libcuda.so.1");
    const BROKEN: Result<&str, &str> = Err("cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH");

    #[test]
    fn without_a_gpu_softgpu_is_used() {
        // This host has a network adapter and an audio device by NVIDIA, and a GPU by another
        // vendor.
        let root = Root::new("none")
            .pci("0000:01:00.0", "0x10de\n", "0x020000\n")
            .pci("0000:02:00.1", "0x10de\n", "0x040300\n")
            .pci("0000:03:00.0", "0x1002\n", "0x030000\n");
        assert_eq!(root.find(LIBRARY), Ok(None));
    }

    #[test]
    fn a_gpu_whose_driver_is_not_loaded_is_an_error() {
        for (name, class) in [("display", "0x030000\n"), ("3d", "0x030200\n")] {
            let root = Root::new(name).pci("0000:41:00.0", "0x10de\n", class);
            let error = root.find(LIBRARY).unwrap_err();
            for part in ["0000:41:00.0, without a driver", "/dev/nvidiactl", "\"softgpu\""] {
                assert!(error.contains(part), "{error}");
            }
        }
    }

    #[test]
    fn the_error_names_the_driver_that_has_the_gpu() {
        let root = Root::new("vfio").pci("0000:41:00.0", "0x10de\n", "0x030200\n");
        let link = root.0.join("sys/bus/pci/devices/0000:41:00.0/driver");
        std::os::unix::fs::symlink("../../../bus/pci/drivers/vfio-pci", link).unwrap();
        let error = root.find(LIBRARY).unwrap_err();
        assert!(error.contains("0000:41:00.0, with the driver vfio-pci"), "{error}");
    }

    #[test]
    fn a_library_that_fails_is_an_error() {
        for (name, file) in [("proc", "proc/driver/nvidia/version"), ("node", "dev/nvidiactl")] {
            let root = Root::new(name).file("dev/nvidiactl", "").file(file, "");
            let error = root.find(BROKEN).unwrap_err();
            assert!(error.contains("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"), "{error}");
        }
    }

    #[test]
    fn a_driver_that_is_loaded_but_has_no_node_is_an_error() {
        let root = Root::new("unready").file("proc/driver/nvidia/version", "NVRM");
        let error = root.find(LIBRARY).unwrap_err();
        assert!(error.contains("/proc/driver/nvidia"), "{error}");
    }

    /// Every GPU in WSL has the node /dev/dxg, so that node alone doesn't mean that there is an
    /// NVIDIA GPU.
    #[test]
    fn without_nvidia_s_library_in_wsl_softgpu_is_used() {
        let root = Root::new("wsl").file("dev/dxg", "");
        assert_eq!(root.find(BROKEN), Ok(None));
        assert_eq!(root.find(LIBRARY), Ok(Some("/usr/lib/libcuda.so.1".into())));
    }

    #[test]
    fn a_driver_that_becomes_ready_is_used() {
        let root = Root::new("boot").pci("0000:41:00.0", "0x10de\n", "0x030200\n");
        let node = root.0.join("dev/nvidiactl");
        let found = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(POLL / 2);
                fs::create_dir_all(node.parent().unwrap()).unwrap();
                fs::write(&node, "").unwrap();
            });
            find(&root.0, Duration::from_secs(60), || Ok("libcuda.so.1".into()))
        });
        assert_eq!(found, Ok(Some("libcuda.so.1".into())));
    }
}
