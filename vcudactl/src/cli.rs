//! The arguments. Their names are the configuration's keys with `-` for `.`, as
//! `vhost-device-cuda` has them, too.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use control_api::{GpuRequest, Percent, Timespan, number, parse_size};

/// Shows and changes what vcudad does: VMs and their quotas, sessions, GPUs.
#[derive(Debug, Parser)]
#[command(name = crate::NAME, version, disable_help_subcommand = true, subcommand_required = true)]
pub(crate) struct Cli {
    /// vcudad's control socket
    #[arg(
        long,
        global = true,
        value_name = "PATH",
        default_value = "/run/virtio-cuda/control.sock"
    )]
    pub(crate) socket: PathBuf,
    /// Print JSON, as the control API has it
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// VMs: add, change, remove, list, show
    #[command(subcommand)]
    Vm(VmCommand),
    /// GPUs
    #[command(subcommand)]
    Gpu(GpuCommand),
    /// Sessions: guest processes with the device open
    #[command(subcommand)]
    Session(SessionCommand),
    /// A live table of VMs: memory, shares, waiting, launches, copies
    Top(TopArgs),
    /// Events as they happen, until interrupted
    Events {
        /// Only events about this VM, and how many were missed
        #[arg(long, value_name = "NAME")]
        vm: Option<String>,
    },
    /// Everything that is counted
    Stats,
    /// vcudad's version, and whether it answers
    Version,
    /// A script of completions, for a shell to read
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write manual pages
    #[command(hide = true)]
    Man {
        /// Into this folder
        folder: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum VmCommand {
    /// Add a VM: choose its GPUs, open its socket
    Add(Box<AddArgs>),
    /// Change a VM while it runs: all of the change, or nothing
    Set(Box<SetArgs>),
    /// Remove a VM: end its sessions and its device, and forget it
    Rm {
        /// The VMs' names
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// List the VMs
    Ls,
    /// Show a VM's settings and what it has used
    Show {
        /// The VM's name
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum GpuCommand {
    /// List the GPUs: memory, what is promised, faults
    Ls,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List the sessions
    Ls {
        /// Only this VM's
        #[arg(long, value_name = "NAME")]
        vm: Option<String>,
    },
    /// End a session: its guest process loses the device
    Kill {
        /// The VM's name
        vm: String,
        /// The session's number, from `session ls`
        id: u32,
    },
}

/// How a VM's work is treated.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ClassArg {
    /// It waits for its turn
    Batch,
    /// It takes the GPU at the next boundary, within its quota
    Latency,
}

/// How a GPU is shared.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SharingArg {
    /// One VM has the GPU at a time
    Exclusive,
    /// At once, under MPS: for VMs that trust one another
    Mps,
}

/// A setting that can also be taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OrNone<T> {
    /// No setting: the default.
    None,
    /// This.
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
        text => text.parse().map(OrNone::Some).map_err(|error: E| format!("{error}; or none")),
    }
}

fn size_or_none(text: &str) -> Result<OrNone<u64>, String> {
    match text {
        "none" => Ok(OrNone::None),
        text => parse_size(text).map(OrNone::Some).map_err(|error| format!("{error}; or none")),
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    let span: Timespan = text.parse().map_err(|error: control_api::BadUnit| error.to_string())?;
    let interval = Duration::from_nanos(span.nanos());
    if (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(&interval) {
        return Ok(interval);
    }
    Err("an interval is from 100ms to 1h".into())
}

#[derive(Args, Debug)]
pub(crate) struct AddArgs {
    /// The VM's name: 1 to 64 letters, digits, '-', '_' and '.'
    pub(crate) name: String,
    /// Device memory that it may hold on each GPU, such as 4G
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = parse_size)]
    pub(crate) memory_max: u64,
    /// Device memory that one session may hold on each GPU [default: all of it]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = parse_size)]
    pub(crate) memory_session_max: Option<u64>,
    /// Its GPUs, with commas between: any, an index, or a UUID [default: any]
    #[arg(long, value_name = "GPUS", value_delimiter = ',')]
    pub(crate) gpus: Option<Vec<GpuRequest>>,
    /// Its part of the GPU's time beside others, 1 to 10000 [default: 100]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::<u32>("compute.weight")
    )]
    pub(crate) compute_weight: Option<u32>,
    /// The most of the GPU's time that it gets, 1% to 100% [default: 100%]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) compute_max: Option<Percent>,
    /// What it gets of the GPU's time for sure [default: 0%]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) compute_min: Option<Percent>,
    /// How long one kernel may run, such as 2s [default: for ever]
    #[arg(long, value_name = "TIME")]
    pub(crate) compute_kernel_timeout: Option<Timespan>,
    /// How its waiting work is treated [default: batch]
    #[arg(long)]
    pub(crate) class: Option<ClassArg>,
    /// How it shares its GPUs with others [default: exclusive]
    #[arg(long)]
    pub(crate) sharing: Option<SharingArg>,
    /// With mps: part of the GPU's multiprocessors, for each session
    #[arg(long, value_name = "PERCENT")]
    pub(crate) mps_active_thread_percentage: Option<Percent>,
    /// With mps: device memory of each session, as MPS counts it
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = parse_size)]
    pub(crate) mps_pinned_memory_limit: Option<u64>,
    /// Guest processes that may use the device at once [default: 32]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::<u32>("sessions.max")
    )]
    pub(crate) sessions_max: Option<u32>,
    /// The vhost-user socket to listen on [default: /run/virtio-cuda/NAME.sock]
    #[arg(long, value_name = "PATH")]
    pub(crate) socket_path: Option<PathBuf>,
    /// Permissions of that socket [default: 0660]
    #[arg(long, value_name = "MODE")]
    pub(crate) socket_mode: Option<String>,
    /// Front ends that may be connected at once [default: 64]
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
    /// Bytes of one command on the command queue [default: 64M]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = parse_size)]
    pub(crate) plain_max: Option<u64>,
    /// User of its processes on the host, 1 to 4294967294 [default: one that is chosen]
    #[arg(long, allow_negative_numbers = true, value_parser = number::<u32>("uid"))]
    pub(crate) uid: Option<u32>,
    /// Group of its processes on the host, 1 to 4294967294 [default: the same number as the user]
    #[arg(long, allow_negative_numbers = true, value_parser = number::<u32>("gid"))]
    pub(crate) gid: Option<u32>,
    /// CPU time of its workers, "QUOTA PERIOD" in microseconds as cgroup v2 has it
    #[arg(long, value_name = "MAX")]
    pub(crate) cpu_max: Option<String>,
    /// Processes and threads of its workers
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::<u64>("pids.max")
    )]
    pub(crate) pids_max: Option<u64>,
    /// Host memory of its workers
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = parse_size)]
    pub(crate) host_memory_max: Option<u64>,
    /// How long a worker spins before it sleeps, in microseconds [default: 50]
    #[arg(
        long,
        value_name = "US",
        allow_negative_numbers = true,
        value_parser = number::<u32>("spin_us")
    )]
    pub(crate) spin_us: Option<u32>,
    /// Environment variables that a session may bring, with commas between [default: some of CUDA's]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) env_allow: Option<Vec<String>>,
}

