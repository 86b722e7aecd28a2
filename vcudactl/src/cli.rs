//! Command-line arguments. Options are named after configuration keys, with `-` instead of `.`, as
//! in `vhost-device-cuda`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::since::Since;
use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use clap_complete::Shell;
use control_api::{GpuRequest, Percent, Timespan, number, parse_size};

/// Name of the program.
pub(crate) const NAME: &str = "vcudactl";

const EXIT_HELP: &str = "\
Exit status:
  0  success
  1  failure: vcudad isn't running, permission is denied, or the GPUs have no room, for example
  2  the request is wrong: an argument is missing or invalid, or the VM doesn't exist, for example

With --json, an error is an object with code and message on standard error.";

const TOP_HELP: &str = "\
Examples:
  vcudactl top --sort share
  vcudactl top --once
  vcudactl top --json --interval 10s";

const EVENTS_HELP: &str = "\
Examples:
  vcudactl events --since 10m
  vcudactl events --vm web --since 2026-03-01T12:00:00Z
  vcudactl events --json | jq 'select(.kind == \"session_ended\")'";

const ADD_HELP: &str = "\
Examples:
  vcudactl vm add web --memory-max 8G --compute-weight 30 --class latency
  vcudactl vm add training --memory-max 80G --gpus 0,1 --compute-min 50%";

const SET_HELP: &str = "\
Examples:
  vcudactl vm set web --compute-max 50% --memory-max 12G
  vcudactl vm set web --compute-kernel-timeout none";

const LS_HELP: &str = "\
Examples:
  vcudactl vm ls -o wide
  vcudactl vm ls -o json | jq -r '.[] | select(.state == \"failed\").name'
  vcudactl vm pause $(vcudactl vm ls --quiet)";

const KILL_HELP: &str = "\
Examples:
  vcudactl session ls --vm web
  vcudactl session kill web 3";

const COMPLETIONS_HELP: &str = "\
Example:
  vcudactl completions bash > ~/.local/share/bash-completion/completions/vcudactl

The scripts for bash, zsh, and fish also complete the names of VMs.";

const DOCTOR_HELP: &str = "\
Exit status:
  0  no check has found a problem
  1  a check has found a problem";

