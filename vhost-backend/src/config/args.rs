//! The same settings as arguments, for one VM.

use std::path::PathBuf;

use clap::Args;

use super::{DriverLibrary, Env, Max, Memory, Settings, Size};

/// One VM.
#[derive(Args, Clone, Debug)]
pub struct VmArgs {
    /// The vhost-user socket to listen on
    #[arg(long, value_name = "PATH")]
    pub socket_path: PathBuf,
    /// The VM's name, in logs
    #[arg(long, value_name = "NAME", default_value = "vm")]
    pub name: String,
    /// Device memory that the VM may hold, such as 4G
    #[arg(long, value_name = "SIZE", default_value = "4G")]
    pub memory_max: Size,
    /// Guest processes that may use the device at once [default: 32]
    #[arg(long, value_name = "N")]
    pub sessions_max: Option<u32>,
    /// Front ends that may be connected at once [default: 64]
    #[arg(long, value_name = "N")]
    pub connections_max: Option<u32>,
    /// Guest memory that one session may attach [default: 1T]
    #[arg(long, value_name = "SIZE")]
    pub pinned_max: Option<Size>,
    /// Bytes of one command on the command queue [default: 64M]
    #[arg(long, value_name = "SIZE")]
    pub plain_max: Option<Size>,
    /// Permissions of the socket [default: 0660]
    #[arg(long, value_name = "MODE")]
    pub socket_mode: Option<String>,
    /// User of the VM's processes on the host [default: one that is chosen, when run by root]
    #[arg(long)]
    pub uid: Option<u32>,
    /// Group of the VM's processes on the host [default: the same number as the user]
    #[arg(long)]
    pub gid: Option<u32>,
    /// CPU time of the VM's workers, "QUOTA PERIOD" in microseconds as cgroup v2 has it
    #[arg(long, value_name = "MAX")]
    pub cpu_max: Option<String>,
    /// Processes and threads of the VM's workers
    #[arg(long, value_name = "N")]
    pub pids_max: Option<u64>,
    /// Host memory of the VM's workers
    #[arg(long, value_name = "SIZE")]
    pub host_memory_max: Option<Size>,
    /// How long a worker spins before it sleeps, in microseconds [default: 50]
    #[arg(long, value_name = "US")]
    pub spin_us: Option<u32>,
    /// Environment variables that a session may bring, with commas between [default: some of CUDA's]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub env_allow: Option<Vec<String>>,
}

/// What the workers run.
#[derive(Args, Clone, Debug)]
pub struct DriverArgs {
    /// auto (NVIDIA's where it finds a device, else softgpu), softgpu, or a libcuda.so.1
    #[arg(long = "driver-library", value_name = "auto|softgpu|PATH")]
    pub library: Option<DriverLibrary>,
    /// Serve also where kernels can reach all memory of their worker's process (HMM)
    #[arg(long)]
    pub allow_pageable_memory_access: bool,
    /// Workers that are kept ready for new sessions [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=256))]
    pub warm_workers: Option<u32>,
}

impl VmArgs {
    pub(super) fn settings(&self) -> (String, PathBuf, Settings) {
        let settings = Settings {
            socket_mode: self.socket_mode.clone(),
            uid: self.uid,
            gid: self.gid,
            spin_us: self.spin_us,
            memory: Memory { max: Some(self.memory_max), host_max: self.host_memory_max },
            sessions: Max { max: self.sessions_max },
            connections: Max { max: self.connections_max },
            pinned: Max { max: self.pinned_max },
            plain: Max { max: self.plain_max },
            cpu: Max { max: self.cpu_max.clone() },
            pids: Max { max: self.pids_max },
            env: Env { allow: self.env_allow.clone() },
        };
        (self.name.clone(), self.socket_path.clone(), settings)
    }
}
