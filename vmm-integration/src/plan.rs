//! Plans a run from the options: the kind of VM, its files, and the job for the guest.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{RunError, existing};
use crate::files::{cache, given_or};
use crate::folder::RunFolder;
use crate::job::{DEVICE_NODE, Job};
use crate::kvm;
use crate::options::{Accel, Options, Vmm};
use crate::process::Owned;
use crate::vm::Launch;
use crate::{device, initramfs, qemu, tar, uml};

/// A VM that is ready to run, and the resources that must exist as long as it runs.
#[derive(Debug)]
pub struct Plan {
    /// The argument for [`crate::vm::run`].
    pub launch: Launch,
    /// The kind of VM, such as "qemu-tcg".
    pub name: &'static str,
    /// The device process, if one was started. Drop it before `folder`, which contains its socket.
    pub device: Option<Owned>,
    /// The run's temporary directory.
    pub folder: RunFolder,
}

/// Returns the modules for this kind of VM ("uml" or "qemu").
fn modules(options: &Options, vmm: &str) -> Result<Vec<PathBuf>, RunError> {
    let mut paths = Vec::new();
    for text in &options.module {
        let path = match text.split_once('=') {
            Some((kind @ ("uml" | "qemu"), path)) if kind == vmm => path,
            Some(("uml" | "qemu", _)) => continue,
            _ if options.vmm == Vmm::Auto && !is_for(options, vmm) => continue,
            _ => text.as_str(),
        };
        paths.push(existing("--module", Path::new(path))?);
    }
    Ok(paths)
}

/// Returns true if a module given without `uml=` or `qemu=` is for this kind of VM. If the options
/// name a kernel for only one kind of VM, the module is for that kind. If not, the module is for
/// both kinds.
fn is_for(options: &Options, vmm: &str) -> bool {
    let qemu = options.kernel.is_some() || options.initrd.is_some() || options.disk.is_some();
    let uml = options.uml_kernel.is_some();
    if vmm == "uml" { uml || !qemu } else { qemu || !uml }
}

fn wants_device(options: &Options) -> bool {
    options.socket.is_some() || options.start_device
}

/// Chooses the kind of VM for `--vmm auto`.
pub fn choose(options: &Options) -> Result<Vmm, RunError> {
    if options.vmm != Vmm::Auto {
        return Ok(options.vmm);
    }
    let driver = |vmm| !wants_device(options) || modules(options, vmm).is_ok_and(|m| !m.is_empty());
    let boots = options.disk.is_some() || (driver("qemu") && qemu::kernel(options).is_ok());
    let qemu = boots && qemu::binary(options).is_ok();
    // If options that only apply to a QEMU guest are given, choose QEMU.
    let other = options.kernel.is_some() || options.initrd.is_some() || options.disk.is_some();
    let uml =
        driver("uml") && uml_kernel(options).is_ok() && (!other || options.uml_kernel.is_some());
    match (qemu, uml) {
        (true, true) if options.accel != Accel::Tcg && kvm::usable(options).is_ok() => Ok(Vmm::Qemu),
        (_, true) => Ok(Vmm::Uml),
        (true, false) => Ok(Vmm::Qemu),
        (false, false) => Err(RunError::Usage(
            "--vmm auto: found neither a user-mode Linux kernel nor QEMU with a kernel, each with its --module (build them with images/uml-kernel.sh, or images/qemu.sh and images/kernel-debs.sh)"
                .into(),
        )),
    }
}

/// Returns the user-mode Linux kernel to boot.
pub fn uml_kernel(options: &Options) -> Result<PathBuf, RunError> {
    given_or(
        "--uml-kernel",
        &options.uml_kernel,
        cache().join("uml/current/linux"),
        "images/uml-kernel.sh builds one",
    )
}

/// Returns the command's environment: a minimal one, plus the variables in --env.
fn environment(
    options: &Options,
    libraries: Option<&str>,
) -> Result<Vec<(String, String)>, RunError> {
    let mut env = vec![
        (
            "PATH".to_string(),
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_string(),
        ),
        ("HOME".into(), "/root".into()),
        ("LC_ALL".into(), "C.UTF-8".into()),
    ];
    for text in &options.env {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name.to_string(), Some(value.to_string())),
            None => (text.clone(), std::env::var(text).ok()),
        };
        if name.is_empty() || name.contains('\0') {
            return Err(RunError::Usage(format!("--env: '{text}' has no variable name")));
        }
        env.retain(|(other, _)| *other != name);
        if let Some(value) = value {
            env.push((name, value));
        }
    }
    if let Some(folder) = libraries {
        match env.iter_mut().find(|(name, _)| name == "LD_LIBRARY_PATH") {
            Some((_, value)) => *value = format!("{folder}:{value}"),
            None => env.push(("LD_LIBRARY_PATH".into(), folder.into())),
        }
    }
    Ok(env)
}

