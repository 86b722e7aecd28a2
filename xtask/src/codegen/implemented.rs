//! Lists the symbols that the guest library and softgpu implement.
//!
//! Both libraries export the same names, so xtask can't link them both. Instead, an example program
//! in each library prints the list.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The symbols that each library implements.
pub struct Implemented {
    pub guest: BTreeSet<String>,
    pub softgpu: BTreeSet<String>,
}

/// Builds both examples and runs them.
pub fn list(root: &Path) -> Result<Implemented, Box<dyn Error>> {
    let examples = build(root)?;
    Ok(Implemented {
        guest: run(&examples, "guest-libcuda-implemented")?,
        softgpu: run(&examples, "softgpu-implemented")?,
    })
}

/// Builds the workspace and returns the path of each example by name.
fn build(root: &Path) -> Result<BTreeMap<String, PathBuf>, Box<dyn Error>> {
    // Cargo unifies features across the packages and targets that it builds. Building the examples
    // alone would select other features and compile most dependencies a second time. `make unit`
    // uses the same options, so it shares the build.
    let options = ["build", "--quiet", "--locked", "--workspace", "--bins", "--lib", "--examples"];
    let output = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(options)
        // Code generation must work even while another crate doesn't compile.
        .args(["--keep-going", "--message-format", "json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()?;
    Ok(executables(&String::from_utf8(output.stdout)?))
}

/// Extracts the paths of the examples from cargo's messages, by name.
fn executables(messages: &str) -> BTreeMap<String, PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages
        .filter(|message| message["target"]["kind"] == serde_json::json!(["example"]))
        .filter_map(|message| {
            let name = message["target"]["name"].as_str()?.to_owned();
            Some((name, message["executable"].as_str()?.into()))
        })
        .collect()
}

/// Runs an example and returns the symbols that it prints, one per line.
fn run(
    examples: &BTreeMap<String, PathBuf>,
    name: &str,
) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let path = examples
        .get(name)
        .ok_or_else(|| format!("the example {name} does not compile: correct the errors above"))?;
    let output = Command::new(path).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{} failed: {}", path.display(), output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_of_examples_are_found_in_cargos_messages() {
        let messages = r#"
            {"reason":"compiler-artifact","target":{"kind":["lib"],"name":"a"},"executable":null}
            {"reason":"compiler-artifact","target":{"kind":["bin"],"name":"b"},"executable":"/t/b"}
            {"reason":"compiler-artifact","target":{"kind":["example"],"name":"c"},"executable":"/t/c"}
            {"reason":"build-finished","success":true}
        "#;
        let expected = BTreeMap::from([("c".to_owned(), PathBuf::from("/t/c"))]);
        assert_eq!(executables(messages), expected);
    }
}
