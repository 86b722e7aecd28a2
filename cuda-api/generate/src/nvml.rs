//! The names that a libnvidia-ml.so.1 exports: every function that nvml.h declares, and every versioned
//! name that one of its macros stands for.

use crate::headers;
use crate::output::HEAD;
use regex::Regex;
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

/// nvidia-smi calls it, yet no header declares it.
const UNDOCUMENTED: &str = "nvmlInternalGetExportTable";

/// The table of symbols, and a macro that lists them.
pub fn symbols(include: &Path) -> Result<String, Box<dyn Error>> {
    let header = headers::text(include, "nvml.h")?;
    let declared = Regex::new(r"DECLDIR\s*(?:const\s+)?(?:char\s*\*\s*)?(nvml[A-Z]\w*)\s*\(")?;
    let mapped = Regex::new(r"(?m)#\s*define\s+nvml[A-Z]\w*\s+(nvml[A-Z]\w*_v\d+)\s*$")?;
    let mut names = BTreeSet::from([UNDOCUMENTED.to_owned()]);
    for pattern in [declared, mapped] {
        names.extend(pattern.captures_iter(&header).map(|found| found[1].to_owned()));
    }

    let mut out = format!("{HEAD}/// Every exported name, sorted.\npub const ALL: &[&str] = &[\n");
    for name in &names {
        let _ = writeln!(out, "    {name:?},");
    }
    out.push_str(
        "];\n\n/// Calls a macro with each exported name and its index in [`ALL`].\n\
         macro_rules! for_each_symbol {\n    (($($callback:tt)+)) => {\n        $($callback)+! {\n",
    );
    for (index, name) in names.iter().enumerate() {
        let _ = writeln!(out, "            {name} {index}");
    }
    out.push_str("        }\n    };\n}\npub(crate) use for_each_symbol;\n");
    Ok(out)
}
