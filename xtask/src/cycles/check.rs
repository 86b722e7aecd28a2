//! `cargo xtask cycles`: checks every crate in the workspace for cycles and prints them.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::dependencies::{self, Dependencies};
use super::source::Crate;
use super::{allowed, graph};

/// Prints the cycles in every crate and, if `edges` is set, each dependency within them. Fails if a
/// crate has more modules in cycles than `cycles.allow` allows.
pub fn run(edges: bool) -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace");
    let allowed = allowed::read(&root.join("xtask/cycles.allow"))?;
    let mut in_cycles = BTreeMap::new();
    for (package, file) in targets(root)? {
        let krate = Crate::read(&file)?;
        let number = report(&package, root, &krate, edges);
        *in_cycles.entry(package).or_insert(0) += number;
    }
    let mut too_many = Vec::new();
    for (package, number) in in_cycles {
        let limit = allowed.get(&package).copied().unwrap_or(0);
        if number > limit {
            too_many.push(format!(
                "{package} has {number} modules in cycles, but only {limit} are allowed"
            ));
        } else if number < limit {
            println!("{package}: lower its number in xtask/cycles.allow to {number}");
        }
    }
    if too_many.is_empty() { Ok(()) } else { Err(too_many.join("; ").into()) }
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

/// Prints the cycles in a library or program. Returns the number of modules in them.
fn report(package: &str, root: &Path, krate: &Crate, edges: bool) -> usize {
    let dependencies = dependencies::find(krate);
    let successors: Vec<Vec<usize>> =
        dependencies.iter().map(|found| found.keys().copied().collect()).collect();
    let mut number = 0;
    for component in graph::cycles(&successors) {
        number += component.len();
        let modules: Vec<&str> =
            component.iter().map(|&module| krate.modules[module].path.as_str()).collect();
        let cycle = graph::shortest_cycle(&successors, &component);
        let next = cycle.iter().skip(1).chain(cycle.first());
        let example: Vec<String> = cycle
            .iter()
            .zip(next)
            .map(|(&from, &to)| edge(root, krate, &dependencies, from, to))
            .collect();
        println!("{package}: {}: {}", modules.join(" "), example.join(", "));
        if edges {
            for &from in &component {
                for to in successors[from].iter().filter(|to| component.contains(to)) {
                    println!("    {}", edge(root, krate, &dependencies, from, *to));
                }
            }
        }
    }
    number
}

/// Formats a dependency: the dependent module, the module that it depends on, and one place where
/// it names an item of that module.
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
