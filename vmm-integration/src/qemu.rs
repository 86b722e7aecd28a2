//! QEMU's command line.

use std::path::PathBuf;
use std::process::Command;

use crate::error::{RunError, existing};
use crate::files::{cache, given_or};
use crate::initramfs;
use crate::options::Options;
use crate::process::CHANNEL_FD;

/// The guest's device node for the serial line to the host: the first port of a virtio console,
/// which is a hundred times as fast as an emulated serial port.
pub const CHANNEL: &str = "/dev/vport0p1";
/// QEMU's generic vhost-user device model. It can be used on the command line since QEMU 10.2.
pub const DEVICE: &str = "vhost-user-test-device-pci";
/// Number of virtqueues.
pub const QUEUES: u32 = 3;
/// Size of each virtqueue; QEMU's maximum.
pub const QUEUE_SIZE: u32 = 1024;
/// Size of the device's config space in bytes.
pub const CONFIG_SIZE: u32 = 64;

/// QEMU's message when KVM fails. The guest is then stopped, but QEMU keeps running.
pub const KVM_LOST: &str = "KVM internal error";

/// The system that the guest boots.
#[derive(Clone, Debug)]
pub enum Boot {
    /// A kernel, and an initramfs that contains the job.
    Kernel {
        /// Path of the kernel, a bzImage.
        kernel: PathBuf,
        /// An initramfs from [`initramfs::build`].
        initrd: PathBuf,
    },
    /// A disk built by images/disk.sh.
    Disk {
        /// A qcow2 image, which isn't modified.
        image: PathBuf,
        /// An archive from [`crate::tar::archive`].
        archive: PathBuf,
    },
}

/// The options of one guest under QEMU.
#[derive(Clone, Debug)]
pub struct Qemu {
    /// Path of the QEMU program, qemu-system-x86_64.
    pub binary: PathBuf,
    /// Whether to use KVM instead of TCG.
    pub kvm: bool,
    /// Guest memory in bytes.
    pub memory: u64,
    /// Number of guest CPUs.
    pub cpus: u32,
    /// The device's socket and virtio id.
    pub device: Option<(PathBuf, u32)>,
    /// The system that the guest boots.
    pub boot: Boot,
    /// Text to append to the kernel command line.
    pub append: Option<String>,
}

impl Qemu {
    /// Returns QEMU's arguments.
    pub fn arguments(&self) -> Vec<String> {
        let memory = self.memory >> 20;
        let mut words: Vec<String> = Vec::new();
        let mut add = |text: &str| words.extend(text.split(' ').map(String::from));
        add("-nodefaults -no-user-config -display none -no-reboot");
        // The device maps guest memory, so that memory must be shared.
        add("-M q35,memory-backend=mem");
        add(&format!("-object memory-backend-memfd,id=mem,size={memory}M,share=on -m {memory}M"));
        add(&format!("-smp {}", self.cpus));
        add(match self.kvm {
            true => "-accel kvm -cpu host",
            false => "-accel tcg,thread=multi -cpu max",
        });
        // Connect the guest's console to QEMU's standard output, which vcuda-run redirects to the
        // log.
        add("-chardev stdio,id=console,signal=off -serial chardev:console");
        add(&format!("-chardev socket,id=line,fd={CHANNEL_FD} -device virtio-serial-pci"));
        add("-device virtserialport,chardev=line,nr=1,name=vcuda-run");
        if let Some((socket, id)) = &self.device {
            add(&device_arguments(&socket.display().to_string(), *id));
        }
        match &self.boot {
            Boot::Kernel { kernel, initrd } => {
                let mut append =
                    format!("console=ttyS0 loglevel=4 panic=-1 rdinit={}", initramfs::INIT);
                if let Some(more) = &self.append {
                    append = format!("{append} {more}");
                }
                append = format!("{append} -- guest-init {}", initramfs::JOB);
                let paths = [kernel, initrd].map(|path| path.display().to_string());
                let [kernel, initrd] = paths;
                words.extend([
                    "-kernel".into(),
                    kernel,
                    "-initrd".into(),
                    initrd,
                    "-append".into(),
                    append,
                ]);
            }
            Boot::Disk { image, archive } => {
                let drive = |id: &str, format: &str, rest: &str, path: &PathBuf| {
                    // In QEMU's options, a literal comma must be doubled.
                    let path = path.display().to_string().replace(',', ",,");
                    [
                        "-drive".to_string(),
                        format!("if=none,id={id},format={format},{rest},file={path}"),
                    ]
                };
                words.extend(drive("root", "qcow2", "snapshot=on", image));
                words.extend(drive("run", "raw", "readonly=on", archive));
                let devices = "-device virtio-blk-pci,drive=root -device virtio-blk-pci,drive=run,serial=vcuda-run";
                words.extend(devices.split(' ').map(String::from));
            }
        }
        words
    }

