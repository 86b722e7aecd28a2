//! The command line of `vcuda-run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::error::RunError;

/// Starts a virtual machine with the CUDA device attached, runs COMMAND in it, and ends as
/// COMMAND ended.
///
/// Exit codes of its own: 2 wrong arguments, 124 time is up, 125 the VM failed, 126 and 127
/// the guest cannot execute or find COMMAND.
#[derive(Clone, Debug, Parser)]
#[command(name = "vcuda-run", version, args_override_self = true)]
pub struct Options {
    /// The kind of VM. auto: QEMU if KVM really runs a guest here, else user-mode Linux, else
    /// QEMU without KVM.
    #[arg(long, value_enum, default_value = "auto")]
    pub vmm: Vmm,
    /// The device's vhost-user socket.
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Start a device process for this VM.
    #[arg(long, conflicts_with = "socket")]
    pub start_device: bool,
    /// The device's program [default: vhost-device-cuda next to this program, or in PATH].
    #[arg(long, value_name = "PATH", requires = "start_device")]
    pub device_program: Option<PathBuf>,
    /// A further argument for the device's program, such as --device-arg=--memory-max=2G.
    #[arg(long, value_name = "ARG", requires = "start_device", allow_hyphen_values = true)]
    pub device_arg: Vec<String>,
    /// Where the device's messages go [default: with ours].
    #[arg(long, value_name = "FILE", requires = "start_device")]
    pub device_log: Option<PathBuf>,
    /// The VM's quota of device memory, handed to the device's program.
    #[arg(long, value_name = "SIZE", requires = "start_device")]
    pub memory_max: Option<String>,
    /// Start the VM without the device.
    #[arg(long, conflicts_with_all = ["socket", "start_device"])]
    pub no_device: bool,
    /// The device's virtio id.
    #[arg(long, value_name = "ID", default_value_t = 38)]
    pub device_id: u32,
    /// A kernel module to load, for all kinds of VM or (uml=PATH, qemu=PATH) for one.
    #[arg(long, value_name = "[VMM=]PATH")]
    pub module: Vec<String>,
    /// libcuda.so.1 for the guest, which its programs find first.
    #[arg(long, value_name = "PATH")]
    pub libcuda: Option<PathBuf>,
    /// The user-mode Linux kernel [default: the one that images/uml-kernel.sh built].
    #[arg(long, value_name = "PATH")]
    pub uml_kernel: Option<PathBuf>,
    /// QEMU [default: the one that images/qemu.sh made ready, else PATH's].
    #[arg(long, value_name = "PATH")]
    pub qemu: Option<PathBuf>,
    /// Kernel that QEMU boots [default: the one that images/kernel-debs.sh fetched].
    #[arg(long, value_name = "PATH")]
    pub kernel: Option<PathBuf>,
    /// An initramfs to boot on top of which COMMAND, its libraries and modules are put.
    #[arg(long, value_name = "PATH")]
    pub initrd: Option<PathBuf>,
    /// A disk to boot instead, as images/disk.sh builds them; nothing is written to it.
    #[arg(long, value_name = "IMAGE", conflicts_with = "initrd")]
    pub disk: Option<PathBuf>,
    /// More for QEMU's guest kernel's command line.
    #[arg(long, value_name = "TEXT")]
    pub append: Option<String>,
    /// What QEMU runs the guest with. auto tries KVM and falls back.
    #[arg(long, value_enum, default_value = "auto")]
    pub accel: Accel,
    /// A file or folder for a guest that does not see the host's files; COMMAND comes along.
    #[arg(long, value_name = "SRC[:DEST]")]
    pub file: Vec<String>,
    /// A file of the guest that is fetched after COMMAND.
    #[arg(long, value_name = "GUEST[:HOST]")]
    pub fetch: Vec<String>,
    /// A variable for COMMAND; a NAME alone takes the value that it has here.
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub env: Vec<String>,
    /// Working directory of COMMAND [default: ours in user-mode Linux, else /root].
    #[arg(long, value_name = "PATH")]
    pub cwd: Option<PathBuf>,
    /// Seconds until the VM is ended; 0 is never.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub timeout: u64,
    /// The guest's memory, with K, M or G.
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = size)]
    pub mem: u64,
    /// The guest's CPUs.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub cpus: u32,
    /// Where the guest's console goes [default: nowhere, shown when the VM fails].
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Say which VM is started, and how long it took.
    #[arg(long, short)]
    pub verbose: bool,
    /// Print the VMM's command line (and for cloud-hypervisor the REST body) and start nothing.
    #[arg(long)]
    pub print: bool,
    /// Tell whether KVM runs a guest here; exit code 0 if it does.
    #[arg(long)]
    pub probe_kvm: bool,
    /// What to run in the guest.
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub command: Vec<String>,
}

/// Kinds of virtual machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Vmm {
    /// The best that this host can run.
    Auto,
    /// QEMU 10.2 or newer.
    Qemu,
    /// User-mode Linux.
    Uml,
    /// cloud-hypervisor 52 or newer; only with --print.
    CloudHypervisor,
}

/// What QEMU executes guest code with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Accel {
    /// KVM where a guest boots with it, else TCG.
    Auto,
    /// The host's virtualisation.
    Kvm,
    /// QEMU's own translation.
    Tcg,
}

impl Options {
    /// Parses a command line; what is wrong comes as one line.
    pub fn parse_line(line: impl IntoIterator<Item = OsString>) -> Result<Options, RunError> {
        match Options::try_parse_from(line) {
            Ok(options) => Ok(options),
            Err(error) if !error.use_stderr() => error.exit(),
            Err(error) => Err(RunError::Usage(one_line(&error.to_string()))),
        }
    }
}

/// The first paragraph of clap's message, on one line.
fn one_line(text: &str) -> String {
    let words = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    let line = words.collect::<Vec<_>>().join(" ");
    format!("{} (--help tells more)", line.trim_start_matches("error: "))
}

/// Bytes of `512M` and the like.
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
        .ok_or_else(|| "a size such as 512M or 2G, 64M at least".into())
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
    fn test_wrong_arguments_are_told_in_one_line_with_exit_code_2() {
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
    fn test_everything_after_two_dashes_is_the_commands() {
        let options = parse("vcuda-run --no-device -- prog --mem 1 -- x").unwrap();
        assert_eq!(options.command, ["prog", "--mem", "1", "--", "x"]);
        let options = parse("vcuda-run --no-device prog --mem 1").unwrap();
        assert_eq!(options.command, ["prog", "--mem", "1"]);
    }
}
