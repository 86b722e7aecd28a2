//! Starts device processes, workers, and the supervisor.

use std::io;
use std::path::PathBuf;

use control_api::Sharing;

use crate::config::Vm;
use crate::gpu::driver::JailResult;
use crate::processes::output::Outputs;
use crate::processes::process::{ChildProcess, ChildRecord};
use crate::processes::spawner::{KeptProcess, Processes, Spawner};
use host_ipc::spawner::{NewSession, Program};

/// Starts device processes and workers.
#[derive(Clone)]
pub(crate) struct Launcher {
    spawner: Spawner,
    /// The jail of workers, or the reason why they have none.
    jail: JailResult,
    outputs: Outputs,
}

impl Launcher {
    pub(crate) fn new(spawner: Spawner, jail: JailResult, outputs: Outputs) -> Self {
        Self { spawner, jail, outputs }
    }

    pub(crate) fn spawner(&self) -> &Spawner {
        &self.spawner
    }

    /// Returns true if workers have a jail.
    pub(crate) fn has_jail(&self) -> bool {
        self.jail.is_ok()
    }

    /// Returns why workers have no jail, if they have none.
    pub(crate) fn no_jail(&self) -> Option<&str> {
        self.jail.as_ref().err().map(String::as_str)
    }

    /// Returns true if a VM's workers have a jail. Clients of an MPS daemon can't be in a jail,
    /// because they share memory with its server.
    pub(crate) fn has_jail_of(&self, vm: &Vm) -> bool {
        self.has_jail() && vm.spec.sharing == Sharing::Exclusive
    }

    /// Returns the ID of the user and group that a VM's processes must switch to, or `None` if they
    /// keep the spawner's.
    pub(crate) fn uid(&self, vm: &Vm) -> Option<u32> {
        vm.uid.filter(|_| self.spawner.is_root())
    }

    /// Starts the device process of the VM with this name. After that, the caller must send the
    /// settings to the process's socket.
    pub(crate) fn start_device(&self, vm: &str) -> io::Result<ChildProcess> {
        self.start(Program::Device { vm: vm.to_owned() }, "device", Some(vm))
    }

    /// Starts the supervisor of the workers in the jail.
    pub(crate) fn start_supervisor(&self) -> io::Result<ChildProcess> {
        self.start(Program::Supervisor, "supervisor", None)
    }

    /// Starts a worker, for a session if one is waiting for it. `visible` is its
    /// CUDA_VISIBLE_DEVICES, and `devices` are the device files of these GPUs.
    pub(crate) fn start_worker(
        &self,
        visible: String,
        devices: Vec<PathBuf>,
        session: Option<NewSession>,
    ) -> io::Result<ChildProcess> {
        let vm = session.as_ref().map(|session| session.vm.clone());
        self.start(Program::Worker { visible, devices, session }, "worker", vm.as_deref())
    }

    /// Takes over a process of the broker that this one replaces. Also returns the other
    /// descriptors that the spawner keeps with the process.
    pub(crate) fn restore(
        &self,
        record: ChildRecord,
        processes: &mut Processes,
        name: &'static str,
        vm: Option<&str>,
    ) -> io::Result<(ChildProcess, Option<KeptProcess>)> {
        ChildProcess::restore(record, &self.spawner, processes, &self.outputs, name, vm)
    }

    fn start(
        &self,
        program: Program,
        name: &'static str,
        vm: Option<&str>,
    ) -> io::Result<ChildProcess> {
        ChildProcess::start(program, &self.spawner, &self.outputs, name, vm)
    }
}