/// Returns whether a socket path is short enough for a Unix socket and valid in a VMM's arguments.
fn short_and_plain(socket: &Path) -> bool {
    let text = socket.to_string_lossy();
    text.len() < 108 && !text.contains([' ', ':', ',', '"'])
}

/// Splits the `GUEST[:HOST]` values of --fetch into guest paths and host paths.
fn fetches(options: &Options) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let pair = |text: &String| match text.split_once(':') {
        Some((guest, host)) => (PathBuf::from(guest), PathBuf::from(host)),
        None => {
            let guest = PathBuf::from(text);
            let host = guest.file_name().map_or_else(|| guest.clone(), PathBuf::from);
            (guest, host)
        }
    };
    options.fetch.iter().map(pair).unzip()
}

/// Prepares everything for the VM: files, job, and device process.
pub fn plan(options: &Options) -> Result<Plan, RunError> {
    if options.command.is_empty() {
        return Err(RunError::Usage("COMMAND is missing (see --help)".into()));
    }
    if !wants_device(options) && !options.no_device {
        return Err(RunError::Usage(
            "give one of --socket PATH, --start-device and --no-device".into(),
        ));
    }
    let given = options.socket.as_deref().map(|path| existing("--socket", path)).transpose()?;
    let vmm = choose(options)?;
    let folder = RunFolder::new()?;
    let mut socket = folder.path().join("device.sock");
    if let Some(path) = given {
        if short_and_plain(&path) {
            socket = path;
        } else {
            symlink(&path, &socket).map_err(RunError::host("cannot link the socket"))?;
        }
    }
    let attached = wants_device(options).then(|| (socket.clone(), options.device_id));
    let (mut launch, name) = match vmm {
        Vmm::Uml => plan_uml(options, folder.path(), attached)?,
        Vmm::Qemu => plan_qemu(options, folder.path(), attached)?,
        Vmm::Auto | Vmm::CloudHypervisor => {
            return Err(RunError::Usage(
                "vcuda-run can only print cloud-hypervisor's command line: add --print".into(),
            ));
        }
    };
    if let Some(log) = &options.log {
        launch.log = log.clone();
    }
    launch.timeout = (options.timeout > 0).then(|| Duration::from_secs(options.timeout));
    // Start the device process last, so that it doesn't have to be stopped if an earlier step
    // fails.
    let device = match options.start_device && !options.print {
        true => Some(start_device(options, &socket)?),
        false => None,
    };
    Ok(Plan { launch, name, device, folder })
}

fn start_device(options: &Options, socket: &Path) -> Result<Owned, RunError> {
    let program = match &options.device_program {
        Some(path) => existing("--device-program", path)?,
        None => device::default_program(),
    };
    let mut arguments = Vec::new();
    if let Some(size) = &options.memory_max {
        arguments.push(format!("--memory-max={size}"));
    }
    arguments.extend(options.device_arg.iter().cloned());
    device::start(&program, socket, &arguments, options.device_log.as_deref())
}

fn write_job(path: &Path, job: &Job) -> Result<(), RunError> {
    let text = serde_json::to_vec_pretty(job)
        .map_err(|e| RunError::Usage(format!("cannot encode the command for the guest: {e}")))?;
    fs::write(path, text).map_err(RunError::host(format!("cannot write {}", path.display())))
}

fn plan_uml(
    options: &Options,
    folder: &Path,
    device: Option<(PathBuf, u32)>,
) -> Result<(Launch, &'static str), RunError> {
    let link = |target: &Path, name: &str| {
        let link = folder.join(name);
        symlink(target, &link)
            .map_err(RunError::host(format!("cannot create {}", link.display())))?;
        Ok::<PathBuf, RunError>(link)
    };
    let exe = std::env::current_exe().map_err(RunError::host("cannot find this program"))?;
    let init = link(&exe, "init")?;
    let mut libraries = None;
    if let Some(libcuda) = &options.libcuda {
        let lib = folder.join("lib");
        fs::create_dir(&lib).map_err(RunError::host("cannot create a directory for libcuda"))?;
        link(&existing("--libcuda", libcuda)?, "lib/libcuda.so.1")?;
        libraries = Some(lib.display().to_string());
    }
    let cwd = match &options.cwd {
        Some(cwd) => cwd.clone(),
        None => {
            std::env::current_dir().map_err(RunError::host("cannot read the working directory"))?
        }
    };
    let (fetch, targets) = fetches(options);
    let job = Job {
        command: options.command.clone(),
        env: environment(options, libraries.as_deref())?,
        cwd,
        modules: modules(options, "uml")?,
        device: device.as_ref().map(|_| DEVICE_NODE.into()),
        channel: uml::CHANNEL.into(),
        fetch,
    };
    let job_path = folder.join("job.json");
    write_job(&job_path, &job)?;
    let uml = uml::Uml {
        kernel: uml_kernel(options)?,
        memory: options.mem,
        cpus: options.cpus,
        device,
        init,
        job: job_path,
        run_dir: folder.into(),
        memory_dir: uml::memory_folder(options.mem)?,
    };
    let launch = Launch {
        vmm: "user-mode Linux",
        command: uml.command(),
        log: folder.join("console"),
        timeout: None,
        fetch: targets,
        fatal: None,
    };
    Ok((launch, "uml"))
}