#[derive(Args, Debug)]
pub(crate) struct SetArgs {
    /// The VM's name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

/// What can be changed while a VM runs.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
pub(crate) struct ChangeArgs {
    /// Device memory that it may hold on each GPU; below present use, nothing more is allocated
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = parse_size)]
    pub(crate) memory_max: Option<u64>,
    /// Device memory that one session may hold on each GPU; none: all of it
    #[arg(long, value_name = "SIZE|none", allow_negative_numbers = true, value_parser = size_or_none)]
    pub(crate) memory_session_max: Option<OrNone<u64>>,
    /// Its part of the GPU's time beside others, 1 to 10000
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::<u32>("compute.weight")
    )]
    pub(crate) compute_weight: Option<u32>,
    /// The most of the GPU's time that it gets, 1% to 100%
    #[arg(long, value_name = "PERCENT")]
    pub(crate) compute_max: Option<Percent>,
    /// What it gets of the GPU's time for sure
    #[arg(long, value_name = "PERCENT")]
    pub(crate) compute_min: Option<Percent>,
    /// How long one kernel may run, such as 2s; none: for ever
    #[arg(long, value_name = "TIME|none", value_parser = or_none::<Timespan, _>)]
    pub(crate) compute_kernel_timeout: Option<OrNone<Timespan>>,
    /// How its waiting work is treated
    #[arg(long)]
    pub(crate) class: Option<ClassArg>,
    /// With mps: part of the GPU's multiprocessors, for each new session; none: all
    #[arg(long, value_name = "PERCENT|none", value_parser = or_none::<Percent, _>)]
    pub(crate) mps_active_thread_percentage: Option<OrNone<Percent>>,
    /// With mps: device memory of each new session, as MPS counts it; none: no such limit
    #[arg(long, value_name = "SIZE|none", allow_negative_numbers = true, value_parser = size_or_none)]
    pub(crate) mps_pinned_memory_limit: Option<OrNone<u64>>,
    /// Guest processes that may use the device at once
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::<u32>("sessions.max")
    )]
    pub(crate) sessions_max: Option<u32>,
}

/// What the rows of `top` are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortKey {
    /// By name
    #[default]
    Name,
    /// By memory used
    Memory,
    /// By share of the GPU's time over the last second
    Share,
    /// By time spent waiting
    Throttled,
    /// By launches
    Launches,
    /// By bytes copied
    Copies,
}

#[derive(Args, Debug)]
pub(crate) struct TopArgs {
    /// Print one frame as text, and end
    #[arg(long)]
    pub(crate) once: bool,
    /// Time between frames, 100ms to 1h
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub(crate) interval: Duration,
    /// What the rows are sorted by
    #[arg(long, value_enum, default_value_t)]
    pub(crate) sort: SortKey,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn changes_are_read_and_none_takes_a_setting_away() {
        let words = "vcudactl vm set web --memory-session-max none --compute-max 12.5% --json";
        let cli = Cli::try_parse_from(words.split(' ')).unwrap();
        let Command::Vm(VmCommand::Set(set)) = cli.command else { panic!() };
        assert_eq!(set.change.memory_session_max, Some(OrNone::None));
        assert_eq!(set.change.compute_max, Some(Percent::from_basis_points(1250)));
        assert!(cli.json);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for words in [
            "vcudactl",
            "vcudactl vm",
            "vcudactl vm add web",
            "vcudactl vm add web --memory-max 5Q",
            "vcudactl vm add web --memory-max 5G --gpus fast",
            "vcudactl vm set web",
            "vcudactl vm set web --compute-max 12.555%",
            "vcudactl vm set web --gpus 0",
            "vcudactl vm rm",
            "vcudactl session kill web one",
            "vcudactl top --interval 1ms",
            "vcudactl completions cobol",
        ] {
            assert!(Cli::try_parse_from(words.split(' ')).is_err(), "{words}");
        }
    }
}
