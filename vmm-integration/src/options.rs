//! Command-line options of `vcuda-run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::error::RunError;

/// Start a virtual machine with the CUDA device attached, run COMMAND in it, and exit with
/// COMMAND's exit code.
///
/// Other exit codes: 2 for invalid arguments, 124 if --timeout expired, 125 if the VM failed,
/// 126 if the guest can't execute COMMAND, 127 if the guest can't find COMMAND.
#[derive(Clone, Debug, Parser)]
#[command(name = "vcuda-run", version, args_override_self = true)]
pub struct Options {
    /// VMM to use. auto picks QEMU if KVM works on this host, otherwise user-mode Linux, otherwise
    /// QEMU without KVM.
    #[arg(long, value_enum, default_value = "auto")]
    pub vmm: Vmm,
    /// vhost-user socket of a running device process.
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Start a device process for this VM and stop it afterwards.
    #[arg(long, conflicts_with = "socket")]
    pub start_device: bool,
    /// Device program to start [default: vhost-device-cuda next to this program, or in PATH].
    #[arg(long, value_name = "PATH", requires = "start_device")]
    pub device_program: Option<PathBuf>,
    /// Extra argument for the device program, for example --device-arg=--sessions-max=4.
    #[arg(long, value_name = "ARG", requires = "start_device", allow_hyphen_values = true)]
    pub device_arg: Vec<String>,
    /// Write the device's log to FILE [default: standard error].
    #[arg(long, value_name = "FILE", requires = "start_device")]
    pub device_log: Option<PathBuf>,
    /// Device memory quota of the VM, passed to the device program.
    #[arg(long, value_name = "SIZE", requires = "start_device")]
    pub memory_max: Option<String>,
    /// Start the VM without the device.
    #[arg(long, conflicts_with_all = ["socket", "start_device"])]
    pub no_device: bool,
    /// Virtio device id of the CUDA device.
    #[arg(long, value_name = "ID", default_value_t = 38)]
    pub device_id: u32,
    /// Kernel module to load. Prefix it with uml= or qemu= to load it only in that kind of VM.
    #[arg(long, value_name = "[VMM=]PATH")]
    pub module: Vec<String>,
    /// libcuda.so.1 for the guest; its directory is put first in LD_LIBRARY_PATH.
    #[arg(long, value_name = "PATH")]
    pub libcuda: Option<PathBuf>,
    /// User-mode Linux kernel [default: the one that images/uml-kernel.sh built].
    #[arg(long, value_name = "PATH")]
    pub uml_kernel: Option<PathBuf>,
    /// QEMU binary [default: the one that images/qemu.sh installed, otherwise from PATH].
    #[arg(long, value_name = "PATH")]
    pub qemu: Option<PathBuf>,
    /// Kernel for QEMU to boot [default: the one that images/kernel-debs.sh downloaded].
    #[arg(long, value_name = "PATH")]
    pub kernel: Option<PathBuf>,
    /// Initramfs to boot. COMMAND, its libraries, and the modules are added to it.
    #[arg(long, value_name = "PATH")]
    pub initrd: Option<PathBuf>,
    /// Disk image to boot, built by images/disk.sh. The image isn't modified.
    #[arg(long, value_name = "IMAGE", conflicts_with = "initrd")]
    pub disk: Option<PathBuf>,
    /// Text to append to the kernel command line of a QEMU guest.
    #[arg(long, value_name = "TEXT")]
    pub append: Option<String>,
    /// How QEMU executes guest code. auto uses KVM if it works on this host, otherwise TCG.
    #[arg(long, value_enum, default_value = "auto")]
    pub accel: Accel,
    /// File or directory to copy to a guest that can't see the host's files. COMMAND is always
    /// copied.
    #[arg(long, value_name = "SRC[:DEST]")]
    pub file: Vec<String>,
    /// File to copy from the guest after COMMAND has exited.
    #[arg(long, value_name = "GUEST[:HOST]")]
    pub fetch: Vec<String>,
    /// Environment variable for COMMAND. NAME alone passes on the host's value.
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub env: Vec<String>,
    /// Working directory of COMMAND [default: in user-mode Linux the current directory, otherwise
    /// /root].
    #[arg(long, value_name = "PATH")]
    pub cwd: Option<PathBuf>,
    /// Stop the VM after this many seconds; 0 means never.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub timeout: u64,
    /// Guest memory, with suffix K, M or G.
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = size)]
    pub mem: u64,
    /// Number of guest CPUs.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub cpus: u32,
    /// Write the guest's console to FILE [default: its last lines are shown if the VM fails].
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Print the kind of VM, the boot time, the total time, and the exit code.
    #[arg(long, short)]
    pub verbose: bool,
    /// Print the VMM's command line, and for cloud-hypervisor the REST request, without starting
    /// the VMM.
    #[arg(long)]
    pub print: bool,
    /// Check whether KVM can run a guest on this host; the exit code is 0 if it can.
    #[arg(long)]
    pub probe_kvm: bool,
    /// Time limit for the trial guest of --probe-kvm and --accel auto, in seconds. It normally boots
    /// in a second or two.
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..))]
    pub probe_timeout: u64,
    /// Command to run in the guest.
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub command: Vec<String>,
}