fn plan_qemu(
    options: &Options,
    folder: &Path,
    device: Option<(PathBuf, u32)>,
) -> Result<(Launch, &'static str), RunError> {
    let libraries = options.libcuda.as_ref().map(|_| initramfs::LIBRARIES);
    let (fetch, targets) = fetches(options);
    let mut job = Job {
        command: options.command.clone(),
        env: environment(options, libraries)?,
        cwd: options.cwd.clone().unwrap_or_else(|| "/root".into()),
        modules: Vec::new(),
        device: device.as_ref().map(|_| DEVICE_NODE.into()),
        channel: qemu::CHANNEL.into(),
        fetch,
    };
    let brought = initramfs::Brought {
        files: &options.file,
        libcuda: options.libcuda.as_deref(),
        modules: &modules(options, "qemu")?,
    };
    let boot = match &options.disk {
        Some(disk) => {
            let archive = folder.join("run.tar");
            let bytes = tar::archive(&mut job, &brought)?;
            fs::write(&archive, bytes).map_err(RunError::host("cannot write the job's disk"))?;
            qemu::Boot::Disk { image: existing("--disk", disk)?, archive }
        }
        None => {
            let initrd = folder.join("initrd");
            let bytes = initramfs::build(&mut job, &brought, options.initrd.as_deref())?;
            fs::write(&initrd, bytes).map_err(RunError::host("cannot write the initramfs"))?;
            qemu::Boot::Kernel { kernel: qemu::kernel(options)?, initrd }
        }
    };
    let kvm = match options.accel {
        Accel::Kvm => true,
        Accel::Tcg => false,
        Accel::Auto => match kvm::usable(options) {
            Ok(()) => true,
            Err(why) => {
                eprintln!("vcuda-run: KVM is unavailable ({why}); using TCG, which is slow");
                false
            }
        },
    };
    let machine = qemu::Qemu {
        binary: qemu::binary(options)?,
        kvm,
        memory: options.mem,
        cpus: options.cpus,
        device,
        boot,
        append: options.append.clone(),
    };
    let launch = Launch {
        vmm: if kvm { "QEMU (KVM)" } else { "QEMU (TCG)" },
        command: machine.command(),
        log: folder.join("console"),
        timeout: None,
        fetch: targets,
        fatal: kvm.then_some(qemu::KVM_LOST),
    };
    Ok((launch, if kvm { "qemu-kvm" } else { "qemu-tcg" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Options {
        Options::parse_line(line.split(' ').map(Into::into)).unwrap()
    }

    #[test]
    fn test_modules_are_loaded_in_the_vms_whose_kernel_is_given() {
        let of = |line: &str, vmm| modules(&options(line), vmm).unwrap().len();
        let both = "vcuda-run --module uml=/bin/sh --module qemu=/bin/sh --module /bin/sh true";
        assert_eq!((of(both, "uml"), of(both, "qemu")), (2, 2));
        let uml = "vcuda-run --uml-kernel /k --module /bin/sh true";
        assert_eq!((of(uml, "uml"), of(uml, "qemu")), (1, 0));
        let qemu = "vcuda-run --kernel /k --module /bin/sh true";
        assert_eq!((of(qemu, "uml"), of(qemu, "qemu")), (0, 1));
        assert_eq!(of("vcuda-run --vmm qemu --uml-kernel /k --module /bin/sh true", "qemu"), 1);
    }

    #[test]
    fn test_a_missing_argument_or_file_gives_exit_code_2() {
        for (line, word) in [
            ("vcuda-run true", "--socket"),
            ("vcuda-run --no-device", "COMMAND"),
            ("vcuda-run --socket /no/such true", "--socket"),
            ("vcuda-run --vmm uml --no-device --uml-kernel /no/such true", "--uml-kernel"),
            ("vcuda-run --vmm uml --no-device --module /no/such true", "--module"),
            ("vcuda-run --vmm qemu --no-device --disk /no/such true", "--disk"),
            ("vcuda-run --vmm cloud-hypervisor --no-device true", "--print"),
        ] {
            let error = plan(&options(line)).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{line}: {error}");
            assert!(error.to_string().contains(word), "{line}: {error}");
        }
    }

    #[test]
    fn test_env_options_set_replace_and_pass_on_variables() {
        let options = options(
            "vcuda-run --env A=b=c --env LD_LIBRARY_PATH=/x --env NO_SUCH_VARIABLE --env PATH=/p true",
        );
        let env = environment(&options, Some("/lib")).unwrap();
        let get = |name: &str| env.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        assert_eq!(get("A"), Some("b=c"));
        assert_eq!(get("LD_LIBRARY_PATH"), Some("/lib:/x"));
        assert_eq!(get("NO_SUCH_VARIABLE"), None);
        assert_eq!(get("PATH"), Some("/p"));
    }
}
