//! `cargo xtask cycles`: checks every crate in the workspace for cycles and prints them.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::dependencies::{self, Dependencies};
use super::graph;
use super::source::Crate;

/// Prints the cycles of every crate and, with `edges`, every import inside a cycle. Fails if there
/// is a cycle.
pub fn run(edges: bool) -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace");
    let mut cyclic = BTreeSet::new();
    for (package, file) in targets(root)? {
        let krate = Crate::read(&file)?;
        if report(&package, root, &krate, edges) {
            cyclic.insert(package);
        }
    }
    if cyclic.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = cyclic.into_iter().collect();
    Err(format!(
        "modules import each other in {}. Move shared items to a module of their own; \
         `cargo xtask cycles --edges` lists every import inside a cycle",
        names.join(", ")
    )
    .into())
}

/// Returns the libraries and programs in the workspace: the package and the root file of each.
fn targets(root: &Path) -> Result<Vec<(String, PathBuf)>, Box<dyn Error>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for package in list(&metadata["packages"]) {
        for target in list(&package["targets"]) {
            let is_test = |kind: &Value| {
                ["bench", "custom-build", "example", "test"].contains(&text(kind).as_str())
            };
            if !list(&target["kind"]).iter().any(is_test) {
                found.push((text(&package["name"]), PathBuf::from(text(&target["src_path"]))));
            }
        }
    }
    Ok(found)
}

/// Prints the cycles in a library or program. Returns true if there are cycles.
fn report(package: &str, root: &Path, krate: &Crate, edges: bool) -> bool {
    let dependencies = dependencies::find(krate);
    let successors: Vec<Vec<usize>> =
        dependencies.iter().map(|found| found.keys().copied().collect()).collect();
    let cycles = graph::cycles(&successors);
    for component in &cycles {
        let modules: Vec<&str> =
            component.iter().map(|&module| krate.modules[module].path.as_str()).collect();
        let cycle = graph::shortest_cycle(&successors, component);
        let next = cycle.iter().skip(1).chain(cycle.first());
        let example: Vec<String> = cycle
            .iter()
            .zip(next)
            .map(|(&from, &to)| edge(root, krate, &dependencies, from, to))
            .collect();
        println!("{package}: {}: {}", modules.join(" "), example.join(", "));
        if edges {
            for &from in component {
                for to in successors[from].iter().filter(|to| component.contains(to)) {
                    println!("    {}", edge(root, krate, &dependencies, from, *to));
                }
            }
        }
    }
    !cycles.is_empty()
}

/// Formats a dependency: the dependent module `from`, the module `to` that it depends on, and one
/// place where `from` names an item in `to`.
fn edge(root: &Path, krate: &Crate, found: &Dependencies, from: usize, to: usize) -> String {
    let example = &found[from][&to];
    let file = &krate.modules[from].file;
    let file = file.strip_prefix(root).unwrap_or(file);
    format!(
        "{} -> {} ({}:{} {})",
        krate.modules[from].path,
        krate.modules[to].path,
        file.display(),
        example.line,
        example.path
    )
}
