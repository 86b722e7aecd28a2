//! Decides which of the broker's requests the spawner carries out. The broker sends the permissions
//! from the configuration file, and then seals the policy. From then on, the spawner treats the
//! broker as untrusted.

use std::path::{Component, Path, PathBuf};

use control_api::{PERMITTED_ENV, check_name};
use host_ipc::spawner::{CgroupLimits, NewVm, Permit, VM_UIDS};

/// Maximum number of processes that run at once, not including MPS daemons.
pub(crate) const MAX_PROCESSES: usize = 16_384;

/// Devices through which NVIDIA's libraries reach the kernel driver, on Linux and on WSL.
const CONTROL_DEVICES: [&str; 3] = ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/dxg"];
/// The directory of the device files of MIG slices.
const CAPABILITIES: &str = "/dev/nvidia-caps";

/// The path and group of a socket of the control API.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ApiSocket {
    pub(crate) path: PathBuf,
    pub(crate) group: Option<u32>,
}

/// The permissions. By default, nothing is permitted.
#[derive(Default)]
pub(crate) struct Policy {
    socket_folders: Vec<PathBuf>,
    sockets: Vec<PathBuf>,
    uids: Vec<u32>,
    pub(crate) control: Option<ApiSocket>,
    /// The control API's read socket, which accepts only requests that change nothing.
    pub(crate) read: Option<ApiSocket>,
    /// The driver library that workers load. `None` until the policy is sealed.
    library: Option<PathBuf>,
}

impl Policy {
    /// Adds a permission. Fails if the policy is sealed.
    pub(crate) fn permit(&mut self, permit: Permit) -> Result<(), String> {
        self.check_open()?;
        match permit {
            Permit::SocketFolder(path) => self.socket_folders.push(path),
            Permit::Socket(path) => self.sockets.push(path),
            Permit::Uid(uid) => self.uids.push(uid),
            Permit::Control { path, group } => self.control = Some(ApiSocket { path, group }),
            Permit::Read { path, group } => self.read = Some(ApiSocket { path, group }),
        }
        Ok(())
    }

    /// Seals the policy: fixes the driver library, and allows no more permissions.
    pub(crate) fn seal(&mut self, library: PathBuf) -> Result<(), String> {
        self.check_open()?;
        self.library = Some(library);
        Ok(())
    }

    pub(crate) fn check_open(&self) -> Result<(), String> {
        match self.library {
            None => Ok(()),
            Some(_) => Err("it is allowed only at startup".into()),
        }
    }

    /// Returns the driver library that workers load.
    pub(crate) fn library(&self) -> Result<&Path, String> {
        self.library.as_deref().ok_or_else(|| "there is no driver library yet".into())
    }

    /// Checks whether the policy permits probing a library.
    pub(crate) fn check_probe(&self, library: &Path) -> Result<(), String> {
        match &self.library {
            Some(sealed) if sealed != library => Err("it is not the driver library".into()),
            _ => Ok(()),
        }
    }

    /// Returns the users that a worker may become, apart from those in [`VM_UIDS`].
    pub(crate) fn uids(&self) -> &[u32] {
        &self.uids
    }

    /// Checks a VM that is about to be added. `is_root` is true if the spawner runs as root, so
    /// that the VM's processes run as the VM's user.
    pub(crate) fn check_vm(&self, vm: &NewVm, is_root: bool) -> Result<(), String> {
        // The name becomes part of the names of files.
        check_name(&vm.name).map_err(|error| error.to_string())?;
        let is_uid = |uid: u32| VM_UIDS.contains(&uid) || self.uids.contains(&uid);
        if is_root && !vm.uid.is_some_and(is_uid) {
            return Err(format!("no VM may have the user {:?}", vm.uid));
        }
        if vm.socket_group.is_some_and(is_uid) {
            return Err(format!("processes of VMs run with group {:?}", vm.socket_group));
        }
        if vm.socket_mode & !0o777 != 0 {
            return Err(format!("a socket can't have mode {:o}", vm.socket_mode));
        }
        if !self.is_socket(&vm.socket) {
            return Err(format!("no VM may have the socket {}", vm.socket.display()));
        }
        vm.limits.as_ref().map_or(Ok(()), check_limits)
    }

    fn is_socket(&self, path: &Path) -> bool {
        let is_plain = path.is_absolute()
            && path
                .components()
                .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        // A path with a slash at the end is treated as the same path without it, because `Path`
        // ignores the slash.
        let folder = path.file_name().and_then(|_| path.parent());
        let is_in =
            folder.is_some_and(|folder| self.socket_folders.iter().any(|one| one == folder));
        self.sockets.iter().any(|one| one == path) || (is_plain && is_in)
    }
}

/// Checks limits of a cgroup, which are written to its files.
pub(crate) fn check_limits(limits: &CgroupLimits) -> Result<(), String> {
    let Some(cpu) = &limits.cpu else { return Ok(()) };
    let is_number = |word: &str| word.parse::<u64>().is_ok();
    let words: Vec<&str> = cpu.split(' ').collect();
    match words[..] {
        [max] if max == "max" || is_number(max) => Ok(()),
        [max, period] if (max == "max" || is_number(max)) && is_number(period) => Ok(()),
        _ => Err(format!("'{}' is not a limit on CPU time", cpu.escape_debug())),
    }
}

/// Checks a session's environment variables.
pub(crate) fn check_env(env: &[(String, String)]) -> Result<(), String> {
    let is_permitted = |(name, value): &&(String, String)| {
        PERMITTED_ENV.contains(&name.as_str()) && !value.contains('\0')
    };
    match env.iter().find(|one| !is_permitted(one)) {
        None => Ok(()),
        Some((name, _)) => Err(format!("no session may set '{}'", name.escape_debug())),
    }
}

