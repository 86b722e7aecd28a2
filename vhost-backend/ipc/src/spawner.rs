//! Messages between the broker and the spawner, the process that keeps the broker's privileges.
//!
//! There are two sockets. On the socket for calls, the broker sends [`ToSpawner`], and receives an
//! [`Answer`] to each [`Call`]. On the socket for events, the spawner sends an [`Event`] when a
//! process has started or ended. A broker either starts its spawner with these sockets, or connects
//! to a running spawner and receives them with a [`Welcome`].
//!
//! The spawner keeps copies of the broker's descriptors, so that another broker can take over when
//! this one exits.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Default directory of the VMs' vhost-user sockets, which is created if it's missing.
pub const SOCKETS: &str = "/run/virtio-cuda";

/// Path, in a worker's jail, of the VM's cache of compiled kernels.
pub const CODE_CACHE: &str = "/run/shared/cache";

/// The user IDs of VMs, from which one is chosen for a VM without a `uid`. Neither systemd (which
/// has ranges for dynamic users and for containers) nor the usual ranges for subordinate IDs and
/// for directory services include them.
pub const VM_UIDS: RangeInclusive<u32> = 0x7e00_0000..=0x7e00_fffe;

/// Maximum number of VMs.
pub const MAX_VMS: usize = 4096;

/// Identifies a process. The broker chooses it, and never uses the same number twice.
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
    /// The driver library that an earlier broker has given to [`Call::Seal`], if the spawner keeps
    /// a record from which this broker can continue.
    pub library: Option<PathBuf>,
}

/// A set of the broker's descriptors that the spawner keeps with a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kept {
    /// The broker's ends of its socket to the process and of the process's output.
    Process,
    /// A worker's gate page, its doorbell, and its bell.
    Scheduler,
    /// With a worker: the device process's ends of the worker's stream, doorbell and wake eventfd,
    /// until the broker has sent them. With a device process: three copies of the descriptor of its
    /// VM's spending page, because each set has a fixed number of descriptors.
    Device,
}

impl Kept {
    /// All sets.
    pub const ALL: [Self; 3] = [Self::Process, Self::Scheduler, Self::Device];

    /// Returns the number of descriptors in the set.
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
    /// and one for both its standard output and its standard error. For a probe, the two
    /// descriptors are its standard output and its standard error. [`Event`]s report when the
    /// process has started and ended.
    Start {
        /// The process's number, which events about it contain.
        id: ProcessId,
        /// The program to start.
        program: Program,
    },
    /// Kills a process, unless it has exited.
    Kill {
        /// The process to kill.
        id: ProcessId,
    },
    /// Keeps copies of the descriptors that this message carries, and closes copies of the same set
    /// that it kept before.
    Keep {
        /// The process with which to keep the copies.
        id: ProcessId,
        /// The set to which the descriptors belong.
        what: Kept,
    },
    /// Closes the copies that are kept of a set of descriptors.
    Drop {
        /// The process with which the copies are kept.
        id: ProcessId,
        /// The set to close.
        what: Kept,
    },
    /// Forgets a process that has ended. Until the broker sends this, [`Call::NextProcess`] returns
    /// the process.
    Forget {
        /// The process to forget.
        id: ProcessId,
    },
    /// Drops all files in a VM's shared memory. The VM's processes must have ended.
    ClearShared {
        /// The VM's name.
        vm: String,
    },
    /// Makes a request that the spawner answers after it has carried it out.
    Call(Call),
}

/// A program that the spawner starts, with its arguments.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Program {
    /// The device process of the VM with this name, in the VM's cgroup and as the VM's user.
    Device {
        /// The VM's name.
        vm: String,
    },
    /// A worker, which serves one session.
    Worker {
        /// The worker's CUDA_VISIBLE_DEVICES.
        visible: String,
        /// The device files that the worker needs in its jail.
        devices: Vec<PathBuf>,
        /// The session that waits for the worker. `None` for a warm worker, which gets its session
        /// later.
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
        /// The worker's CUDA_VISIBLE_DEVICES, if it must find only some of the GPUs.
        visible: Option<String>,
        /// The device files that the worker needs in its jail. `None` if it isn't in a jail.
        devices: Option<Vec<PathBuf>>,
    },
}

/// The session that waits for a new worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewSession {
    /// The VM's name.
    pub vm: String,
    /// The session's environment variables.
    pub env: Vec<(String, String)>,
    /// Set if the worker is a client of the MPS daemon for its GPUs. Such a worker has no jail.
    pub mps: Option<MpsClient>,
    /// Whether the worker creates a context in advance. A spawner of the previous version doesn't
    /// read this, so it must be the last field.
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
    /// Adds a permission. Later calls are refused unless they are permitted. Refused after
    /// [`Call::Seal`].
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
    /// Creates the parent of the VMs' cgroups. If the broker has started this spawner, also moves
    /// the broker into a cgroup below that parent. The answer is [`Answer::Cgroups`].
    SetUpCgroups,
    /// Binds the control API's socket, at the path that was permitted, unless it's bound there
    /// already. The answer carries the socket.
    BindControl,
    /// Closes the spawner's copy of the control API's socket, and removes its file.
    UnbindControl,
    /// Creates a VM's cgroup and its socket. The answer carries the listening socket.
    AddVm(NewVm),
    /// Changes the limits of a VM's cgroup.
    SetLimits {
        /// The VM's name.
        vm: String,
        /// The new limits. Limits that are `None` don't change.
        limits: CgroupLimits,
    },
    /// Moves a process to a VM's cgroup. If it's a worker in the jail that has no VM yet, also
    /// gives it the VM's shared memory.
    Join {
        /// The VM's name.
        vm: String,
        /// The process to move.
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
    /// Does the same as `RemoveVm` for all VMs except the named ones.
    RetainVms {
        /// Names of the VMs that are not removed.
        names: Vec<String>,
    },
    /// Stops all MPS daemons except those of workers with a `CUDA_VISIBLE_DEVICES` in this list.
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
    /// [`Answer::Process`], which carries the process's pidfd and the kept copies of each set, or
    /// [`Answer::Done`] if there is no such process.
    NextProcess {
        /// The number of the previous process, or 0 to start with the first one.
        after: ProcessId,
    },
    /// Keeps the file that this call carries: the broker's record, from which another broker can
    /// continue.
    KeepRecord,
    /// Asks for the record that [`Call::KeepRecord`] has passed. The answer carries the record, and
    /// the spawner no longer keeps it.
    TakeRecord,
    /// Ends all processes, removes everything that was created for VMs, and forgets the record.
    EndAll,
    /// Does the same as `BindControl` for the read socket. An earlier spawner refuses it as
    /// [`Part::Request`].
    BindRead,
    /// Does the same as `UnbindControl` for the read socket.
    UnbindRead,
}

