//! Command-line arguments. Options are named after configuration keys, with `-` instead of `.`, as
//! in `vhost-device-cuda`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::month::parse_since;
use crate::since::Since;
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum, value_parser};
use clap_complete::Shell;
use control_api::{ChangedVm, NewVm, Timespan};

/// Name of the program.
pub(crate) const NAME: &str = "vcudactl";

/// Name of the command that is the CUDA program of `test`.
pub(crate) const TEST_PROGRAM: &str = "test-program";

/// Name of the command that is the measuring program of `bench`.
pub(crate) const BENCH_PROGRAM: &str = "bench-program";

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

const USAGE_HELP: &str = "\
Examples:
  vcudactl usage
  vcudactl usage --since 2026-01
  vcudactl usage --since 2026-03-01 --format csv > march.csv";

const SWAP_OUT_ABOUT: &str = "\
Take a VM's memory off its GPUs until one of its programs needs it

The VM's workers copy the memory of its programs to the host. The GPU's memory is then free for other \
VMs, but stays charged to this one. As soon as one of the VM's programs makes a call that reaches the \
host, or a program starts, the memory returns to the GPU. Contexts, modules, arrays, memory that \
programs share, and memory from cuMemCreate stay on the GPU. The command waits until the memory has \
left, and fails if it can't leave, or if a program needs it at once.";

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

const TEST_HELP: &str = "\
Example:
  vcudactl test web";

const BENCH_HELP: &str = "\
Examples:
  vcudactl bench --vm web
  vcudactl bench --socket-path /tmp/device.sock --only sync,alloc -o bench.md
  vcudactl bench --native-only --json

Exit status:
  0  all rows were measured and meet their bars
  1  a row has failed or misses its bar";

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
    /// vcudad's control socket; if you may not use it, commands that only read use read.sock in the
    /// same directory
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
    /// List and end sessions (guest processes that use a GPU)
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
    /// Show the GPU time and memory that each VM has used per month, also of removed VMs
    #[command(after_help = USAGE_HELP)]
    Usage(UsageArgs),
    /// Record which VM has the GPU when, as a trace for ui.perfetto.dev or chrome://tracing
    Trace {
        /// How long to record, in seconds (1 to 600)
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u64).range(1..=600))]
        seconds: u64,
        /// File to write (`-` is standard output)
        #[arg(short, long, value_name = "FILE", default_value = "trace.json")]
        output: PathBuf,
    },
    /// Run a small CUDA program on a VM's GPUs, through its socket, and show the time of each step
    ///
    /// The program is a session of the VM, under its quotas, and needs memory for a context and 8M
    /// more. You must be root, or in the group of the VM's socket. A connected VMM doesn't matter,
    /// unless its memory isn't sealed.
    #[command(after_help = TEST_HELP)]
    Test(TestArgs),
    /// Measure CUDA calls natively and through a device, and compare them
    ///
    /// Measures alternately with the host's libcuda and through a VM's socket, as a program in the VM
    /// would, and prints the medians. The GPU must be otherwise idle: other programs and VMs change the
    /// numbers. The program is a session of the VM, and its measurements need up to 21 sessions at once. You must
    /// be root, or in the group of the VM's socket.
    #[command(after_help = BENCH_HELP)]
    Bench(BenchArgs),
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
    /// The CUDA program of `test`
    #[command(name = TEST_PROGRAM, hide = true)]
    TestProgram,
    /// The measuring program of `bench`
    #[command(name = BENCH_PROGRAM, hide = true)]
    BenchProgram(BenchProgramArgs),
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
    /// Take a VM's memory off its GPUs until one of its programs needs it
    #[command(long_about = SWAP_OUT_ABOUT)]
    SwapOut {
        /// Names of the VMs
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Put a VM's memory back on its GPUs
    SwapIn {
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
    /// Remove VMs: end their devices; `vm restore` brings them back
    Rm {
        /// Also remove VMs that have sessions, which end
        #[arg(long)]
        force: bool,
        /// Names of the VMs
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Bring back removed VMs: with the configuration file's settings, or those that they had last
    Restore {
        /// Names of the removed VMs
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
        #[arg(value_parser = session_number)]
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
        let is_usage =
            matches!(&self.command, Command::Usage(args) if args.format == UsageFormat::Json);
        self.json || is_usage || list == Some(ListFormat::Json)
    }
}

/// Returns true if the errors of this command line, which can't be parsed, are JSON.
pub(crate) fn asks_for_json(words: impl Iterator<Item = OsString>) -> bool {
    let mut before = OsString::new();
    words.into_iter().any(|word| {
        let is_json = match before.to_str() {
            Some("-o" | "--output" | "--format") => word == "json",
            _ => ["--json", "-ojson", "-o=json", "--output=json", "--format=json"]
                .iter()
                .any(|form| word == *form),
        };
        before = word;
        is_json
    })
}

fn session_number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| {
        format!("a session is named by its number; {NAME} session ls lists them in the column ID")
    })
}

fn interval(text: &str) -> Result<Duration, String> {
    duration(text, Duration::from_millis(100), "it must be from 100ms to 1h")
}