/// Checks the device files that a worker gets in its jail.
pub(crate) fn check_devices(devices: &[PathBuf]) -> Result<(), String> {
    let is_gpu = |path: &str| {
        let number = path.strip_prefix("/dev/nvidia");
        number.is_some_and(|number| number.parse::<u16>().is_ok())
    };
    let is_slice = |path: &str| {
        let name = path.strip_prefix(CAPABILITIES).and_then(|rest| rest.strip_prefix('/'));
        name.is_some_and(|name| !name.contains('/') && ![".", ".."].contains(&name))
    };
    let is_device = |path: &str| CONTROL_DEVICES.contains(&path) || is_gpu(path) || is_slice(path);
    match devices.iter().find(|path| !path.to_str().is_some_and(is_device)) {
        None => Ok(()),
        Some(path) => Err(format!("no worker may use the device {}", path.display())),
    }
}

/// Checks a value for CUDA_VISIBLE_DEVICES.
pub(crate) fn check_visible(visible: &str) -> Result<(), String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_,/.:".contains(&byte);
    match visible.bytes().all(is_part) {
        true => Ok(()),
        false => Err(format!("'{}' names no GPUs", visible.escape_debug())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed() -> Policy {
        let mut policy = Policy::default();
        policy.permit(Permit::SocketFolder("/run/virtio-cuda".into())).unwrap();
        policy.permit(Permit::Socket("/srv/b.sock".into())).unwrap();
        policy.permit(Permit::Uid(5000)).unwrap();
        policy.seal("/lib/libcuda.so.1".into()).unwrap();
        policy
    }

    fn vm(change: impl FnOnce(&mut NewVm)) -> NewVm {
        let mut vm = NewVm {
            name: "a".into(),
            uid: Some(*VM_UIDS.start()),
            socket: "/run/virtio-cuda/a.sock".into(),
            socket_mode: 0o660,
            socket_group: None,
            limits: None,
        };
        change(&mut vm);
        vm
    }

    #[test]
    fn a_sealed_policy_cannot_be_changed() {
        let mut policy = sealed();
        assert!(policy.permit(Permit::Uid(0)).is_err());
        assert!(policy.permit(Permit::SocketFolder("/etc/cron.d".into())).is_err());
        assert!(policy.seal("/tmp/evil.so".into()).is_err());
        assert_eq!(policy.library().unwrap(), Path::new("/lib/libcuda.so.1"));
        assert!(policy.check_probe(Path::new("/tmp/evil.so")).is_err());
    }

    #[test]
    fn only_permitted_users_names_and_sockets_are_accepted() {
        let policy = sealed();
        let check = |change: fn(&mut NewVm)| policy.check_vm(&vm(change), true);
        assert_eq!(check(|_| ()), Ok(()));
        assert_eq!(check(|vm| vm.uid = Some(5000)), Ok(()));
        assert_eq!(check(|vm| vm.socket = "/srv/b.sock".into()), Ok(()));
        for uid in [None, Some(0), Some(1), Some(*VM_UIDS.end() + 1), Some(u32::MAX)] {
            assert!(policy.check_vm(&vm(|vm| vm.uid = uid), true).is_err(), "{uid:?}");
        }
        for name in ["", ".", "..", "a/b", "../a", "a\0", "a\n", &"a".repeat(65)] {
            let vm = vm(|vm| vm.name = name.into());
            assert!(policy.check_vm(&vm, true).is_err(), "{name:?}");
        }
        for socket in [
            "/etc/cron.d/a",
            "/run/virtio-cuda/../a",
            "/run/virtio-cuda/..",
            "/run/virtio-cuda",
            "/run/virtio-cuda/deep/a",
            "run/virtio-cuda/a",
            "",
        ] {
            let vm = vm(|vm| vm.socket = socket.into());
            assert!(policy.check_vm(&vm, true).is_err(), "{socket:?}");
        }
        assert!(check(|vm| vm.socket_mode = 0o4755).is_err());
        assert!(check(|vm| vm.socket_group = vm.uid).is_err());
    }

    #[test]
    fn limits_are_numbers() {
        let cpu = |text: &str| {
            check_limits(&CgroupLimits { cpu: Some(text.into()), ..CgroupLimits::default() })
        };
        for good in ["max", "max 100000", "5", "200000 100000"] {
            assert_eq!(cpu(good), Ok(()), "{good}");
        }
        for bad in ["", "-1", "1 2 3", "1\n2", "+memory", "1  2"] {
            assert!(cpu(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_session_cannot_set_what_affects_more_than_its_worker() {
        let env = |name: &str| check_env(&[(name.into(), "1".into())]);
        assert_eq!(env("CUDA_LAUNCH_BLOCKING"), Ok(()));
        for name in ["LD_PRELOAD", "PATH", "CUDA_MPS_PIPE_DIRECTORY", "CUDA_LAUNCH_BLOCKING="] {
            assert!(env(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_worker_gets_only_devices_of_gpus() {
        let device = |path: &str| check_devices(&[path.into()]);
        for good in
            ["/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia15", "/dev/nvidia-caps/nvidia-cap1"]
        {
            assert_eq!(device(good), Ok(()), "{good}");
        }
        for bad in ["/dev/sda", "/dev/nvidia-modeset", "/dev/nvidia0/../sda", "/dev/nvidia-caps/.."]
        {
            assert!(device(bad).is_err(), "{bad}");
        }
    }
}
