//! Checks NVIDIA's driver: the library, the device files, HMM, and MPS.

use std::path::PathBuf;

use super::finding::Finding;
use super::host::Host;

const LIBRARY: &str = "libcuda.so.1";
const MPS_DAEMON: &str = "nvidia-cuda-mps-control";
/// The default directories of the dynamic linker. It searches them after those in its
/// configuration.
const LIBRARY_FOLDERS: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/lib64",
    "/usr/lib",
    "/lib",
];

/// Returns the version of NVIDIA's kernel driver, if it's loaded.
fn kernel_driver(host: &Host) -> Option<String> {
    host.read("/sys/module/nvidia/version")
}

/// Returns the number of NVIDIA GPUs on the PCI bus. This works without a driver.
fn gpus_on_the_bus(host: &Host) -> usize {
    let folder = "/sys/bus/pci/devices";
    let devices = host.list(folder);
    let is = |device: &str, file: &str, prefix: &str| {
        host.read(&format!("{folder}/{device}/{file}")).is_some_and(|text| text.starts_with(prefix))
    };
    // PCI class 3 contains display controllers. It includes GPUs without a display output.
    devices.iter().filter(|name| is(name, "vendor", "0x10de") && is(name, "class", "0x03")).count()
}

/// Finds the driver library in the same directories as the dynamic linker.
fn find_library(host: &Host) -> Option<PathBuf> {
    let files = host.list("/etc/ld.so.conf.d");
    let files = files.iter().filter(|name| name.ends_with(".conf"));
    let texts = files.filter_map(|name| host.read(&format!("/etc/ld.so.conf.d/{name}")));
    let texts: Vec<String> = texts.chain(host.read("/etc/ld.so.conf")).collect();
    let lines = texts.iter().flat_map(|text| text.lines()).map(str::trim);
    let folders = lines.filter(|line| line.starts_with('/')).chain(LIBRARY_FOLDERS);
    folders.map(|folder| host.place(folder).join(LIBRARY)).find(|path| path.is_file())
}

/// Returns the version of a driver library. It's part of the name of the file to which the
/// library's symbolic link refers.
fn library_version(library: &PathBuf) -> Option<String> {
    let file = std::fs::canonicalize(library).ok()?;
    let version = file.file_name()?.to_str()?.strip_prefix("libcuda.so.")?;
    version.contains('.').then(|| version.to_owned())
}

/// Checks that the driver library and the kernel driver exist, and that their versions match.
pub(super) fn library(host: &Host) -> Finding {
    const CHECK: &str = "driver";
    let (kernel, library) = (kernel_driver(host), find_library(host));
    let gpus = gpus_on_the_bus(host);
    let version = library.as_ref().and_then(library_version);
    match (kernel, library) {
        (None, _) if gpus > 0 => Finding::fail(
            CHECK,
            format!("this host has {gpus} NVIDIA GPUs, but NVIDIA's kernel driver isn't loaded"),
            "install the driver, then run modprobe nvidia nvidia_uvm; dmesg shows errors",
        ),
        (None, None) => Finding::warn(
            CHECK,
            "no NVIDIA GPU and no driver",
            "vcudad uses softgpu, which runs kernels on the CPU",
        ),
        (None, Some(path)) => Finding::warn(
            CHECK,
            format!("{}, but no NVIDIA GPU", path.display()),
            "vcudad uses softgpu, which runs kernels on the CPU",
        ),
        (Some(kernel), None) => Finding::fail(
            CHECK,
            format!("the kernel driver {kernel} is loaded, but there is no {LIBRARY}"),
            "install the driver's libraries of the same version, or set driver_library",
        ),
        (Some(kernel), Some(path)) => match version {
            Some(version) if version != kernel => Finding::fail(
                CHECK,
                format!("{} has version {version}, but the kernel driver {kernel}", path.display()),
                "reboot, or reload the kernel driver: it was upgraded while it was in use",
            ),
            Some(version) => Finding::ok(CHECK, format!("{version}, {}", path.display())),
            None => Finding::ok(CHECK, format!("{kernel}, {} of unknown version", path.display())),
        },
    }
}