/// A permission for later calls, which the broker derives from the configuration file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Permit {
    /// Sockets directly in this directory.
    SocketFolder(PathBuf),
    /// A socket with this path.
    Socket(PathBuf),
    /// A VM whose processes run as this user, which may be outside [`VM_UIDS`].
    Uid(u32),
    /// The control API's socket.
    Control {
        /// The socket's path.
        path: PathBuf,
        /// The group whose members may use the socket.
        group: Option<u32>,
    },
    /// The control API's read socket, which accepts only requests that change nothing. A spawner of
    /// an earlier version refuses this permission.
    Read {
        /// The socket's path.
        path: PathBuf,
        /// The group whose members may use the socket.
        group: Option<u32>,
    },
}

/// A VM that the broker serves.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewVm {
    /// The VM's name.
    pub name: String,
    /// The ID of the user and group of the VM's processes. Ignored by a spawner without privileges.
    pub uid: Option<u32>,
    /// Path of the VM's vhost-user socket.
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
    /// The call succeeded, and has no other result.
    Done,
    /// The controllers of the VMs' cgroups.
    Cgroups {
        /// Names of the controllers. Empty if there are no cgroups.
        controllers: Vec<String>,
        /// The reason why controllers are missing, for messages.
        why: String,
    },
    /// Answer to [`Call::NextProcess`]: a process that the broker hasn't made the spawner forget.
    Process {
        /// The number that [`ToSpawner::Start`] gave the process.
        id: ProcessId,
        /// The process ID.
        pid: u32,
        /// How the process ended. `None` while it runs.
        end: Option<End>,
        /// The sets of descriptors that the answer carries, in the order of the descriptors.
        kept: Vec<Kept>,
    },
    /// The call failed.
    Refused(Refusal),
}

/// The reason why a call failed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Refusal {
    /// The part of the call that failed.
    pub part: Part,
    /// The reason, for messages.
    pub reason: String,
}

/// The part of a call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// The request, which isn't permitted or isn't valid.
    Request,
    /// Creating or removing a socket.
    Socket,
    /// Creating or changing a cgroup.
    Cgroup,
    /// Creating the VM's shared memory.
    SharedMemory,
    /// Creating the jail of workers, because the host lacks or forbids a feature that the jail
    /// needs.
    NoJail,
}

/// Messages from the spawner to the broker about processes.
#[derive(Debug, Serialize, Deserialize)]
pub enum Event {
    /// A process has been created, and will execute its program. Carries its pidfd.
    Started {
        /// The number that [`ToSpawner::Start`] gave the process.
        id: ProcessId,
        /// The process ID.
        pid: u32,
    },
    /// A process has ended, or couldn't be started. No other event follows for this process. The
    /// broker must send [`ToSpawner::Forget`].
    Ended {
        /// The number that [`ToSpawner::Start`] gave the process.
        id: ProcessId,
        /// How the process ended.
        how: End,
    },
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// The process exited or was killed. Contains the status, as waitpid(2) returns it.
    Exited(i32),
    /// The process couldn't be started. Contains the reason.
    NotStarted(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The spawner keeps running when vcudad is upgraded.
    #[test]
    fn a_spawner_of_the_previous_version_reads_new_sessions() {
        #[derive(Debug, PartialEq, Deserialize)]
        enum PreviousMessage {
            Start { id: ProcessId, program: PreviousProgram },
        }
        #[derive(Debug, PartialEq, Deserialize)]
        #[allow(dead_code)]
        enum PreviousProgram {
            Device { vm: String },
            Worker { visible: String, devices: Vec<PathBuf>, session: Option<PreviousSession> },
        }
        #[derive(Debug, PartialEq, Deserialize)]
        struct PreviousSession {
            vm: String,
            env: Vec<(String, String)>,
            mps: Option<()>,
        }
        let (visible, devices) = (String::from("GPU-a"), vec![PathBuf::from("/dev/nvidia0")]);
        let (vm, env) = (String::from("web"), vec![(String::from("A"), String::from("b"))]);
        let session = NewSession { vm: vm.clone(), env: env.clone(), mps: None, context: false };
        let program = Program::Worker {
            visible: visible.clone(),
            devices: devices.clone(),
            session: Some(session),
        };
        let bytes = postcard::to_stdvec(&ToSpawner::Start { id: 7, program }).unwrap();
        let session = Some(PreviousSession { vm, env, mps: None });
        let program = PreviousProgram::Worker { visible, devices, session };
        assert_eq!(postcard::from_bytes(&bytes), Ok(PreviousMessage::Start { id: 7, program }));
    }
}