    /// Returns the command that starts QEMU.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(self.arguments());
        command
    }
}

/// Returns the arguments that attach the device. They can be added to any QEMU command line with
/// shared memory.
pub fn device_arguments(socket: &str, id: u32) -> String {
    let socket = socket.replace(',', ",,");
    format!(
        "-chardev socket,id=vcuda,path={socket} -device {DEVICE},chardev=vcuda,virtio-id={id},num_vqs={QUEUES},vq_size={QUEUE_SIZE},config_size={CONFIG_SIZE}"
    )
}

/// Finds the QEMU binary: given by `--qemu`, or in the cache, or in PATH.
pub fn binary(options: &Options) -> Result<PathBuf, RunError> {
    if let Some(path) = &options.qemu {
        return existing("--qemu", path);
    }
    let bundled = cache().join("qemu/current/bin/qemu-system-x86_64");
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::iter::once(bundled)
        .chain(std::env::split_paths(&paths).map(|folder| folder.join("qemu-system-x86_64")))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            RunError::Usage(
                "qemu-system-x86_64 is not in PATH: give --qemu, or run images/qemu.sh to install it"
                    .into(),
            )
        })
}

/// Finds the kernel that QEMU boots directly.
pub fn kernel(options: &Options) -> Result<PathBuf, RunError> {
    given_or(
        "--kernel",
        &options.kernel,
        cache().join("kernels/7.2/vmlinuz"),
        "images/kernel-debs.sh downloads one",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qemu(boot: Boot) -> Qemu {
        Qemu {
            binary: "qemu".into(),
            kvm: false,
            memory: 1 << 30,
            cpus: 2,
            device: Some(("/t/device.sock".into(), 38)),
            boot,
            append: Some("quiet".into()),
        }
    }

    #[test]
    fn test_the_device_and_shared_memory_are_attached() {
        let boot = Boot::Kernel { kernel: "/k".into(), initrd: "/i".into() };
        let line = qemu(boot).arguments().join(" ");
        for part in [
            "-M q35,memory-backend=mem -object memory-backend-memfd,id=mem,size=1024M,share=on",
            "-chardev socket,id=vcuda,path=/t/device.sock",
            "-device vhost-user-test-device-pci,chardev=vcuda,virtio-id=38,num_vqs=3,vq_size=1024,config_size=64",
            "rdinit=/virtio-cuda/init quiet -- guest-init /virtio-cuda/job.json",
        ] {
            assert!(line.contains(part), "{part} is not in: {line}");
        }
    }

    #[test]
    fn test_a_disk_is_attached_without_writing_to_it() {
        let boot = Boot::Disk { image: "/a,b.qcow2".into(), archive: "/run.tar".into() };
        let line = qemu(boot).arguments().join(" ");
        assert!(line.contains("id=root,format=qcow2,snapshot=on,file=/a,,b.qcow2"));
        assert!(line.contains("id=run,format=raw,readonly=on,file=/run.tar"));
        assert!(line.contains("-device virtio-blk-pci,drive=run,serial=vcuda-run"));
    }
}
