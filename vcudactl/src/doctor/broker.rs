//! Checks vcudad: whether it responds, uses its configuration file, can evict kernels, and has a
//! jail for workers.

use std::path::Path;

use control_api::{ConfigInfo, ErrorCode, GpuInfo, Stats, VersionInfo, counted};

use super::finding::Finding;
use super::host::Host;
use crate::client::Client;
use crate::config_file::{advice, describe};
use crate::error::CtlError;

const CHECK: &str = "vcudad";
const CONFIGURATION: &str = "configuration";
const EVICTION: &str = "eviction";
const JAIL: &str = "jail";

/// Queries vcudad, and reports whether it responds, and the state of its configuration file,
/// eviction, and jail.
pub(super) async fn check(host: &Host, client: &Client) -> [Finding; 4] {
    let asked = async {
        let version = client.get::<VersionInfo>("/v1/version").await?;
        Ok((version, client.get::<Stats>("/v1/stats").await?))
    };
    match asked.await {
        Ok((version, Stats { gpus, config, .. })) => [
            running(&version, &client.path_for_reading().await),
            configuration(config.as_ref()),
            eviction(&gpus),
            jail(&gpus),
        ],
        Err(error) => {
            let unknown = |check| {
                let found = "unknown: vcudad can't be asked";
                Finding::warn(check, found, "start vcudad, and run this again")
            };
            [not_usable(host, &error), unknown(CONFIGURATION), unknown(EVICTION), unknown(JAIL)]
        }
    }
}

/// Reports whether vcudad uses its configuration file.
pub(super) fn configuration(file: Option<&ConfigInfo>) -> Finding {
    match file {
        None => Finding::ok(CONFIGURATION, "vcudad reports no file"),
        Some(file) if file.refused.is_none() => Finding::ok(CONFIGURATION, describe(file)),
        Some(file) => Finding::fail(CONFIGURATION, describe(file), advice(file)),
    }
}

pub(super) fn running(version: &VersionInfo, socket: &Path) -> Finding {
    let ours = env!("CARGO_PKG_VERSION");
    let found = format!("version {}, {}", version.version, socket.display());
    if version.version == ours {
        return Finding::ok(CHECK, found);
    }
    let advice = "install vcudactl and vcudad from the same release, and restart vcudad";
    Finding::warn(CHECK, format!("{found}, but vcudactl {ours}"), advice)
}

/// Describes why vcudad can't be used. If it isn't running, that's only a warning, because this
/// command is also meant for hosts on which it hasn't been started yet.
pub(super) fn not_usable(host: &Host, error: &CtlError) -> Finding {
    let processes = host.processes("vcudad");
    match error {
        CtlError::NoSocket(path) | CtlError::NobodyListens(path) if processes.is_empty() => {
            Finding::warn(
                CHECK,
                format!("not running ({})", path.display()),
                "run systemctl start vcudad; if it fails, journalctl -u vcudad says why",
            )
        }
        CtlError::NoSocket(path) | CtlError::NobodyListens(path) => Finding::warn(
            CHECK,
            format!("running ({}), but not at {}", processes.join(", "), path.display()),
            "pass its control_socket to --socket",
        ),
        CtlError::NotAllowed { .. } | CtlError::OnlyRoot(..) | CtlError::NotASocket(_) => {
            Finding::warn(CHECK, "can't connect", error.to_string())
        }
        CtlError::Stopped(pid) => {
            Finding::fail(CHECK, format!("stopped (process {pid})"), error.to_string())
        }
        // vcudad isn't running, and its spawner responds in its place.
        CtlError::Refused(refused) if refused.code == ErrorCode::Unavailable => {
            Finding::fail(CHECK, "can't serve requests", refused.message.clone())
        }
        _ => Finding::fail(CHECK, "doesn't respond as it should", error.to_string()),
    }
}

/// Reports whether vcudad can evict kernels that outlast their VM's window.
pub(super) fn eviction(gpus: &[GpuInfo]) -> Finding {
    let without: Vec<&GpuInfo> = gpus.iter().filter(|gpu| !gpu.eviction).collect();
    if without.is_empty() {
        return Finding::ok(EVICTION, format!("works on {}", counted(gpus.len(), "GPU")));
    }
    let reasons = without.iter().map(|gpu| {
        let reason = gpu.eviction_unavailable.as_deref().unwrap_or("no reason reported");
        format!("GPU {}: {reason}", gpu.index)
    });
    Finding::warn(
        EVICTION,
        format!("not available ({})", reasons.collect::<Vec<_>>().join("; ")),
        "VMs wait for other VMs' long kernels; see docs/quotas.md, or set compute.kernel_timeout",
    )
}

/// Reports whether workers run in a jail. Without a jail, a guest that takes over its worker can
/// access files of the host.
pub(super) fn jail(gpus: &[GpuInfo]) -> Finding {
    let Some(without) = gpus.iter().find(|gpu| !gpu.jail) else {
        return Finding::ok(JAIL, "workers run in it");
    };
    let reason = without.jail_unavailable.as_deref().unwrap_or("no reason reported");
    Finding::fail(
        JAIL,
        format!("workers have none ({reason})"),
        "a guest that takes over its worker can reach files of the host; remove the cause, set \
         jail = \"required\" in vcudad's configuration, and restart virtio-cuda-spawner",
    )
}
