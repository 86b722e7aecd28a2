//! The entry point of the task that lists third-party code.

use std::error::Error;
use std::fs;
use std::path::Path;

use super::{crates, notices, sbom};

/// Writes `third-party-licenses.txt` and `sbom.cdx.json` to `out`, for a package named `name` whose
/// programs and libraries are built from the workspace's crates `roots`. `timestamp` is the time of
/// the build in RFC 3339.
pub fn run(name: &str, timestamp: &str, out: &Path, roots: &[&str]) -> Result<(), Box<dyn Error>> {
    let found = crates::find(roots)?;
    fs::create_dir_all(out)?;
    fs::write(out.join("third-party-licenses.txt"), notices::text(&found.crates)?)?;
    let sbom = serde_json::to_string_pretty(&sbom::document(name, timestamp, &found))?;
    fs::write(out.join("sbom.cdx.json"), sbom + "\n")?;
    Ok(())
}
