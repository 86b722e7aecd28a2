//! Messages between the broker and the spawner, the process that keeps the broker's privileges.
//!
//! There are two sockets. On the first one, the broker sends [`ToSpawner`], and gets an [`Answer`]
//! to each [`Call`]. On the second one, the spawner sends an [`Event`] when a process has started
//! or ended. A broker either starts its spawner with these sockets, or gets them with a [`Welcome`]
//! when it connects to one that runs already.
//!
//! The spawner keeps copies of the broker's descriptors, so that another broker can take the place
//! of this one.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Default directory of the VMs' vhost-user sockets, which is created if it's missing.
pub const SOCKETS: &str = "/run/virtio-cuda";

/// Where a worker in a jail finds its VM's cache of compiled kernels.
pub const CODE_CACHE: &str = "/run/shared/cache";

/// The user IDs of VMs, from which one is chosen for a VM without a `uid`. Neither systemd (which
/// has ranges for dynamic users and for containers) nor the usual ranges for subordinate IDs and
/// for directory services include them.
pub const VM_UIDS: RangeInclusive<u32> = 0x7e00_0000..=0x7e00_fffe;

/// Maximum number of VMs.
pub const MAX_VMS: usize = 4096;

/// Identifies a process. The broker chooses it, and never uses it again.
pub type ProcessId = u64;

/// The version of these messages, which a broker checks when it connects.
pub const PROTOCOL: u32 = 1;

/// The spawner's first message to a broker that connects. Carries the broker's ends of the sockets
/// for calls and for events.
#[derive(Debug, Serialize, Deserialize)]
pub struct Welcome {
    /// The version of the messages.
    pub protocol: u32,
    /// Whether the spawner runs as root.
    pub is_root: bool,
    /// The driver library that an earlier broker has given to [`Call::Seal`], if the spawner keeps a
    /// record with which this broker can continue.
    pub library: Option<PathBuf>,
}

/// A set of the broker's descriptors that the spawner keeps with a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kept {
    /// The broker's ends of the process's socket and of its output.
    Process,
    /// A worker's gate page, its doorbell, and its bell.
    Scheduler,
    /// With a worker: the device process's ends of the worker's stream, doorbell and wake eventfd,
    /// until they have been sent. With a device process: the page of its VM's spending, three times.
    Device,
}

impl Kept {
    /// All sets.
    pub const ALL: [Self; 3] = [Self::Process, Self::Scheduler, Self::Device];

    /// Returns the number of descriptors.
    pub const fn count(self) -> usize {
        match self {
            Self::Process => 2,
            Self::Scheduler | Self::Device => 3,
        }
    }
}

/// Messages from the broker to the spawner.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToSpawner {
    /// Starts a program. Carries two descriptors: the program's end of its socket to the broker,
    /// and one for both its standard output and its standard error. For a probe, they are one for
    /// its standard output and one for its standard error. [`Event`]s report when the process has
    /// started and ended.
    Start {
        /// The number that events contain.
        id: ProcessId,
        /// The program.
        program: Program,
    },
    /// Kills a process, unless it has exited.
    Kill {
        /// The process.
        id: ProcessId,
    },
    /// Keeps copies of the descriptors that this message carries, and closes those of this set that
    /// it has kept before.
    Keep {
        /// The process.
        id: ProcessId,
        /// The set.
        what: Kept,
    },
    /// Closes the copies of a set of descriptors.
    Drop {
        /// The process.
        id: ProcessId,
        /// The set.
        what: Kept,
    },
    /// Forgets a process that has ended. Until then, [`Call::NextProcess`] returns it.
    Forget {
        /// The process.
        id: ProcessId,
    },
    /// Drops all files in a VM's shared memory. Its processes must have ended.
    ClearShared {
        /// The VM's name.
        vm: String,
    },
    /// Asks for something that is done before the answer is sent.
    Call(Call),
}

