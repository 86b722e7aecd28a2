//! Checks whether KVM can run a guest on this host.
//!
//! On some hosts, /dev/kvm can be opened and responds to every query, but an ordinary kernel
//! crashes under it. After the queries, which are quick, the check therefore boots a trial guest.
//! The result is cached until the host reboots, unless the trial failed for another reason, such as
//! a missing QEMU or a host that was too busy.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use kvm_ioctls::Kvm;

use crate::files::cache;
use crate::folder::RunFolder;
use crate::job::Job;
use crate::options::Options;
use crate::vm::{self, Launch};
use crate::{initramfs, qemu};

/// KVM's API version, unchanged since Linux 2.6.22.
const API_VERSION: i32 = 12;
/// The reason why the trial guest didn't boot.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Failure {
    /// KVM can't run a guest.
    Kvm(String),
    /// Another reason, which may have nothing to do with KVM.
    Other(String),
}

impl Failure {
    fn other(why: impl ToString) -> Self {
        Self::Other(why.to_string())
    }
}

/// Returns `Ok` if a guest boots under KVM, or else the reason why it doesn't.
pub fn usable(options: &Options) -> Result<(), String> {
    static ANSWER: OnceLock<Result<(), String>> = OnceLock::new();
    ANSWER
        .get_or_init(|| {
            query()?;
            let cached = cache_file();
            if let Some(answer) = cached.as_deref().and_then(read_cached) {
                return answer;
            }
            let answer = boot(options);
            if let (Some(path), Some(text)) = (cached, worth_caching(&answer)) {
                let _ = path.parent().map(fs::create_dir_all);
                let _ = fs::write(path, text);
            }
            answer.map_err(|(Failure::Kvm(why) | Failure::Other(why))| why)
        })
        .clone()
}

/// Returns the text to cache for a result, or `None` if the result may not depend on KVM.
fn worth_caching(answer: &Result<(), Failure>) -> Option<&str> {
    match answer {
        Ok(()) => Some("usable"),
        Err(Failure::Kvm(why)) => Some(why),
        Err(Failure::Other(_)) => None,
    }
}

/// Checks everything that can be checked without booting a guest.
pub fn query() -> Result<(), String> {
    let kvm = Kvm::new().map_err(|e| format!("/dev/kvm cannot be opened: {e}"))?;
    match kvm.get_api_version() {
        API_VERSION => {}
        other => return Err(format!("KVM has API version {other} instead of {API_VERSION}")),
    }
    let vm = kvm.create_vm().map_err(|e| format!("KVM cannot create a VM: {e}"))?;
    vm.create_vcpu(0).map_err(|e| format!("KVM cannot create a CPU: {e}"))?;
    Ok(())
}

/// Returns the path of the file that caches the result until the host reboots.
fn cache_file() -> Option<PathBuf> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(cache().join("kvm").join(boot.trim()))
}

fn read_cached(path: &Path) -> Option<Result<(), String>> {
    match fs::read_to_string(path).ok()?.as_str() {
        "" => None,
        "usable" => Some(Ok(())),
        why => Some(Err(why.to_string())),
    }
}

/// Boots a trial guest with the kernel that these options select, and with a command that does
/// nothing.
fn boot(options: &Options) -> Result<(), Failure> {
    let folder = RunFolder::new().map_err(Failure::other)?;
    let mut job = Job {
        command: vec!["true".into()],
        env: Vec::new(),
        cwd: "/".into(),
        modules: Vec::new(),
        device: None,
        channel: qemu::CHANNEL.into(),
        fetch: Vec::new(),
    };
    let brought = initramfs::Brought { files: &[], libcuda: None, modules: &[] };
    let initrd = folder.path().join("initrd");
    let bytes = initramfs::build(&mut job, &brought, None).map_err(Failure::other)?;
    fs::write(&initrd, bytes).map_err(Failure::other)?;
    let machine = qemu::Qemu {
        binary: qemu::binary(options).map_err(Failure::other)?,
        kvm: true,
        memory: 256 << 20,
        cpus: 1,
        device: None,
        boot: qemu::Boot::Kernel { kernel: qemu::kernel(options).map_err(Failure::other)?, initrd },
        append: None,
    };
    let launch = Launch {
        vmm: "KVM",
        command: machine.command(),
        log: folder.path().join("console"),
        timeout: Some(Duration::from_secs(options.probe_timeout)),
        fetch: Vec::new(),
        fatal: Some(qemu::KVM_LOST),
    };
    let mut nothing = std::io::sink();
    match vm::run(launch, &mut nothing, &mut std::io::sink()) {
        Ok(outcome) if outcome.code == 0 => Ok(()),
        Ok(outcome) => {
            let code = outcome.code;
            Err(Failure::Other(format!("the trial guest's command exited with code {code}")))
        }
        Err(error) => Err(failure(&error.to_string())),
    }
}

/// Determines from an error's text whether KVM is the reason for the failure.
fn failure(text: &str) -> Failure {
    match text.contains(qemu::KVM_LOST) {
        true => Failure::Kvm(reason(text)),
        false => Failure::Other(reason(text)),
    }
}

/// Shortens an error, which may contain console lines, to its relevant line.
fn reason(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let line = line.find(qemu::KVM_LOST).map_or(line, |at| line[at..].trim_end_matches(')'));
    format!("a trial guest did not boot: {line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_the_reason_is_kvms_own_message() {
        let text = "the KVM guest ended (KVM internal error. Suberror: 1)\n    RAX=0";
        assert_eq!(reason(text), "a trial guest did not boot: KVM internal error. Suberror: 1");
    }

    #[test]
    fn test_only_results_of_kvm_are_cached() {
        let kvm = failure("the KVM guest ended (KVM internal error. Suberror: 1)");
        assert!(worth_caching(&Err(kvm)).unwrap().contains("KVM internal error"));
        assert_eq!(worth_caching(&Ok(())), Some("usable"));
        for text in ["cannot run qemu: No such file or directory", "the KVM guest took too long"] {
            assert_eq!(worth_caching(&Err(failure(text))), None);
        }
    }

    #[test]
    fn test_cached_results_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert_eq!(read_cached(&path), None);
        for (text, answer) in
            [("", None), ("usable", Some(Ok(()))), ("no", Some(Err("no".to_string())))]
        {
            fs::write(&path, text).unwrap();
            assert_eq!(read_cached(&path), answer);
        }
    }
}
