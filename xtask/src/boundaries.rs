//! Checks that no host crate depends on crates that its trust domain must not use.

use std::error::Error;
use std::process::Command;

/// Crates with CUDA types or access to the CUDA driver.
const CUDA: &[&str] = &["cuda-api", "cudarc"];
/// Crates that map or parse guest memory.
const GUEST_MEMORY: &[&str] =
    &["vhost", "vhost-user-backend", "virtio-queue", "virtio-bindings", "vm-memory"];
/// Crates for I/O: system calls, event loops, and logging.
const IO: &[&str] = &[
    "event-manager",
    "libc",
    "mio",
    "nix",
    "rustix",
    "socket2",
    "tokio",
    "tracing",
    "vmm-sys-util",
];
/// Crates for event loops and the control API.
const NETWORK: &[&str] =
    &["control-server", "event-manager", "hyper", "mio", "nvml-wrapper", "tokio"];
/// The host programs. They may start one another as processes, but must not link one another's
/// crates.
const PROGRAMS: &[&str] = &[
    "vcudad",
    "vhost-cuda-spawner",
    "vhost-cuda-supervisor",
    "vhost-cuda-worker",
    "vhost-device-cuda",
];

/// A package, and the crates on which it must not depend.
struct Boundary {
    package: &'static str,
    forbidden: &'static [&'static [&'static str]],
    reason: &'static str,
}

const BOUNDARIES: &[Boundary] = &[
    Boundary {
        package: "host-ipc",
        forbidden: &[CUDA, GUEST_MEMORY, PROGRAMS],
        reason: "all host processes link it",
    },
    Boundary {
        package: "host-jail",
        forbidden: &[CUDA, GUEST_MEMORY, PROGRAMS],
        reason: "the host processes that a guest can attack link it",
    },
    Boundary {
        package: "rm-control",
        forbidden: &[CUDA, GUEST_MEMORY, PROGRAMS],
        reason: "the broker links it",
    },
    Boundary {
        package: "gpu-scheduler",
        forbidden: &[CUDA, GUEST_MEMORY, IO, PROGRAMS],
        reason: "the scheduler must not do I/O",
    },
    Boundary {
        package: "memory-ledger",
        forbidden: &[CUDA, GUEST_MEMORY, IO, PROGRAMS],
        reason: "the ledger must not do I/O",
    },
    Boundary {
        package: "control-server",
        forbidden: &[CUDA, GUEST_MEMORY, PROGRAMS],
        reason: "the control API must reach the broker only through its handle",
    },
    Boundary {
        package: "vcudad",
        forbidden: &[
            CUDA,
            GUEST_MEMORY,
            &[
                "vhost-cuda-spawner",
                "vhost-cuda-supervisor",
                "vhost-cuda-worker",
                "vhost-device-cuda",
            ],
        ],
        reason: "the broker must not access guest memory or link CUDA or another host program",
    },
    Boundary {
        package: "vhost-device-cuda",
        forbidden: &[
            CUDA,
            &["vcudad", "vhost-cuda-spawner", "vhost-cuda-supervisor", "vhost-cuda-worker"],
        ],
        reason: "the device process must not link CUDA or another host program",
    },
    Boundary {
        package: "vhost-cuda-spawner",
        forbidden: &[
            CUDA,
            GUEST_MEMORY,
            NETWORK,
            &["vcudad", "vhost-cuda-supervisor", "vhost-cuda-worker", "vhost-device-cuda"],
        ],
        reason: "the spawner keeps root's privileges, so it must be small",
    },
    Boundary {
        package: "vhost-cuda-supervisor",
        forbidden: &[
            CUDA,
            GUEST_MEMORY,
            &["vcudad", "vhost-cuda-spawner", "vhost-cuda-worker", "vhost-device-cuda"],
        ],
        reason: "the supervisor must not access guest memory or link CUDA or another host program",
    },
    Boundary {
        package: "vhost-cuda-worker",
        forbidden: &[
            GUEST_MEMORY,
            &["vcudad", "vhost-cuda-spawner", "vhost-cuda-supervisor", "vhost-device-cuda"],
        ],
        reason: "the worker must see only its session's regions and not link another host program",
    },
];

/// Checks the dependencies of every package in `BOUNDARIES`.
pub fn run() -> Result<(), Box<dyn Error>> {
    let mut problems = Vec::new();
    for boundary in BOUNDARIES {
        let dependencies = dependencies(boundary.package)?;
        problems.extend(violations(boundary, &dependencies).map(|name| {
            format!(
                "{} depends on {name}, but {}: cargo tree -p {} -e normal -i {name}",
                boundary.package, boundary.reason, boundary.package
            )
        }));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\nxtask: ").into()) }
}

fn violations<'a>(
    boundary: &'a Boundary,
    dependencies: &'a [String],
) -> impl Iterator<Item = &'static str> + 'a {
    let forbidden = boundary.forbidden.iter().copied().flatten().copied();
    forbidden.filter(|name| dependencies.iter().any(|dependency| dependency == name))
}

/// Returns the names of all crates that a package links, directly or indirectly, except its own.
fn dependencies(package: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Use `cargo tree`, because it resolves features for this package alone, as a build of the
    // package alone does.
    let output = Command::new(cargo)
        .args(["tree", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .args(["--package", package])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo tree -p {package}: {}", reason.trim()).into());
    }
    let lines = String::from_utf8(output.stdout)?;
    Ok(names(&lines).filter(|name| *name != package).map(str::to_owned).collect())
}

/// Parses the output of `cargo tree`: the first word of each line is the name of a crate.
fn names(lines: &str) -> impl Iterator<Item = &str> {
    lines.lines().filter_map(|line| line.split_whitespace().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_dependency_is_found_and_an_allowed_one_is_not() {
        let device = BOUNDARIES.iter().find(|b| b.package == "vhost-device-cuda").unwrap();
        let linked = |tree: &str| names(tree).map(str::to_owned).collect::<Vec<_>>();
        let good = linked("vhost v0.18.0\nlibc v0.2.191\nserde v1.0.229 (*)\n");
        assert_eq!(violations(device, &good).count(), 0);
        let bad = linked("vhost v0.18.0\ncudarc v0.19.10\n");
        assert_eq!(violations(device, &bad).collect::<Vec<_>>(), ["cudarc"]);
    }
}