/// A program that the spawner starts, with its arguments.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Program {
    /// The device process of the VM with this name, in the VM's cgroup and with its user.
    Device {
        /// The VM's name.
        vm: String,
    },
    /// A worker.
    Worker {
        /// The worker's CUDA_VISIBLE_DEVICES.
        visible: String,
        /// The device files that the worker needs in its jail.
        devices: Vec<PathBuf>,
        /// The session that waits for the worker, if there is one.
        session: Option<NewSession>,
    },
    /// The supervisor of workers.
    Supervisor,
    /// A worker that only probes the driver library, and prints what it found.
    Probe {
        /// Path of the library. After [`Call::Seal`], it must be the path that was given in that
        /// call.
        library: PathBuf,
        /// Whether to accept a library whose kernels can access all memory of their process.
        allow_pageable_memory_access: bool,
        /// The worker's CUDA_VISIBLE_DEVICES, if it must not find all GPUs.
        visible: Option<String>,
        /// The device files that the worker needs in its jail. `None` if it isn't in a jail.
        devices: Option<Vec<PathBuf>>,
    },
}

/// The session of a worker that is started for one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewSession {
    /// The VM's name.
    pub vm: String,
    /// The session's environment variables.
    pub env: Vec<(String, String)>,
    /// Set if the worker is a client of the MPS daemon for its GPUs. Then, it has no jail.
    pub mps: Option<MpsClient>,
    /// Whether the worker creates a context in advance. A spawner of the previous version doesn't read
    /// this, so it must be the last field.
    pub context: bool,
}

/// Limits of a client of MPS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MpsClient {
    /// Number of GPUs.
    pub gpus: u32,
    /// Share of the multiprocessors, in units of 0.01%.
    pub threads: Option<u32>,
    /// Limit on device memory on each GPU, in MiB.
    pub memory_mib: Option<u64>,
}

/// Requests that the spawner answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Call {
    /// Adds a permission that later calls need. Refused after [`Call::Seal`].
    Permit(Permit),
    /// Creates the jail of workers, or removes it. Refused after [`Call::Seal`], and as
    /// [`Part::NoJail`] if this host can't have one.
    SetJail(bool),
    /// Sets the driver library that workers load. After this, the spawner treats the broker as
    /// untrusted: it does only what the broker has permitted by now.
    Seal {
        /// Path of the library.
        library: PathBuf,
    },
    /// Creates the parent of the VMs' cgroups. A spawner that the broker has started moves the broker
    /// below it. The answer is [`Answer::Cgroups`].
    SetUpCgroups,
    /// Binds the control API's socket, at the path that was permitted, unless it's bound there
    /// already. The answer carries it.
    BindControl,
    /// Closes the spawner's copy of the control API's socket, and removes its file.
    UnbindControl,
    /// Creates a VM's cgroup and its socket. The answer carries the listening socket.
    AddVm(NewVm),
    /// Changes the limits of a VM's cgroup.
    SetLimits {
        /// The VM's name.
        vm: String,
        /// The limits. Those that are `None` stay.
        limits: CgroupLimits,
    },
    /// Moves a process to a VM's cgroup. If it's a worker in the jail that has no VM yet, also gives it
    /// the VM's shared memory.
    Join {
        /// The VM's name.
        vm: String,
        /// The process.
        process: ProcessId,
    },
    /// Closes the spawner's copy of a VM's socket, and removes its file.
    Unbind {
        /// The VM's name.
        vm: String,
    },
    /// Removes everything that `AddVm` has created. The VM's processes must have ended.
    RemoveVm {
        /// The VM's name.
        vm: String,
    },
    /// Does the same as `RemoveVm` for all VMs but these.
    RetainVms {
        /// The names of the others.
        names: Vec<String>,
    },
    /// Stops all MPS daemons except those that these workers use.
    RetainMps {
        /// The CUDA_VISIBLE_DEVICES of the workers whose daemons continue.
        visible: Vec<String>,
    },
    /// Asks for the listening socket of a VM, which the answer carries.
    Listener {
        /// The VM's name.
        vm: String,
    },
    /// Asks for the process with the lowest number above `after`. The answer is
    /// [`Answer::Process`], unless there is none. It carries the process's pidfd and the descriptors
    /// of each set that is kept.
    NextProcess {
        /// The number of the process before it. 0 if there is none.
        after: ProcessId,
    },
    /// Keeps the file that this call carries: the record with which another broker can continue.
    KeepRecord,
    /// Asks for the record that [`Call::KeepRecord`] has passed, which the answer carries. The
    /// spawner no longer keeps it.
    TakeRecord,
    /// Ends all processes, removes everything that was created for VMs, and forgets the record.
    EndAll,
    /// Does the same as `BindControl` for the read socket. An earlier spawner refuses it as
    /// [`Part::Request`].
    BindRead,
    /// Does the same as `UnbindControl` for the read socket.
    UnbindRead,
}

