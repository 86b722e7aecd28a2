//! The crates that are linked into programs and libraries, from `cargo metadata` and `Cargo.lock`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

/// A crate that is linked into a program or library.
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) version: String,
    /// The crate's license, as an SPDX expression.
    pub(super) license: String,
    pub(super) authors: Vec<String>,
    pub(super) repository: Option<String>,
    /// The directory with the crate's source.
    pub(super) folder: PathBuf,
    /// The SHA-256 of the crate's archive, or `None` if the crate is in the workspace.
    pub(super) checksum: Option<String>,
    /// The IDs of the crates on which this crate depends.
    pub(super) dependencies: Vec<String>,
}

/// All crates that a package contains.
pub(super) struct Contents {
    /// The crates, by ID, which is the name and the version.
    pub(super) crates: BTreeMap<String, Crate>,
    /// IDs of the crates from which the package is built.
    pub(super) roots: Vec<String>,
    /// The version of the Rust standard library.
    pub(super) rust: String,
}

/// Finds the given crates of the workspace, and all crates that are linked into them. Build scripts
/// and procedural macros run only during the build, so they and their dependencies aren't included.
pub(super) fn find(roots: &[&str]) -> Result<Contents, Box<dyn Error>> {
    let metadata = metadata()?;
    let checksums = checksums(&std::fs::read_to_string(
        PathBuf::from(text(&metadata["workspace_root"])).join("Cargo.lock"),
    )?);
    let packages: HashMap<_, _> =
        list(&metadata["packages"]).map(|p| (text(&p["id"]), p)).collect();
    let nodes: HashMap<_, _> =
        list(&metadata["resolve"]["nodes"]).map(|node| (text(&node["id"]), node)).collect();
    let members: Vec<_> = list(&metadata["workspace_members"]).map(text).collect();
    let mut left = Vec::new();
    for root in roots {
        let is_root = |id: &&&str| text(&packages[**id]["name"]) == *root;
        let member = members.iter().find(is_root);
        left.push(*member.ok_or_else(|| format!("the workspace has no package '{root}'"))?);
    }
    let id = |package: &Value| format!("{} {}", text(&package["name"]), text(&package["version"]));
    let root_ids = left.iter().map(|root| id(packages[root])).collect();

    let (mut seen, mut crates) = (BTreeSet::new(), BTreeMap::new());
    while let Some(next) = left.pop() {
        if !seen.insert(next) {
            continue;
        }
        let linked: Vec<_> = list(&nodes[next]["deps"])
            .filter(|dependency| list(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null()))
            .map(|dependency| text(&dependency["pkg"]))
            .filter(|dependency| !is_macro(packages[dependency]))
            .collect();
        let package = packages[next];
        let mut dependencies: Vec<_> = linked.iter().map(|other| id(packages[other])).collect();
        dependencies.sort();
        left.extend(linked);
        let name = text(&package["name"]).to_owned();
        let version = text(&package["version"]).to_owned();
        let license =
            package["license"].as_str().ok_or_else(|| format!("{name} has no license"))?;
        let manifest = PathBuf::from(text(&package["manifest_path"]));
        let source = package["source"].as_str();
        let checksum = checksums.get(&(name.clone(), version.clone())).cloned();
        if source.is_some() && checksum.is_none() {
            return Err(format!("Cargo.lock has no checksum for {name} {version}").into());
        }
        crates.insert(
            id(package),
            Crate {
                // In the old notation for license expressions, a slash means OR.
                license: license.replace(" / ", " OR ").replace('/', " OR "),
                authors: list(&package["authors"]).map(|one| text(one).to_owned()).collect(),
                repository: package["repository"].as_str().map(str::to_owned),
                folder: manifest.parent().ok_or("the manifest has no directory")?.to_owned(),
                checksum: source.and(checksum),
                name,
                version,
                dependencies,
            },
        );
    }
    Ok(Contents { crates, roots: root_ids, rust: rust_version()? })
}

fn metadata() -> Result<Value, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--locked", "--format-version", "1"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo metadata: {}", reason.trim()).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn rust_version() -> Result<String, Box<dyn Error>> {
    let output =
        Command::new("rustc").arg("--version").current_dir(env!("CARGO_MANIFEST_DIR")).output()?;
    let printed = String::from_utf8(output.stdout)?;
    let version = printed.split_whitespace().nth(1).ok_or("rustc --version printed nothing")?;
    Ok(version.to_owned())
}

fn is_macro(package: &Value) -> bool {
    list(&package["targets"]).any(|target| list(&target["kind"]).any(|kind| kind == "proc-macro"))
}

/// Returns the checksum of each package in `Cargo.lock`, by name and version.
fn checksums(lock: &str) -> HashMap<(String, String), String> {
    let of = |package: &str, key: &str| {
        let mut lines = package.lines();
        lines.find_map(|line| {
            line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"').map(str::to_owned)
        })
    };
    let packages = lock.split("[[package]]").skip(1);
    packages
        .filter_map(|package| {
            Some(((of(package, "name")?, of(package, "version")?), of(package, "checksum")?))
        })
        .collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linked_crates_are_found_and_macros_and_development_dependencies_are_not() {
        let found = find(&["guest-libcuda"]).unwrap();
        let has = |name: &str| found.crates.values().any(|one| one.name == name);
        assert!(has("guest-libcuda") && has("libc") && has("thiserror"));
        assert!(!has("thiserror-impl") && !has("syn") && !has("proptest"));
    }

    #[test]
    fn checksums_are_read() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\
                    source = \"registry\"\nchecksum = \"12\"\n\n[[package]]\nname = \"b\"\n\
                    version = \"0.1.0\"\n";
        let found = checksums(lock);
        assert_eq!(found.len(), 1);
        assert_eq!(found[&("a".into(), "1.0.0".into())], "12");
    }
}
