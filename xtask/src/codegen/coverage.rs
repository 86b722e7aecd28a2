//! Generates `docs/coverage.md`, which lists the driver API's implemented entry points, and the
//! gating and charges of each call between guest and host.

use super::implemented::Implemented;
use super::model::Entry;
use cuda_api::first_versions;
use cuda_api::symbols::{ALL, CUDA_VERSION};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Prefixes of the names of entry points that are out of scope for this device, and the reason for
/// each.
const OUTSIDE: [(&str, &str); 14] = [
    ("cuGL", GRAPHICS),
    ("cuEGL", GRAPHICS),
    ("cuVDPAU", GRAPHICS),
    ("cuGraphics", GRAPHICS),
    ("cuImportExternal", GRAPHICS),
    ("cuExternalMemory", GRAPHICS),
    ("cuDestroyExternal", GRAPHICS),
    ("cuSignalExternal", GRAPHICS),
    ("cuWaitExternal", GRAPHICS),
    ("cuGraphAddExternalSemaphores", GRAPHICS),
    ("cuGraphExternalSemaphores", GRAPHICS),
    ("cuGraphExecExternalSemaphores", GRAPHICS),
    ("cuDeviceGetNvSciSyncAttributes", GRAPHICS),
    ("cuMulticast", "joins GPUs over NVSwitch, which VMs share"),
];
/// Entry points that fail in every program on the GPU on which the conformance cases run, and the
/// reason. The first versions of calls with 32-bit device pointers also fail in every program; they
/// are in [`first_versions`].
const ONLY_FAIL: [(&[&str], &str); 5] = [
    (&["cuCtxCreate"], "a 64-bit process can't create a context of the first version"),
    (&["cuDeviceGetLuid"], "only Windows has locally unique IDs"),
    (
        &["cuMemBatchDecompressAsync", "cuMemBatchDecompressAsync_ptsz"],
        "GPUs before Blackwell have no engine that decompresses",
    ),
    (&["cuProfilerInitialize"], "the profiler that it configures no longer exists"),
    (
        &[
            "cuStreamBatchMemOp",
            "cuStreamBatchMemOp_ptsz",
            "cuStreamWaitValue32",
            "cuStreamWaitValue32_ptsz",
            "cuStreamWaitValue64",
            "cuStreamWaitValue64_ptsz",
            "cuStreamWriteValue32",
            "cuStreamWriteValue32_ptsz",
            "cuStreamWriteValue64",
            "cuStreamWriteValue64_ptsz",
        ],
        "the first versions of stream memory operations need a setting of NVIDIA's kernel module",
    ),
];

/// Returns true if an entry point fails in every program on the GPU on which the conformance cases
/// run.
fn only_fails(symbol: &str) -> bool {
    let listed = ONLY_FAIL.iter().any(|(symbols, _)| symbols.contains(&symbol));
    listed || first_versions::NAMES.contains(&symbol)
}

const GRAPHICS: &str =
    "shares objects with a graphics or video library, whose device in the guest isn't this GPU";

/// The numbers of calls of an entry point by the conformance cases on a GPU.
#[derive(Clone, Copy, Default)]
struct Calls {
    succeeded: u64,
    failed: u64,
}

/// The numbers of calls that the conformance cases made on a GPU, by symbol.
pub struct Measured {
    /// The GPU and the driver, from the comment at the start of the list. The comment also names the
    /// commit, which only the list and docs/measurements need.
    source: String,
    calls: BTreeMap<String, Calls>,
}

impl Measured {
    /// Parses the list that `cuda-conformance --calls` wrote: comments, and lines with a symbol and
    /// the numbers of calls that succeeded and failed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut measured = Self { source: String::new(), calls: BTreeMap::new() };
        for line in text.lines() {
            if let Some(comment) = line.strip_prefix("# ") {
                measured.source = comment.split(", commit ").next().unwrap_or(comment).to_owned();
                continue;
            }
            let fields: Vec<_> = line.split(' ').collect();
            let wrong = || format!("expected a symbol and two numbers, found {line:?}");
            let [name, succeeded, failed] = fields[..] else { return Err(wrong()) };
            let number = |text: &str| text.parse().map_err(|_| wrong());
            let calls = Calls { succeeded: number(succeeded)?, failed: number(failed)? };
            measured.calls.insert(name.to_owned(), calls);
        }
        Ok(measured)
    }

    /// Returns true if the cases have called a symbol both successfully and with an error. For
    /// entry points that fail in every program, an error is enough.
    fn covers(&self, symbol: &str) -> bool {
        let calls = self.calls.get(symbol).copied().unwrap_or_default();
        calls.failed > 0 && (calls.succeeded > 0 || only_fails(symbol))
    }
}