/// The VMM to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Vmm {
    /// The fastest VMM that this host can run.
    Auto,
    /// QEMU 10.2 or newer.
    Qemu,
    /// User-mode Linux.
    Uml,
    /// cloud-hypervisor 52 or newer; only with --print.
    CloudHypervisor,
}

/// How QEMU executes guest code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Accel {
    /// KVM if a trial guest boots under it, otherwise TCG.
    Auto,
    /// Hardware virtualization.
    Kvm,
    /// QEMU's binary translation.
    Tcg,
}

impl Options {
    /// Parses a command line. Error messages are a single line.
    pub fn parse_line(line: impl IntoIterator<Item = OsString>) -> Result<Options, RunError> {
        match Options::try_parse_from(line) {
            Ok(options) => Ok(options),
            Err(error) if !error.use_stderr() => error.exit(),
            Err(error) => Err(RunError::Usage(one_line(&error.to_string()))),
        }
    }
}

/// Returns the first paragraph of clap's message, on one line.
fn one_line(text: &str) -> String {
    let words = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    let line = words.collect::<Vec<_>>().join(" ");
    format!("{} (see --help)", line.trim_start_matches("error: "))
}

/// Parses a size such as `512M` into bytes.
pub fn size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        _ => (text, 0),
    };
    digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(1 << shift))
        .filter(|bytes| *bytes >= 64 << 20)
        .ok_or_else(|| "must be a size such as 512M or 2G, at least 64M".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, RunError> {
        Options::parse_line(line.split(' ').map(OsString::from))
    }

    #[test]
    fn test_sizes() {
        assert_eq!(size("512M"), Ok(512 << 20));
        assert_eq!(size("2g"), Ok(2 << 30));
        for wrong in ["", "G", "1T", "-1", "63M", "99999999999999999999", "17179869184G"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn test_wrong_arguments_give_one_line_and_exit_code_2() {
        for (line, word) in [
            ("vcuda-run --vmm xen true", "xen"),
            ("vcuda-run --sockte x true", "--sockte"),
            ("vcuda-run --mem lots true", "lots"),
            ("vcuda-run --cpus 0 true", "--cpus"),
            ("vcuda-run --socket a --no-device true", "--no-device"),
            ("vcuda-run --memory-max 2G true", "--start-device"),
        ] {
            let error = parse(line).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            let text = error.to_string();
            assert!(text.contains(word) && !text.contains('\n'), "{line}: {text}");
        }
    }

    #[test]
    fn test_everything_after_two_dashes_belongs_to_the_command() {
        let options = parse("vcuda-run --no-device -- prog --mem 1 -- x").unwrap();
        assert_eq!(options.command, ["prog", "--mem", "1", "--", "x"]);
        let options = parse("vcuda-run --no-device prog --mem 1").unwrap();
        assert_eq!(options.command, ["prog", "--mem", "1"]);
    }
}
