//! The `doctor` command: checks whether the host has what virtio-cuda needs.
//!
//! | module | contents |
//! |---|---|
//! | `finding` | the result of a check |
//! | `host` | the host's files and programs, or those of a test |
//! | `driver` | NVIDIA's driver: library, device files, HMM, MPS |
//! | `kernel` | cgroups and namespaces |
//! | `vmm` | the VMMs and their versions |
//! | `access` | the groups of the control API's sockets |
//! | `broker` | vcudad, and whether it uses its file, can evict kernels, and has a jail |

mod access;
mod broker;
mod driver;
mod finding;
mod host;
mod kernel;
#[cfg(test)]
mod tests;
mod vmm;

use crate::client::Client;
pub(crate) use finding::{Finding, Status};
use host::Host;

/// Checks this host, and vcudad if it's running.
pub(crate) async fn check(client: &Client) -> Vec<Finding> {
    let host = Host::this();
    let mut findings = check_host(&host);
    findings.extend(broker::check(&host, client).await);
    findings
}

fn check_host(host: &Host) -> Vec<Finding> {
    vec![
        driver::library(host),
        driver::device_files(host),
        driver::pageable_memory(host),
        driver::mps(host),
        kernel::cgroups(host),
        kernel::namespaces(host),
        vmm::qemu(host),
        vmm::cloud_hypervisor(host),
        access::group(host),
    ]
}