/// Formats a table cell: how many (`has`) of the `of` symbols with the same base name have the
/// column's property.
fn cell(has: usize, of: usize) -> String {
    match has {
        0 => "–".to_owned(),
        _ if has == of => "yes".to_owned(),
        _ => format!("{has} of {of} versions"),
    }
}

/// Generates the page from the symbols that the two libraries implement, the calls that were made on
/// a GPU, and the API table.
pub fn generate(implemented: &Implemented, measured: &Measured, entries: &[Entry]) -> String {
    let Implemented { guest, softgpu } = implemented;
    let outside = |base: &str| OUTSIDE.iter().find(|(start, _)| base.starts_with(start));
    let inside: Vec<_> = ALL.iter().filter(|symbol| outside(symbol.base).is_none()).collect();
    let counts = |name: &str| guest.contains(name) && measured.covers(name);
    let mut page = format!(
        "# Coverage of the driver API\n\n\
         Generated by `cargo xtask codegen`; don't edit this page. The driver API of CUDA {}.{} \
         has {} symbols, including older versions and variants for per-thread default streams. \
         The guest library and softgpu both export all of them. The guest library implements {}, \
         and softgpu {}. The others return an error, in most cases CUDA_ERROR_NOT_SUPPORTED, and the first call of each is \
         logged with its name.\n\n\
         The column *GPU* says whether the conformance cases (tests/conformance) have observed, \
         with NVIDIA's driver, what the entry point does and one of its errors: {} \
         ([measurements](measurements/suites.md#conformance-cases)). An entry point counts as \
         implemented only then.\n\n\
         | entry point | guest | softgpu | GPU |\n|---|---|---|---|\n",
        CUDA_VERSION / 1000,
        CUDA_VERSION % 1000 / 10,
        ALL.len(),
        guest.len(),
        softgpu.len(),
        measured.source,
    );
    // Each base name has one row for all its versions and per-thread variants.
    let mut rows: BTreeMap<&str, (usize, [usize; 3])> = BTreeMap::new();
    for symbol in &inside {
        let (of, has) = rows.entry(symbol.base).or_default();
        *of += 1;
        has[0] += usize::from(guest.contains(symbol.name));
        has[1] += usize::from(softgpu.contains(symbol.name));
        has[2] += usize::from(counts(symbol.name));
    }
    for (base, (of, has)) in rows {
        let [guest, softgpu, gpu] = has.map(|has| cell(has, of));
        let _ = writeln!(page, "| {base} | {guest} | {softgpu} | {gpu} |");
    }
    page.push_str("\n## Not planned\n\n| entry points | reason |\n|---|---|\n");
    for (start, reason) in OUTSIDE {
        let _ = writeln!(page, "| {start}… | {reason} |");
    }
    page.push_str(
        "\n## Entry points that always fail\n\n\
         They fail with NVIDIA's driver too, for every program on this GPU, so they count as \
         implemented once the cases have observed the error.\n\n\
         | entry points | reason |\n|---|---|\n",
    );
    let first = (first_versions::NAMES, "need a context of the first version of cuCtxCreate");
    for (symbols, reason) in ONLY_FAIL.into_iter().chain([first]) {
        let _ = writeln!(page, "| {} | {reason} |", symbols.join(", "));
    }
    page.push_str(&calls(entries));
    let done = inside.iter().filter(|symbol| counts(symbol.name)).count();
    let _ = writeln!(page, "\ndriver API: {done} of {} entry points implemented", inside.len());
    page
}

/// Describes each call in the API table: whether it must wait until its VM may use the GPU, and
/// which kind of device memory it is charged for.
fn calls(entries: &[Entry]) -> String {
    let gated = entries.iter().filter(|entry| entry.has("gated")).count();
    let charging = entries.iter().filter(|entry| entry.charges != "none").count();
    let mut text = format!(
        "\n## Calls between guest and host\n\n\
         The guest library translates entry points into these {} calls. Names that begin with cu \
         are CUDA's; those that begin with vcuda are the project's own. The {gated} gated calls \
         make the GPU work and wait until their VM may use it ([design/gate.md](design/gate.md)). \
         All others run immediately, unless they must follow a call that waits. The {charging} \
         calls with a charge may take device memory, which is first reserved in the VM's account \
         ([memory.md](memory.md)): *memory* is an allocation, *context* a context, *module* code \
         and variables, *limit* stacks, local memory, or the heap of kernels, *local* a kernel's \
         local memory, *stream* the driver's memory for a stream, and *graph* a graph's memory and \
         code.\n\n\
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