/// Control vcudad: VMs and their quotas, sessions, and GPUs.
#[derive(Debug, Parser)]
#[command(
    name = NAME,
    version,
    disable_help_subcommand = true,
    subcommand_required = true,
    after_help = EXIT_HELP
)]
pub(crate) struct Cli {
    /// vcudad's control socket
    #[arg(
        long,
        global = true,
        value_name = "PATH",
        default_value = "/run/virtio-cuda/control.sock"
    )]
    pub(crate) socket: PathBuf,
    /// Print the control API's JSON instead of text, and errors as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add, change, pause, resume, remove, list, and show VMs
    #[command(subcommand)]
    Vm(VmCommand),
    /// List GPUs
    #[command(subcommand)]
    Gpu(GpuCommand),
    /// List and end sessions (guest processes that have the device open)
    #[command(subcommand)]
    Session(SessionCommand),
    /// Show a live table of VMs: memory, GPU share, wait time, launches, copies
    #[command(after_help = TOP_HELP)]
    Top(TopArgs),
    /// Print events as they happen, until interrupted
    #[command(after_help = EVENTS_HELP)]
    Events {
        /// Print only this VM's events, plus the number of events missed for all VMs
        #[arg(long, value_name = "NAME")]
        vm: Option<String>,
        /// First print the events since a time: a duration before now (10m, 2h), or a time
        /// (2026-03-01T12:00:00Z); vcudad keeps the last 1024 events
        #[arg(long, value_name = "TIME")]
        since: Option<Since>,
    },
    /// Show all counters
    Stats,
    /// Record which VM has the GPU when, as a trace for ui.perfetto.dev or chrome://tracing
    Trace {
        /// How long to record, in seconds (1 to 600)
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u64).range(1..=600))]
        seconds: u64,
        /// File to write (`-` is standard output)
        #[arg(short, long, value_name = "FILE", default_value = "trace.json")]
        output: PathBuf,
    },
    /// Check what vcudad and VMs need from this host; works without vcudad
    #[command(after_help = DOCTOR_HELP)]
    Doctor,
    /// Show the versions of vcudad and vcudactl
    Version,
    /// Print a shell completion script
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// Shell that will load the script
        shell: Shell,
    },
    /// Write manual pages
    #[command(hide = true)]
    Man {
        /// Directory to write the pages to
        folder: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum VmCommand {
    /// Add a VM: choose its GPUs and open its socket
    #[command(after_help = ADD_HELP)]
    Add(Box<AddArgs>),
    /// Change a running VM; if one change is refused, none is made
    #[command(after_help = SET_HELP)]
    Set(Box<SetArgs>),
    /// Return to the values in the configuration file, and drop those set with `vm set`
    Reset {
        /// Reset to the configuration file's values
        #[arg(long, required = true)]
        to_file: bool,
        /// Names of the VMs
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Take a VM off its GPUs until it's resumed; its sessions stay, and their work waits
    Pause {
        /// Names of the VMs
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Let a paused VM use its GPUs again; its kernels continue where they were
    Resume {
        /// Names of the VMs
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Start a VM that has failed again
    Restart {
        /// Names of the VMs
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Remove VMs: end their sessions and devices, and delete their settings
    Rm {
        /// Names of the VMs
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// List VMs
    #[command(visible_alias = "list", after_help = LS_HELP)]
    Ls(ListArgs),
    /// Show VMs' settings and usage
    Show {
        /// Names of the VMs
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum GpuCommand {
    /// List GPUs: memory in use and promised to VMs, and faults
    #[command(visible_alias = "list")]
    Ls(ListArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List sessions
    #[command(visible_alias = "list")]
    Ls {
        /// List only this VM's sessions
        #[arg(long, value_name = "NAME")]
        vm: Option<String>,
        #[command(flatten)]
        list: ListArgs,
    },
    /// End a session; its guest process loses the device
    #[command(after_help = KILL_HELP)]
    Kill {
        /// Name of the VM
        vm: String,
        /// Session number, from `session ls`
        id: u32,
    },
}

/// How to print a list.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Output format
    #[arg(short, long, value_name = "FORMAT")]
    pub(crate) output: Option<ListFormat>,
    /// Print only names: of VMs, indexes of GPUs, or VMs and numbers of sessions
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// The format of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// The same as --json
    Json,
    /// A table with more columns
    Wide,
}

impl Cli {
    /// Returns true if output and errors are JSON.
    pub(crate) fn wants_json(&self) -> bool {
        let list = match &self.command {
            Command::Vm(VmCommand::Ls(list))
            | Command::Gpu(GpuCommand::Ls(list))
            | Command::Session(SessionCommand::Ls { list, .. }) => list.output,
            _ => None,
        };
        self.json || list == Some(ListFormat::Json)
    }
}

/// Returns true if the errors of this command line, which can't be parsed, are JSON.
pub(crate) fn asks_for_json(words: impl Iterator<Item = OsString>) -> bool {
    let mut before = OsString::new();
    words.into_iter().any(|word| {
        let is_json = match before.to_str() {
            Some("-o" | "--output") => word == "json",
            _ => ["--json", "-ojson", "-o=json", "--output=json"].iter().any(|form| word == *form),
        };
        before = word;
        is_json
    })
}

/// The scheduling class of a VM's work.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ClassArg {
    /// Wait for the VM's turn
    Batch,
    /// Go ahead of batch VMs, within the VM's share
    Latency,
}

/// How a GPU is shared.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SharingArg {
    /// One VM uses the GPU at a time
    Exclusive,
    /// Several VMs use the GPU at once, under MPS; only for VMs that trust one another
    Mps,
}

/// A setting's value, or `none` to reset it to its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OrNone<T> {
    /// Reset to the default.
    None,
    /// Set to this value.
    Some(T),
}

impl<T> OrNone<T> {
    pub(crate) fn into_option(self) -> Option<T> {
        match self {
            Self::None => None,
            Self::Some(value) => Some(value),
        }
    }
}

fn or_none<T: FromStr<Err = E>, E: std::fmt::Display>(text: &str) -> Result<OrNone<T>, String> {
    match text {
        "none" => Ok(OrNone::None),
        text => text.parse().map(OrNone::Some).map_err(|error: E| format!("{error}, or none")),
    }
}

/// Parses an amount of device memory. One below the smallest block is a mistake.
fn device_size(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text).map_err(|error| error.to_string())?;
    if bytes >= 2 << 20 {
        return Ok(bytes);
    }
    let hint = match bytes > 0 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => format!(": a number without a unit is in bytes; did you mean {text}G?"),
        false => String::new(),
    };
    Err(format!("device memory is allocated in blocks of 2M, so this is too small{hint}"))
}

fn size_or_none(text: &str) -> Result<OrNone<u64>, String> {
    match text {
        "none" => Ok(OrNone::None),
        text => parse_size(text).map(OrNone::Some).map_err(|error| format!("{error}, or none")),
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    let span: Timespan = text.parse().map_err(|error: control_api::BadUnit| error.to_string())?;
    let interval = Duration::from_nanos(span.nanos());
    if (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(&interval) {
        return Ok(interval);
    }
    Err("it must be from 100ms to 1h".into())
}

#[derive(Args, Debug)]
pub(crate) struct AddArgs {
    /// Name of the VM: 1 to 64 letters, digits, '-', '_' and '.'
    pub(crate) name: String,
    /// Device memory limit on each GPU, such as 4G
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = device_size)]
    pub(crate) memory_max: u64,
    /// Device memory limit of one session on each GPU [default: the VM's limit]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = device_size)]
    pub(crate) memory_session_max: Option<u64>,
    /// Comma-separated GPUs: any, an index, or a UUID [default: any]
    #[arg(long, value_name = "GPUS", value_delimiter = ',')]
    pub(crate) gpus: Option<Vec<GpuRequest>>,
    /// Share of GPU time relative to other VMs' weights, 1 to 10000 [default: 100]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::<u32>("compute.weight")
    )]
    pub(crate) compute_weight: Option<u32>,
    /// Cap on GPU time, 1% to 100%, even if the GPU is otherwise idle [default: 100%]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) compute_max: Option<Percent>,
    /// Guaranteed GPU time while the VM has work, 0% to the cap [default: 0%]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) compute_min: Option<Percent>,
    /// Maximum time that a kernel may run, 1ms to 24h [default: unlimited]
    #[arg(long, value_name = "TIME")]
    pub(crate) compute_kernel_timeout: Option<Timespan>,
    /// Scheduling class of the VM's work [default: batch]
    #[arg(long)]
    pub(crate) class: Option<ClassArg>,
    /// How the VM shares its GPUs with other VMs [default: exclusive]
    #[arg(long)]
    pub(crate) sharing: Option<SharingArg>,
    /// With mps: share of the GPU's multiprocessors per session, 1% to 100% [default: all]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) mps_active_thread_percentage: Option<Percent>,
    /// With mps: device memory limit per session, enforced by MPS [default: none]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = parse_size)]
    pub(crate) mps_pinned_memory_limit: Option<u64>,
    /// Number of guest processes that may use the device at once [default: 32]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::<u32>("sessions.max")
    )]
    pub(crate) sessions_max: Option<u32>,
    /// vhost-user socket to listen on [default: /run/virtio-cuda/NAME.sock]
    #[arg(long, value_name = "PATH")]
    pub(crate) socket_path: Option<PathBuf>,
    /// Permissions of the vhost-user socket [default: 0660]
    #[arg(long, value_name = "MODE")]
    pub(crate) socket_mode: Option<String>,
    /// Group of the socket, by name or number, whose members can connect [default: root's]
    #[arg(long, value_name = "GROUP")]
    pub(crate) socket_group: Option<String>,
    /// Number of front ends (VMMs) that may be connected at once [default: 64]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::<u32>("connections.max")
    )]
    pub(crate) connections_max: Option<u32>,
    /// Guest memory that one session may attach [default: 1T]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = parse_size)]
    pub(crate) pinned_max: Option<u64>,
    /// Maximum size of one command on the command queue [default: 64M]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = parse_size)]
    pub(crate) plain_max: Option<u64>,
    /// Host user ID and group ID of the VM's processes, 2113929216 to 2113994750 [default: chosen
    /// by vcudad]
    #[arg(long, allow_negative_numbers = true, value_parser = number::<u32>("uid"))]
    pub(crate) uid: Option<u32>,
    /// CPU time limit for the VM's processes: "QUOTA PERIOD" in microseconds, as in cgroup v2's
    /// cpu.max
    #[arg(long, value_name = "MAX")]
    pub(crate) cpu_max: Option<String>,
    /// Number of processes and threads that the VM's workers may have
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::<u64>("pids.max")
    )]
    pub(crate) pids_max: Option<u64>,
    /// Host memory limit for the VM's processes
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = parse_size)]
    pub(crate) host_memory_max: Option<u64>,
    /// Microseconds that an idle worker polls before sleeping [default: 50]
    #[arg(
        long,
        value_name = "US",
        allow_negative_numbers = true,
        value_parser = number::<u32>("spin_us")
    )]
    pub(crate) spin_us: Option<u32>,
    /// Comma-separated environment variables that a guest process may pass to its worker
    /// [default: harmless CUDA variables]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) env_allow: Option<Vec<String>>,
}

