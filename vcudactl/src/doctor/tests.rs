//! Tests the checks with fake hosts that consist of a few files.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

/// A host whose files are in a temporary directory.
struct Fake(PathBuf);

impl Fake {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("virtio-cuda-doctor-{}-{number}", std::process::id());
        let root = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&root).unwrap();
        Self(root)
    }

    /// Creates a fake host on which all checks succeed.
    fn healthy() -> Self {
        let fake = Self::new();
        for (path, text) in [
            ("sys/module/nvidia/version", "580.159.04\n"),
            ("sys/module/nvidia_uvm/parameters/uvm_disable_hmm", "Y\n"),
            ("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n"),
            ("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n"),
            ("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module\n"),
            ("proc/driver/nvidia/gpus/0000:01:00.0/information", ""),
            ("proc/self/status", "Uid:\t1000\t1000\t1000\t1000\nGroups:\t27 998 \n"),
            ("proc/1/comm", "systemd\n"),
            ("dev/nvidiactl", ""),
            ("dev/nvidia-uvm", ""),
            ("dev/nvidia0", ""),
            ("usr/lib64/libcuda.so.580.159.04", ""),
            ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory hugetlb pids\n"),
            ("etc/group", "root:x:0:\nvirtio-cuda:x:998:op\n"),
        ] {
            fake.write(path, text);
        }
        for name in ["nvidiactl", "nvidia-uvm", "nvidia0"] {
            fake.mode(&format!("dev/{name}"), 0o666);
        }
        symlink("libcuda.so.580.159.04", fake.0.join("usr/lib64/libcuda.so.1")).unwrap();
        for name in ["net", "ipc", "uts", "mnt", "pid", "user"] {
            fake.write(&format!("proc/self/ns/{name}"), "");
            fake.write(&format!("proc/sys/user/max_{name}_namespaces"), "127000\n");
        }
        fake.program("qemu-system-x86_64", "QEMU emulator version 11.1.0 (Debian 1:11.1.0+ds-1)");
        fake.program("cloud-hypervisor", "cloud-hypervisor v53.0");
        fake
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn mode(&self, path: &str, mode: u32) {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.0.join(path), mode).unwrap();
    }

    fn remove(&self, path: &str) {
        std::fs::remove_file(self.0.join(path)).unwrap();
    }

    fn program(&self, name: &str, says: &str) {
        let path = format!("bin/{name}");
        self.write(&path, &format!("#!/bin/sh\necho '{says}'\n"));
        self.mode(&path, 0o755);
    }

    fn host(&self) -> Host {
        Host::at(&self.0)
    }

    /// Runs the checks on the fake host, and returns the finding of one of them.
    fn finding(&self, check: &str) -> Finding {
        let mut findings = check_host(&self.host()).into_iter();
        findings.find(|finding| finding.check == check).unwrap()
    }

    #[track_caller]
    fn expect(&self, check: &str, status: Status, says: &str) {
        let finding = self.finding(check);
        assert_eq!(finding.status, status, "{finding:?}");
        assert!(finding.line().contains(says), "{finding:?}");
        assert_eq!(finding.advice.is_some(), status != Status::Ok, "{finding:?}");
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_healthy_host_passes_all_checks() {
    let fake = Fake::healthy();
    for finding in check_host(&fake.host()) {
        assert_eq!((finding.status, finding.advice.as_ref()), (Status::Ok, None), "{finding:?}");
    }
    fake.expect("driver", Status::Ok, "580.159.04");
    fake.expect("device files", Status::Ok, "1 GPUs");
    fake.expect("QEMU", Status::Ok, "11.1");
}

#[test]
fn an_empty_host_has_warnings_only() {
    let fake = Fake::new();
    let findings = check_host(&fake.host());
    assert!(findings.iter().all(|finding| finding.status != Status::Fail), "{findings:?}");
    for check in ["driver", "cgroups", "namespaces", "QEMU", "cloud-hypervisor", "group"] {
        assert_eq!(fake.finding(check).status, Status::Warn, "{check}");
    }
}

#[test]
fn problems_of_the_driver_are_found() {
    let fake = Fake::healthy();
    fake.mode("dev/nvidia0", 0o660);
    fake.expect("device files", Status::Fail, "can't open /dev/nvidia0:");
    fake.remove("dev/nvidia-uvm");
    fake.expect("device files", Status::Fail, "missing: /dev/nvidia-uvm:");
    fake.remove("dev/nvidia0");
    fake.expect("device files", Status::Fail, "/dev/nvidia* for 1 of 1 GPUs");
    fake.write("sys/module/nvidia/version", "590.10\n");
    fake.expect("driver", Status::Fail, "has version 580.159.04, but the kernel driver 590.10");
    fake.remove("usr/lib64/libcuda.so.1");
    fake.expect("driver", Status::Fail, "there is no libcuda.so.1");
    // The linker's configuration can contain other directories, in which the library must be found,
    // too.
    fake.write("etc/ld.so.conf.d/nvidia.conf", "# NVIDIA\n/opt/nvidia\n");
    fake.write("opt/nvidia/libcuda.so.1", "");
    fake.expect("driver", Status::Ok, "of unknown version");
    fake.remove("sys/module/nvidia/version");
    fake.expect("driver", Status::Fail, "1 NVIDIA GPUs, but NVIDIA's kernel driver isn't loaded");
}

#[test]
fn hmm_is_a_warning_unless_it_is_off_or_unsupported() {
    let fake = Fake::healthy();
    fake.write("sys/module/nvidia_uvm/parameters/uvm_disable_hmm", "N\n");
    fake.expect("pageable memory", Status::Warn, "uvm_disable_hmm=1");
    fake.write("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module\n");
    fake.expect("pageable memory", Status::Ok, "proprietary");
    fake.write("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module\n");
    fake.remove("sys/module/nvidia_uvm/parameters/uvm_disable_hmm");
    fake.expect("pageable memory", Status::Warn, "modprobe nvidia_uvm");
}

#[test]
fn a_control_daemon_of_mps_is_a_warning_without_vcudad() {
    let fake = Fake::healthy();
    fake.write("proc/77/comm", "nvidia-cuda-mps\n");
    fake.expect("MPS", Status::Warn, "is running (77)");
    fake.write("proc/78/comm", "vcudad\n");
    fake.expect("MPS", Status::Ok, "(77)");
}

#[test]
fn missing_features_of_the_kernel_are_found() {
    let fake = Fake::healthy();
    fake.write("sys/fs/cgroup/cgroup.controllers", "cpuset cpu pids\n");
    fake.expect("cgroups", Status::Warn, "lacks the controllers memory");
    fake.remove("sys/fs/cgroup/cgroup.controllers");
    fake.expect("cgroups", Status::Warn, "no cgroup v2");
    // This is the layout of systemd's hybrid hierarchy.
    fake.write("sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n");
    fake.expect("cgroups", Status::Warn, "cgroup v1 has the controllers cpu, memory, pids");
    fake.write("sys/fs/cgroup/unified/cgroup.controllers", "cpu memory pids\n");
    fake.expect("cgroups", Status::Ok, "cgroup v2 at /sys/fs/cgroup/unified");
    fake.write("proc/sys/user/max_user_namespaces", "0\n");
    fake.expect("namespaces", Status::Ok, "but not user");
    fake.write("proc/sys/user/max_net_namespaces", "0\n");
    fake.expect("namespaces", Status::Warn, "not available: net");
}

#[test]
fn old_vmms_are_found() {
    let fake = Fake::healthy();
    fake.program("qemu-system-x86_64", "QEMU emulator version 8.2.2");
    fake.expect("QEMU", Status::Warn, "8.2, too old");
    fake.program("cloud-hypervisor", "cloud-hypervisor v51.1");
    fake.expect("cloud-hypervisor", Status::Warn, "51.1, too old");
    fake.program("cloud-hypervisor", "?");
    fake.expect("cloud-hypervisor", Status::Warn, "reports no version");
    for (line, expected) in [
        ("cloud-hypervisor v52.0-12-gabc", Some((52, 0))),
        ("QEMU emulator version 10.2.50", Some((10, 2))),
        ("no version 1", None),
        ("", None),
    ] {
        assert_eq!(vmm::version(line), expected, "{line}");
    }
}

#[test]
fn the_oldest_versions_are_those_in_the_documentation() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/vmm.md");
    let text = std::fs::read_to_string(file).unwrap();
    let (major, minor) = vmm::QEMU;
    assert!(text.contains(&format!("| QEMU with KVM | {major}.{minor} |")));
    let (major, _) = vmm::CLOUD_HYPERVISOR;
    assert!(text.contains(&format!("| cloud-hypervisor | {major} |")));
}

#[test]
fn the_callers_group_is_checked() {
    let fake = Fake::healthy();
    fake.write("proc/self/status", "Uid:\t1000\t1000\t1000\t1000\nGroups:\t27 \n");
    fake.expect("group", Status::Warn, "members now: op");
    fake.write("etc/group", "virtio-cuda:x:998:op\nvirtio-cuda-read:x:997:\n");
    fake.expect("group", Status::Warn, "you aren't in virtio-cuda");
    fake.write("proc/self/status", "Uid:\t1000\t1000\t1000\t1000\nGroups:\t27 997 \n");
    fake.expect("group", Status::Ok, "you can read, but change nothing");
    fake.write("etc/group", "root:x:0:\n");
    fake.expect("group", Status::Warn, "groupadd");
    fake.write("etc/group", "virtio-cuda:x:998:\n");
    fake.write("proc/self/status", "Uid:\t0\t0\t0\t0\nGroups:\t0 \n");
    fake.expect("group", Status::Ok, "root");
}
