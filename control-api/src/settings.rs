//! The settings of a VM. A new setting is an entry here and a field in [`VmSpec`](crate::VmSpec).

use crate::setting::{Change, Kind, Preset, Setting};
use crate::units::Timespan;

const MILLISECOND: Timespan = Timespan::from_nanos(1_000_000);
const DAY: Timespan = Timespan::from_nanos(24 * 3_600 * 1_000_000_000);

/// All settings of a VM, in the order of the command line's help.
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "name",
        kind: Kind::Text(
            "a string of 1 to 64 letters, digits, '-', '_' and '.', and must not begin with '.'",
        ),
        default: Preset::Required("unique"),
        change: Change::Never,
        placeholder: "NAME",
        help: "Name of the VM: 1 to 64 letters, digits, '-', '_' and '.'",
        doc_values: "1 to 64 letters, digits, and `-_.`, not starting with `.`",
        doc: "VM name in logs, metrics, and the API",
    },
    Setting {
        key: "memory.max",
        kind: Kind::DeviceMemory,
        default: Preset::Required("required"),
        change: Change::Live(
            "Device memory limit on each GPU; a VM above it keeps its memory but can't allocate more",
        ),
        placeholder: "SIZE",
        help: "Device memory limit on each GPU, such as 4G",
        doc_values: "",
        doc: "Total device memory for the VM's sessions on each of its GPUs. The guest sees this value as the GPU's memory size. If the limit is lowered below the VM's usage, the VM keeps its memory, but can't allocate more",
    },
    Setting {
        key: "memory.session_max",
        kind: Kind::DeviceMemory,
        default: Preset::Words("the VM's limit", "same as `memory.max`"),
        change: Change::LiveOrNone(
            "Device memory limit of one session on each GPU, or none for the VM's limit",
        ),
        placeholder: "SIZE",
        help: "Device memory limit of one session on each GPU",
        doc_values: "",
        doc: "Maximum device memory for one session on each GPU",
    },
    Setting {
        key: "gpus",
        kind: Kind::List("a list of 1 to 16 of \"any\", an index such as \"0\", or a UUID"),
        default: Preset::Value("any"),
        change: Change::Never,
        placeholder: "GPUS",
        help: "Comma-separated GPUs: any, an index, or a UUID",
        doc_values: "a list of 1 to 16 entries, each `\"any\"`, an index, or a UUID (`\"GPU-…\"`, `\"MIG-…\"`)",
        doc: "The VM's GPUs, in the order in which the guest sees them",
    },
    Setting {
        key: "compute.weight",
        kind: Kind::Number(1, 10_000),
        default: Preset::Value("100"),
        change: Change::Live(""),
        placeholder: "N",
        help: "Share of GPU time relative to other VMs' weights, 1 to 10000",
        doc_values: "",
        doc: "Relative share of GPU time. The VMs that currently have work divide the GPU in proportion to their weights",
    },
    Setting {
        key: "compute.max",
        kind: Kind::Percent(1, 100),
        default: Preset::Value("100%"),
        change: Change::Live(""),
        placeholder: "PERCENT",
        help: "Cap on GPU time, 1% to 100%, even if the GPU is otherwise idle",
        doc_values: "",
        doc: "Maximum share of GPU time. With `sharing = \"mps\"`, this key instead limits the share of multiprocessors that each session can use, and a change applies only to new sessions",
    },
    Setting {
        key: "compute.min",
        kind: Kind::Percent(0, 100),
        default: Preset::Value("0%"),
        change: Change::Live(""),
        placeholder: "PERCENT",
        help: "Guaranteed GPU time while the VM has work, 0% to the cap",
        doc_values: "",
        doc: "Guaranteed share of GPU time while the VM has work, at most `compute.max`. `compute.overcommit` limits the sum of the guarantees on each GPU",
    },
    Setting {
        key: "compute.kernel_timeout",
        kind: Kind::Time(MILLISECOND, DAY),
        default: Preset::Words("unlimited", "none"),
        change: Change::LiveOrNone(
            "Maximum time that a kernel may run, 1ms to 24h, or none for no limit",
        ),
        placeholder: "TIME",
        help: "Maximum time that a kernel may run, 1ms to 24h",
        doc_values: "",
        doc: "Maximum run time of a kernel. If a kernel runs longer, its session is ended with CUDA_ERROR_LAUNCH_TIMEOUT",
    },
    Setting {
        key: "class",
        kind: Kind::Word(&[
            ("batch", "Wait for the VM's turn"),
            ("latency", "Go ahead of batch VMs, within the VM's share"),
        ]),
        default: Preset::Value("batch"),
        change: Change::Live(""),
        placeholder: "CLASS",
        help: "Scheduling class of the VM's work",
        doc_values: "",
        doc: "A `latency` VM with new work gets the GPU at once, as long as the VM is within its share (where kernels can't be evicted: as soon as the work in flight has finished)",
    },
    Setting {
        key: "sharing",
        kind: Kind::Word(&[
            ("exclusive", "One VM uses the GPU at a time"),
            (
                "mps",
                "Several VMs use the GPU at once, under MPS; only for VMs that trust one another",
            ),
        ]),
        default: Preset::Value("exclusive"),
        change: Change::Never,
        placeholder: "SHARING",
        help: "How the VM shares its GPUs with other VMs",
        doc_values: "",
        doc: "Workers for an `mps` VM run under NVIDIA MPS, concurrently with those for other `mps` VMs. Use `mps` only for VMs that trust one another. The scheduler treats all `mps` VMs that use the same GPUs as one VM; see [quotas.md](quotas.md#sharing-in-space-sharing--mps)",
    },
    Setting {
        key: "mps.active_thread_percentage",
        kind: Kind::Percent(1, 100),
        default: Preset::Words("all", "none"),
        change: Change::LiveOrNone(
            "With mps: share of the GPU's multiprocessors per new session, 1% to 100%, or none for all of them",
        ),
        placeholder: "PERCENT",
        help: "With mps: share of the GPU's multiprocessors per session, 1% to 100%",
        doc_values: "",
        doc: "With `mps`, maximum share of the GPU's multiprocessors per session",
    },
    Setting {
        key: "mps.pinned_memory_limit",
        kind: Kind::DeviceMemory,
        default: Preset::Words("none", "none"),
        change: Change::LiveOrNone(
            "With mps: device memory limit per new session, enforced by MPS, or none for no limit",
        ),
        placeholder: "SIZE",
        help: "With mps: device memory limit per session, enforced by MPS",
        doc_values: "",
        doc: "With `mps`, maximum device memory per session, as counted and enforced by MPS",
    },
    Setting {
        key: "sessions.max",
        kind: Kind::Number(1, 4096),
        default: Preset::Value("32"),
        change: Change::Live(""),
        placeholder: "N",
        help: "Number of guest processes that may use the device at once",
        doc_values: "",
        doc: "Maximum number of guest processes that use a GPU at the same time. In additional processes, the first call that needs the GPU, for example to create a context, returns CUDA_ERROR_DEVICE_UNAVAILABLE. Lowering the limit doesn't end open sessions",
    },
    Setting {
        key: "socket",
        kind: Kind::Text("the absolute path of a socket, of at most 107 bytes"),
        default: Preset::Words("/run/virtio-cuda/NAME.sock", "`/run/virtio-cuda/NAME.sock`"),
        change: Change::Never,
        placeholder: "PATH",
        help: "vhost-user socket to listen on",
        doc_values: "a path of at most 107 bytes",
        doc: "Unix socket to which the VMM connects. Its directory must exist, except for `/run/virtio-cuda`, which `vcudad` creates. `vcudad` replaces a stale socket but not one that is in use",
    },
    Setting {
        key: "socket_mode",
        kind: Kind::Text("a string from \"0\" to \"0777\" in octal, such as \"0660\""),
        default: Preset::Value("0660"),
        change: Change::Never,
        placeholder: "MODE",
        help: "Permissions of the vhost-user socket",
        doc_values: "",
        doc: "Permissions of the socket, whose owner is root",
    },
    Setting {
        key: "socket_group",
        kind: Kind::Text("the name or the number of a group"),
        default: Preset::Words("root's", "root's"),
        change: Change::Never,
        placeholder: "GROUP",
        help: "Group of the socket, by name or number, whose members can connect",
        doc_values: "the name or the number of a group",
        doc: "Group of the socket. A VMM that doesn't run as root must be in this group. It can't be a group with which a VM's processes run, because they could then connect to the VM's device",
    },
    Setting {
        key: "connections.max",
        kind: Kind::Number(1, 1024),
        default: Preset::Value("64"),
        change: Change::Never,
        placeholder: "N",
        help: "Number of front ends (VMMs) that may be connected at once",
        doc_values: "",
        doc: "Maximum number of vhost-user front ends connected at the same time. A VMM is one front end, and so is each process that uses the device without a VM",
    },
    Setting {
        key: "pinned.max",
        kind: Kind::Size(1 << 20, 1 << 46),
        default: Preset::Value("1T"),
        change: Change::Never,
        placeholder: "SIZE",
        help: "Guest memory that one session may attach",
        doc_values: "",
        doc: "Maximum guest memory that one session can share with its worker. It's never more than the guest has",
    },
    Setting {
        key: "plain.max",
        kind: Kind::Size(4096, 1 << 30),
        default: Preset::Value("64M"),
        change: Change::Never,
        placeholder: "SIZE",
        help: "Maximum size of one command on the command queue",
        doc_values: "",
        doc: "Maximum size of a command sent through the command virtqueue",
    },
    // The `uid` is never 0, which is root's, or 4294967295, which the kernel takes as -1 (leave the
    // ID unchanged), so that the processes would keep root's ID.
    Setting {
        key: "uid",
        kind: Kind::Number(1, u32::MAX as u64 - 1),
        default: Preset::Words("chosen by vcudad", "a free one from 2113929216 to 2113994750"),
        change: Change::Never,
        placeholder: "UID",
        help: "Host user ID and group ID of the VM's processes, 2113929216 to 2113994750",
        doc_values: "",
        doc: "User and group (with the same ID) of the VM's processes. Two VMs can't have the same `uid`. Through the control API, it must be in the range of the default",
    },
    Setting {
        key: "cpu.max",
        kind: Kind::Text(
            "\"QUOTA PERIOD\", \"QUOTA\" or \"max\", in microseconds: QUOTA from 1000 to 17592186044415, or max, and PERIOD from 1000 to 1000000",
        ),
        default: Preset::Words("", "none"),
        change: Change::Never,
        placeholder: "MAX",
        help: "CPU time limit for the VM's processes: \"QUOTA PERIOD\" in microseconds, as in cgroup v2's cpu.max",
        doc_values: "`\"QUOTA PERIOD\"`, `\"QUOTA\"`, or `\"max\"`, in microseconds; QUOTA is 1000 to 17592186044415 or `max`, and PERIOD is 1000 to 1000000",
        doc: "Maximum CPU time for the VM's device process and workers (`cpu.max` in cgroup v2)",
    },
    Setting {
        key: "pids.max",
        kind: Kind::Number(1, 1 << 22),
        default: Preset::Words("", "chosen by `vcudad` ([host limits](#host-limits))"),
        change: Change::Never,
        placeholder: "N",
        help: "Number of processes and threads that the VM's workers may have",
        doc_values: "",
        doc: "Maximum number of processes and threads for the VM's device process and workers (`pids.max` in cgroup v2)",
    },
    Setting {
        key: "memory.host_max",
        kind: Kind::Size(1 << 20, 1 << 50),
        default: Preset::Words("", "chosen by `vcudad` ([host limits](#host-limits))"),
        change: Change::Never,
        placeholder: "SIZE",
        help: "Host memory limit for the VM's processes",
        doc_values: "",
        doc: "Maximum host memory for the VM's device process and workers (`memory.max` in cgroup v2)",
    },
    Setting {
        key: "spin_us",
        kind: Kind::Number(0, 1_000_000),
        default: Preset::Value("50"),
        change: Change::Never,
        placeholder: "US",
        help: "Microseconds that an idle worker polls before sleeping",
        doc_values: "",
        doc: "How long a worker polls its command ring before it sleeps, in microseconds",
    },
    Setting {
        key: "env.allow",
        kind: Kind::List("a list of names of CUDA environment variables"),
        default: Preset::Words("harmless CUDA variables", "harmless ones"),
        change: Change::Never,
        placeholder: "NAMES",
        help: "Comma-separated environment variables that a guest process may pass to its worker",
        doc_values: "a list of the names below",
        doc: "Environment variables that a session can pass to its worker",
    },
];

/// Returns the setting with this key.
pub fn setting(key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.key == key)
}

impl Setting {
    /// If the setting can't be changed, returns its key, or that of its table if no other setting in
    /// the table can be changed.
    pub fn fixed_place(&self) -> Option<&'static str> {
        let table = self.table();
        let mut others = SETTINGS.iter().filter(|other| other.table() == table);
        match others.any(Self::is_live) {
            _ if self.is_live() => None,
            true => Some(self.key),
            false => Some(table),
        }
    }
}
