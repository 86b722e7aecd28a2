//! `docs/coverage.md`: which of the driver API's entry points do something, and what the calls
//! between guest and host may use.

use super::parse::Entry;
use cuda_api::build::Exports;
use cuda_api::symbols::{ALL, CUDA_VERSION};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::Path;

/// The page, from what the two libraries define and from the API table.
pub fn generate(root: &Path, entries: &[Entry]) -> io::Result<String> {
    let (mut guest, mut softgpu) = (Exports::default(), Exports::default());
    guest.scan(&root.join("guest-libcuda/src"))?;
    softgpu.scan(&root.join("softgpu/src"))?;
    let (in_guest, in_softgpu) = (
        ALL.iter().filter(|symbol| guest.has(symbol.name)).count(),
        ALL.iter().filter(|symbol| softgpu.has(symbol.name)).count(),
    );
    let mut page = format!(
        "# Coverage of the driver API\n\n\
         Made by `cargo xtask codegen`; not to be edited. The driver API of CUDA {}.{} has {} \
         symbols. Both libraries export all of them; the guest's implements {in_guest}, softgpu \
         {in_softgpu}. The others answer CUDA_ERROR_NOT_SUPPORTED, and their name is logged once.\n\n\
         | entry point | guest | softgpu |\n|---|---|---|\n",
        CUDA_VERSION / 1000,
        CUDA_VERSION % 1000 / 10,
        ALL.len(),
    );
    // One row for a name with all its versions and per-thread variants.
    let mut rows: BTreeMap<&str, [(usize, usize); 2]> = BTreeMap::new();
    for symbol in ALL {
        let row = rows.entry(symbol.base).or_default();
        for (cell, exports) in row.iter_mut().zip([&guest, &softgpu]) {
            cell.0 += usize::from(exports.has(symbol.name));
            cell.1 += 1;
        }
    }
    for (base, row) in rows {
        let [guest, softgpu] = row.map(|(has, of)| match has {
            0 => "–".to_owned(),
            _ if has == of => "yes".to_owned(),
            _ => format!("{has} of {of} versions"),
        });
        let _ = writeln!(page, "| {base} | {guest} | {softgpu} |");
    }
    page.push_str(&calls(entries));
    Ok(page)
}

/// What each call of the API table needs: its VM's window, memory of its VM's quota.
fn calls(entries: &[Entry]) -> String {
    let gated = entries.iter().filter(|entry| entry.has("gated")).count();
    let charging = entries.iter().filter(|entry| entry.charges != "none").count();
    let mut text = format!(
        "\n## Calls between guest and host\n\n\
         An entry point becomes some of these {}; names that begin with cu are CUDA's, with vcuda \
         our own. The {gated} gated ones make the GPU work: they wait until their VM may use it \
         ([design/gate.md](design/gate.md)). All others are free to run at once, unless they must \
         come after one that waits. The {charging} that charge may take device memory, which is \
         reserved in the VM's account first ([memory.md](memory.md)): *memory* is an allocation, \
         *context* a context, *module* code and variables, *limit* stacks, local memory or the \
         heap of kernels, *local* local memory of a kernel, *stream* what the driver keeps for a \
         stream, *graph* memory and code of a graph.\n\n\
         | call | gate | charges |\n|---|---|---|\n",
        entries.len()
    );
    let mut sorted: Vec<_> = entries.iter().collect();
    sorted.sort_by_key(|entry| &entry.name);
    for entry in sorted {
        let gate = if entry.has("gated") { "gated" } else { "free" };
        let charges = if entry.charges == "none" { "–" } else { &entry.charges };
        let _ = writeln!(text, "| {} | {gate} | {charges} |", entry.name);
    }
    text
}