fn patience(text: &str) -> Result<Duration, String> {
    duration(text, Duration::from_secs(1), "it must be from 1s to 1h")
}

/// Parses a duration from `min` to an hour.
fn duration(text: &str, min: Duration, range: &str) -> Result<Duration, String> {
    let span: Timespan = text.parse().map_err(|error: control_api::BadUnit| error.to_string())?;
    let given = Duration::from_nanos(span.nanos());
    match (min..=Duration::from_secs(3600)).contains(&given) {
        true => Ok(given),
        false => Err(range.into()),
    }
}

#[derive(Args, Debug)]
pub(crate) struct AddArgs {
    /// Name of the VM: 1 to 64 letters, digits, '-', '_' and '.'
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) settings: NewVm,
}

#[derive(Args, Debug)]
pub(crate) struct SetArgs {
    /// Name of the VM
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) change: ChangedVm,
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

#[derive(Args, Debug)]
pub(crate) struct TestArgs {
    /// Name of the VM
    pub(crate) name: String,
    /// How long the program may take, 1s to 1h
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = patience)]
    pub(crate) timeout: Duration,
    /// The guest's libcuda.so.1 [default: the one in the host package]
    #[arg(long, value_name = "PATH")]
    pub(crate) libcuda: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("device").required(true).args(["vm", "socket_path", "native_only"]))]
pub(crate) struct BenchArgs {
    /// Measure through this VM's socket, and natively on its first GPU
    #[arg(long, value_name = "NAME")]
    pub(crate) vm: Option<String>,
    /// Measure through the socket of a vhost-device-cuda, without vcudad
    #[arg(long, value_name = "PATH")]
    pub(crate) socket_path: Option<PathBuf>,
    /// Measure only natively
    #[arg(long)]
    pub(crate) native_only: bool,
    /// Measure only through the device
    #[arg(long, conflicts_with = "native_only")]
    pub(crate) device_only: bool,
    /// How often each row is measured on both sides; slow rows are measured at most twice
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u8).range(1..=100))]
    pub(crate) repetitions: u8,
    /// Measure only these rows: names or beginnings of names, such as sync
    #[arg(long, value_name = "ROW", value_delimiter = ',', num_args = 1..)]
    pub(crate) only: Vec<String>,
    /// Take few samples of little work, to see whether all rows can be measured
    #[arg(long)]
    pub(crate) quick: bool,
    /// Also write the result to a file: JSON (.json) or a Markdown table (.md); can be repeated
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Vec<PathBuf>,
    /// The libcuda.so.1 of native programs [default: the one that the dynamic loader finds]
    #[arg(long, value_name = "PATH")]
    pub(crate) native_library: Option<PathBuf>,
    /// The guest's libcuda.so.1 [default: the one in the host package]
    #[arg(long, value_name = "PATH")]
    pub(crate) libcuda: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct BenchProgramArgs {
    /// The libcuda
    #[arg(long)]
    pub(crate) library: PathBuf,
    #[arg(long, value_enum, default_value = "measure")]
    pub(crate) role: Role,
    #[arg(long)]
    pub(crate) quick: bool,
    /// The measurements
    pub(crate) names: Vec<String>,
}

/// The role of a process of the measuring program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Takes the measurements.
    Measure,
    /// Queries the devices.
    Devices,
    /// Runs one kernel.
    Kernel,
    /// Runs kernels and reports how many, until it's killed.
    Kernels,
}

#[derive(Args, Debug)]
pub(crate) struct UsageArgs {
    /// Show the months that weren't over at a time: a month (2026-03), a day (2026-03-15), a time
    /// (2026-03-01T12:00:00Z), or a duration before now (720h); the default is this month
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    pub(crate) since: Option<Since>,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) format: UsageFormat,
}

/// The format of `usage`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum UsageFormat {
    /// A table with a line per VM and month
    #[default]
    Table,
    /// Comma-separated values with a line per VM, month, and GPU
    Csv,
    /// The same as --json
    Json,
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
        let patch = serde_json::to_value(&set.change.0).unwrap();
        let json =
            serde_json::json!({"memory": {"session_max": null}, "compute": {"max": "12.5%"}});
        assert_eq!(patch, json);
        assert!(cli.json);
    }

    #[test]
    fn json_is_recognized_with_and_without_parsing() {
        for (words, is_json) in [
            ("vcudactl vm ls", false),
            ("vcudactl vm ls -o wide --quiet", false),
            ("vcudactl --json vm ls", true),
            ("vcudactl usage", false),
            ("vcudactl usage --format csv", false),
            ("vcudactl usage --format json", true),
            ("vcudactl usage --since 2026-03 --format=json", true),
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
        let add =
            |size| Cli::try_parse_from(["vcudactl", "vm", "add", "web", "--memory-max", size]);
        let error = add("8").unwrap_err().to_string();
        assert!(error.contains("blocks of 2M") && error.contains("did you mean 8G?"), "{error}");
        assert!(add("2M").is_ok());
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
            "vcudactl vm swap-out",
            "vcudactl vm restart",
            "vcudactl vm restore",
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
