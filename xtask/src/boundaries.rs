//! Checks that no host crate depends on a crate that its trust domain must not touch.

use std::error::Error;
use std::process::Command;

/// CUDA's types and its driver.
const CUDA: &[&str] = &["cuda-api", "cudarc"];
/// Crates that map or parse guest memory.
const GUEST_MEMORY: &[&str] =
    &["vhost", "vhost-user-backend", "virtio-queue", "virtio-bindings", "vm-memory"];
/// System calls, event loops, logs and time.
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
/// The host's three programs. They start each other but must not link each other.
const PROGRAMS: &[&str] = &["vcudad", "vhost-device-cuda", "vhost-cuda-worker"];

/// A crate must not depend on any of these.
struct Boundary {
    package: &'static str,
    forbidden: &'static [&'static [&'static str]],
    reason: &'static str,
}

const BOUNDARIES: &[Boundary] = &[
    Boundary {
        package: "host-ipc",
        forbidden: &[CUDA, GUEST_MEMORY, PROGRAMS],
        reason: "every process of the host links the messages",
    },
    Boundary {
        package: "gpu-scheduler",
        forbidden: &[CUDA, GUEST_MEMORY, IO, PROGRAMS],
        reason: "the scheduler does no I/O",
    },
    Boundary {
        package: "memory-ledger",
        forbidden: &[CUDA, GUEST_MEMORY, IO, PROGRAMS],
        reason: "the ledger does no I/O",
    },
    Boundary {
        package: "control-server",
        forbidden: &[CUDA, GUEST_MEMORY, PROGRAMS],
        reason: "the control API reaches the broker through its handle only",
    },
    Boundary {
        package: "vcudad",
        forbidden: &[CUDA, GUEST_MEMORY, &["vhost-device-cuda", "vhost-cuda-worker"]],
        reason: "the broker touches no guest memory, links no CUDA and starts the other programs",
    },
    Boundary {
        package: "vhost-device-cuda",
        forbidden: &[CUDA, &["vcudad", "vhost-cuda-worker"]],
        reason: "the device process links no CUDA, and no other program",
    },
    Boundary {
        package: "vhost-cuda-worker",
        forbidden: &[GUEST_MEMORY, &["vcudad", "vhost-device-cuda"]],
        reason: "the worker sees only the regions of its session, and links no other program",
    },
];

/// Checks every crate of the table.
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

/// The names of all crates that a package links, excluding itself.
fn dependencies(package: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // `cargo tree` resolves features for this package alone, as a build of it does.
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

/// Parses `cargo tree` output: the first word of each line is a crate's name.
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
