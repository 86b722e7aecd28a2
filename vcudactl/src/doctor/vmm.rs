//! Checks the VMMs on the host and their versions.

use super::finding::Finding;
use super::host::Host;

/// The oldest version of QEMU that works, as in docs/vmm.md.
pub(super) const QEMU: (u32, u32) = (10, 2);
pub(super) const CLOUD_HYPERVISOR: (u32, u32) = (52, 0);

pub(super) fn qemu(host: &Host) -> Finding {
    let advice = "install QEMU 10.2 or newer (images/qemu.sh builds one)";
    check(host, "QEMU", "qemu-system-x86_64", QEMU, advice)
}

pub(super) fn cloud_hypervisor(host: &Host) -> Finding {
    let advice = "install cloud-hypervisor 52 or newer";
    check(host, "cloud-hypervisor", "cloud-hypervisor", CLOUD_HYPERVISOR, advice)
}

fn check(
    host: &Host,
    check: &'static str,
    program: &str,
    oldest: (u32, u32),
    advice: &str,
) -> Finding {
    let Some(path) = host.program(program) else {
        let advice = format!("if VMs use {check}, {advice}");
        return Finding::warn(check, format!("{program} isn't on PATH"), advice);
    };
    let text = host.version_of(&path);
    let path = path.display();
    match text.as_deref().and_then(version) {
        None => {
            let found = format!("{path} --version reports no version");
            Finding::warn(check, found, advice)
        }
        Some((major, minor)) if (major, minor) < oldest => {
            Finding::warn(check, format!("{path} is version {major}.{minor}, too old"), advice)
        }
        Some((major, minor)) => Finding::ok(check, format!("{major}.{minor}, {path}")),
    }
}

/// Returns the version in a line such as `QEMU emulator version 10.2.1 (Debian)` or
/// `cloud-hypervisor v52.0`.
pub(super) fn version(line: &str) -> Option<(u32, u32)> {
    line.split_whitespace().find_map(|word| {
        let mut numbers = word.strip_prefix('v').unwrap_or(word).split('.');
        let major = numbers.next()?.parse().ok()?;
        let minor = numbers.next()?;
        let digits = minor.find(|c: char| !c.is_ascii_digit()).unwrap_or(minor.len());
        Some((major, minor[..digits].parse().ok()?))
    })
}