/// Something that the configuration file allows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Permit {
    /// Sockets directly in this directory.
    SocketFolder(PathBuf),
    /// A socket with this path.
    Socket(PathBuf),
    /// A VM whose processes run as this user, which isn't in [`VM_UIDS`].
    Uid(u32),
    /// The control API's socket.
    Control {
        /// Its path.
        path: PathBuf,
        /// The group that may use it.
        group: Option<u32>,
    },
    /// The control API's socket that is only for reading. An earlier spawner refuses it.
    Read {
        /// Its path.
        path: PathBuf,
        /// The group that may use it.
        group: Option<u32>,
    },
}

/// A VM that the broker serves.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewVm {
    /// Its name.
    pub name: String,
    /// The ID of the user and group of the VM's processes. Ignored by a spawner without privileges.
    pub uid: Option<u32>,
    /// Path of its socket.
    pub socket: PathBuf,
    /// Permissions of the socket file.
    pub socket_mode: u32,
    /// Group of the socket file.
    pub socket_group: Option<u32>,
    /// The limits of the VM's cgroup. `None` if the VM has no cgroup.
    pub limits: Option<CgroupLimits>,
}

/// Limits of a cgroup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupLimits {
    /// `cpu.max`, as cgroup v2 expects it.
    pub cpu: Option<String>,
    /// `memory.max`, in bytes.
    pub memory: Option<u64>,
    /// `pids.max`.
    pub pids: Option<u64>,
}

/// Answers of the spawner.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// It was done.
    Done,
    /// The controllers of the VMs' cgroups.
    Cgroups {
        /// Names of the controllers. Empty if there are no cgroups.
        controllers: Vec<String>,
        /// Why controllers are missing, for messages.
        why: String,
    },
    /// A process that hasn't been forgotten.
    Process {
        /// The number given to `Start`.
        id: ProcessId,
        /// Its process ID.
        pid: u32,
        /// How it ended, if it has.
        end: Option<End>,
        /// The sets of descriptors that the answer carries, in this order.
        kept: Vec<Kept>,
    },
    /// It wasn't done.
    Refused(Refusal),
}

/// The reason why a call failed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Refusal {
    /// What failed.
    pub part: Part,
    /// Why, for messages.
    pub reason: String,
}

/// The part that can't be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// The request isn't permitted, or isn't valid.
    Request,
    /// The socket.
    Socket,
    /// The cgroup.
    Cgroup,
    /// The shared memory.
    SharedMemory,
    /// The jail of workers, because the host lacks or forbids something that it needs.
    NoJail,
}

/// Messages from the spawner to the broker about processes.
#[derive(Debug, Serialize, Deserialize)]
pub enum Event {
    /// A process has been created, and will execute its program. Carries its pidfd.
    Started {
        /// The number given to `Start`.
        id: ProcessId,
        /// Its process ID.
        pid: u32,
    },
    /// A process has ended, or couldn't be started. No other event follows for this process. The
    /// broker must send [`ToSpawner::Forget`].
    Ended {
        /// The number given to `Start`.
        id: ProcessId,
        /// How it ended.
        how: End,
    },
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// The process exited with this status, as waitpid(2) returns it.
    Exited(i32),
    /// It wasn't started, for this reason.
    NotStarted(String),
}