/// Checks that the device files exist that workers need.
pub(super) fn device_files(host: &Host) -> Finding {
    const CHECK: &str = "device files";
    if kernel_driver(host).is_none() {
        return Finding::ok(CHECK, "not needed, because NVIDIA's kernel driver isn't loaded");
    }
    let is_gpu = |name: &String| {
        let number = name.strip_prefix("nvidia").unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let gpus: Vec<String> = host.list("/dev").into_iter().filter(is_gpu).collect();
    let count = gpus.len();
    let expected = host.list("/proc/driver/nvidia/gpus").len();
    let needed = ["/dev/nvidiactl", "/dev/nvidia-uvm"].map(str::to_owned);
    let mut missing: Vec<String> =
        needed.iter().filter(|path| !host.exists(path)).cloned().collect();
    if count == 0 || count < expected {
        missing.push(format!(
            "/dev/nvidia* for {} of {expected} GPUs",
            expected - count.min(expected)
        ));
    }
    if missing.is_empty() {
        let all = needed.into_iter().chain(gpus.into_iter().map(|name| format!("/dev/{name}")));
        let closed: Vec<String> = all.filter(|path| !host.is_open_to_all(path)).collect();
        if !closed.is_empty() {
            return Finding::fail(
                CHECK,
                format!("workers, which aren't root, can't open {}", closed.join(", ")),
                "set their mode to 0666: options nvidia NVreg_DeviceFileMode=0666 in \
                 /etc/modprobe.d, or chmod until the next boot",
            );
        }
        return Finding::ok(CHECK, format!("/dev/nvidiactl, /dev/nvidia-uvm, and {count} GPUs"));
    }
    Finding::fail(
        CHECK,
        format!("missing: {}", missing.join(", ")),
        "run nvidia-modprobe -u -c 0 for each GPU, or start nvidia-persistenced",
    )
}

/// Checks whether kernels can probably access all memory of their worker (HMM). Only the driver
/// knows for certain. vcudad queries it at startup.
pub(super) fn pageable_memory(host: &Host) -> Finding {
    const CHECK: &str = "pageable memory";
    if kernel_driver(host).is_none() {
        return Finding::ok(CHECK, "no HMM, because NVIDIA's kernel driver isn't loaded");
    }
    let version = host.read("/proc/driver/nvidia/version").unwrap_or_default();
    let is_off = host.read("/sys/module/nvidia_uvm/parameters/uvm_disable_hmm");
    match is_off.as_deref() {
        Some("Y" | "1") => Finding::ok(CHECK, "HMM is off (uvm_disable_hmm)"),
        // NVIDIA's proprietary kernel driver doesn't support HMM. Only the open one does.
        _ if !version.is_empty() && !version.contains("Open Kernel Module") => {
            Finding::ok(CHECK, "no HMM in the proprietary kernel driver")
        }
        Some(_) => Finding::warn(
            CHECK,
            "HMM isn't turned off, so the driver may let kernels access all memory of their worker",
            "if so, vcudad doesn't start; set options nvidia_uvm uvm_disable_hmm=1 in \
             /etc/modprobe.d, and reload nvidia_uvm",
        ),
        None => Finding::warn(
            CHECK,
            "unknown, because nvidia_uvm isn't loaded or has no parameter uvm_disable_hmm",
            "run modprobe nvidia_uvm; vcudad checks this again when it starts",
        ),
    }
}

/// Reports whether an MPS control daemon runs. vcudad starts its own daemons for VMs with `sharing
/// = "mps"`, and VMs never use any other daemon.
pub(super) fn mps(host: &Host) -> Finding {
    const CHECK: &str = "MPS";
    let running = host.processes(MPS_DAEMON);
    let is_serving = !host.processes("vcudad").is_empty();
    match (running.is_empty(), host.program(MPS_DAEMON)) {
        (true, None) => Finding::ok(
            CHECK,
            format!("{MPS_DAEMON} isn't installed; only VMs with sharing = \"mps\" need it"),
        ),
        (true, Some(path)) => Finding::ok(CHECK, format!("not running; {}", path.display())),
        (false, _) if is_serving => Finding::ok(
            CHECK,
            format!("control daemon running ({}); VMs use only vcudad's own", running.join(", ")),
        ),
        (false, _) => Finding::warn(
            CHECK,
            format!("a control daemon is running ({}) without vcudad", running.join(", ")),
            "programs of the host that use it share the GPUs with VMs without quotas; to stop it: \
             echo quit | nvidia-cuda-mps-control",
        ),
    }
}
