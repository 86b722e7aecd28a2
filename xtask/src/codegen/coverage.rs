//! `docs/coverage.md`: which of the driver API's entry points do something.

use cuda_abi::build::Exports;
use cuda_abi::symbols::{ALL, CUDA_VERSION};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::Path;

/// The page, from what the two libraries define.
pub fn generate(root: &Path) -> io::Result<String> {
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
    Ok(page)
}