#[derive(Args, Debug)]
pub(crate) struct SetArgs {
    /// Name of the VM
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

/// Settings that can be changed while a VM is running.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
pub(crate) struct ChangeArgs {
    /// Device memory limit on each GPU; a VM above it keeps its memory but can't allocate more
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = device_size)]
    pub(crate) memory_max: Option<u64>,
    /// Device memory limit of one session on each GPU, or none for the VM's limit
    #[arg(long, value_name = "SIZE|none", allow_negative_numbers = true, value_parser = size_or_none)]
    pub(crate) memory_session_max: Option<OrNone<u64>>,
    /// Share of GPU time relative to other VMs' weights, 1 to 10000
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::<u32>("compute.weight")
    )]
    pub(crate) compute_weight: Option<u32>,
    /// Cap on GPU time, 1% to 100%, even if the GPU is otherwise idle
    #[arg(long, value_name = "PERCENT")]
    pub(crate) compute_max: Option<Percent>,
    /// Guaranteed GPU time while the VM has work, 0% to the cap
    #[arg(long, value_name = "PERCENT")]
    pub(crate) compute_min: Option<Percent>,
    /// Maximum time that a kernel may run, 1ms to 24h, or none for no limit
    #[arg(long, value_name = "TIME|none", value_parser = or_none::<Timespan, _>)]
    pub(crate) compute_kernel_timeout: Option<OrNone<Timespan>>,
    /// Scheduling class of the VM's work
    #[arg(long)]
    pub(crate) class: Option<ClassArg>,
    /// With mps: share of the GPU's multiprocessors per new session, 1% to 100%, or none for all of
    /// them
    #[arg(long, value_name = "PERCENT|none", value_parser = or_none::<Percent, _>)]
    pub(crate) mps_active_thread_percentage: Option<OrNone<Percent>>,
    /// With mps: device memory limit per new session, enforced by MPS, or none for no
    /// limit
    #[arg(long, value_name = "SIZE|none", allow_negative_numbers = true, value_parser = size_or_none)]
    pub(crate) mps_pinned_memory_limit: Option<OrNone<u64>>,
    /// Number of guest processes that may use the device at once
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::<u32>("sessions.max")
    )]
    pub(crate) sessions_max: Option<u32>,
}

