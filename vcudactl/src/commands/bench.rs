//! The `bench` command.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use control_api::VmInfo;

use super::output::Output;
use super::path::vm_path;
use super::vm::pausers;
use crate::bench::{self, Paths, Plan, Report};
use crate::cli::BenchArgs;
use crate::client::Client;
use crate::error::CtlError;
use crate::{cuda, exit, share_test};

/// The default library of native programs. The dynamic loader finds it by this name.
const NATIVE: &str = "libcuda.so.1";

pub(super) async fn run(
    client: &Client,
    output: &Output,
    args: &BenchArgs,
) -> Result<(), CtlError> {
    let plan = Plan {
        names: bench::select(&args.only).map_err(CtlError::Usage)?,
        repetitions: args.repetitions.into(),
        quick: args.quick,
    };
    if let Some(file) = args.output.iter().find(|file| Format::of(file).is_none()) {
        let text = format!("{}: the name must end with .json or .md", file.display());
        return Err(CtlError::Usage(text));
    }
    let paths = paths(client, args).await?;
    // Show progress only if standard error is a terminal.
    let report = bench::run(&paths, &plan, |text| {
        if !output.is_json() && std::io::stderr().is_terminal() {
            exit::report(text);
        }
    })?;
    for file in &args.output {
        write(&report, file)?;
    }
    output.answer(&report, |out| report.print(out))?;
    match report.faults() {
        (0, 0) => Ok(()),
        (failed, missed) => Err(CtlError::Missed { failed, missed }),
    }
}

async fn paths(client: &Client, args: &BenchArgs) -> Result<Paths, CtlError> {
    let native = args.native_library.clone().unwrap_or(NATIVE.into());
    let mut paths = Paths { native: Some(native), gpu: None, device: None };
    if args.device_only {
        paths.native = None;
    }
    let socket = match &args.vm {
        Some(name) => {
            let vm: VmInfo = client.get(&vm_path(name)?).await?;
            if let Some(reason) = share_test::cannot_run(&vm, &pausers(&vm)) {
                return Err(CtlError::Untested(reason));
            }
            paths.gpu = vm.stats.gpus.first().map(|gpu| gpu.uuid.clone());
            Some(vm.socket)
        }
        None => args.socket_path.clone(),
    };
    if let Some(socket) = socket.filter(|_| !args.native_only) {
        paths.device = Some((cuda::find(args.libcuda.as_deref())?, socket));
    }
    Ok(paths)
}

/// The format of a result file.
enum Format {
    Json,
    Markdown,
}

impl Format {
    /// Returns the format for a file, which the extension of its name determines.
    fn of(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()? {
            "json" => Some(Self::Json),
            "md" => Some(Self::Markdown),
            _ => None,
        }
    }
}

fn write(report: &Report, file: &PathBuf) -> Result<(), CtlError> {
    let text = match Format::of(file) {
        Some(Format::Json) => serde_json::to_string_pretty(report).unwrap_or_default() + "\n",
        _ => report.markdown(),
    };
    std::fs::write(file, text).map_err(CtlError::os(format!("cannot write {}", file.display())))
}