/// The column by which `top` sorts its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortKey {
    /// VM name
    #[default]
    Name,
    /// Memory in use
    Memory,
    /// Share of GPU time over the last second
    Share,
    /// Time spent waiting for the GPU
    Throttled,
    /// Launches per second
    Launches,
    /// Bytes copied per second
    Copies,
}

#[derive(Args, Debug)]
pub(crate) struct TopArgs {
    /// Print one frame as text and exit
    #[arg(long)]
    pub(crate) once: bool,
    /// Time between frames, 100ms to 1h
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub(crate) interval: Duration,
    /// Column to sort by
    #[arg(long, value_enum, default_value_t)]
    pub(crate) sort: SortKey,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn clap_accepts_the_definitions() {
        Cli::command().debug_assert();
    }

    #[test]
    fn none_resets_a_setting() {
        let words = "vcudactl vm set web --memory-session-max none --compute-max 12.5% --json";
        let cli = Cli::try_parse_from(words.split(' ')).unwrap();
        let Command::Vm(VmCommand::Set(set)) = cli.command else { panic!() };
        assert_eq!(set.change.memory_session_max, Some(OrNone::None));
        assert_eq!(set.change.compute_max, Some(Percent::from_basis_points(1250)));
        assert!(cli.json);
    }

    #[test]
    fn json_is_recognized_with_and_without_parsing() {
        for (words, is_json) in [
            ("vcudactl vm ls", false),
            ("vcudactl vm ls -o wide --quiet", false),
            ("vcudactl --json vm ls", true),
            ("vcudactl gpu ls -o json", true),
            ("vcudactl gpu list -ojson", true),
            ("vcudactl session ls --vm a --output=json", true),
            ("vcudactl vm show -- --jsonx", false),
        ] {
            let cli = Cli::try_parse_from(words.split(' ')).unwrap();
            assert_eq!(cli.wants_json(), is_json, "{words}");
            assert_eq!(asks_for_json(words.split(' ').map(OsString::from)), is_json, "{words}");
        }
    }

    #[test]
    fn a_missing_unit_is_explained() {
        let error = device_size("8").unwrap_err();
        assert!(error.contains("blocks of 2M") && error.contains("did you mean 8G?"), "{error}");
        assert_eq!(device_size("2M"), Ok(2 << 20));
    }

    #[test]
    fn bad_command_lines_are_refused() {
        for words in [
            "vcudactl",
            "vcudactl vm",
            "vcudactl vm add web",
            "vcudactl vm add web --memory-max 5Q",
            "vcudactl vm add web --memory-max 8",
            "vcudactl vm set web --memory-max 1K",
            "vcudactl vm add web --memory-max 5G --gpus fast",
            "vcudactl vm set web",
            "vcudactl vm set web --compute-max 12.555%",
            "vcudactl vm set web --gpus 0",
            "vcudactl vm rm",
            "vcudactl vm pause",
            "vcudactl vm restart",
            "vcudactl vm reset web",
            "vcudactl session kill web one",
            "vcudactl top --interval 1ms",
            "vcudactl completions cobol",
            "vcudactl vm ls -o yaml",
            "vcudactl vm show web -o json",
        ] {
            assert!(Cli::try_parse_from(words.split(' ')).is_err(), "{words}");
        }
    }
}
