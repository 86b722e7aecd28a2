//! The `stats` and `version` commands.

use std::io::{self, Write};

use control_api::{Stats, VersionInfo, counted, format_size};

use super::output::Output;
use crate::cli::NAME;
use crate::client::Client;
use crate::config_file::describe;
use crate::error::CtlError;
use crate::table::{Side, Table, count, length, percent, printable, time};

pub(super) async fn show(client: &Client, output: &Output) -> Result<(), CtlError> {
    let stats: Stats = client.get("/v1/stats").await?;
    output.answer(&stats, |out| print(&stats, out))
}

fn print(stats: &Stats, mut out: &mut dyn Write) -> io::Result<()> {
    let up = stats.time_ms.saturating_sub(stats.started_ms) / 1000;
    let workers = &stats.workers;
    writeln!(
        out,
        "up {}, {}, {}",
        length(up),
        counted(stats.vms.len(), "VM"),
        counted(stats.gpus.len(), "GPU")
    )?;
    writeln!(
        out,
        "workers: {} warm, {} assigned, {} ending, {} started, {} killed",
        workers.warm, workers.assigned, workers.ending, workers.started_total, workers.killed_total
    )?;
    let on = if stats.scheduler.on { "on" } else { "off" };
    writeln!(out, "scheduler: {on}, {} restarts", stats.scheduler.restarts)?;
    if let Some(file) = &stats.config {
        writeln!(out, "configuration: {}", printable(&describe(file)))?;
    }
    writeln!(out)?;
    let mut table = Table::new(&[
        ("VM", Side::Left),
        ("GPU", Side::Right),
        ("MEMORY", Side::Right),
        ("PEAK", Side::Right),
        ("MAX", Side::Right),
        ("REFUSED", Side::Right),
        ("GPU TIME", Side::Right),
        ("WAITED", Side::Right),
        ("WINDOWS", Side::Right),
        ("HANDOVER", Side::Right),
        ("DEBT", Side::Right),
        ("SHARE", Side::Right),
        ("PROMISED", Side::Right),
    ]);
    for (vm, gpu) in stats.vms.iter().flat_map(|vm| vm.gpus.iter().map(move |gpu| (vm, gpu))) {
        table.row([
            vm.name.clone(),
            gpu.gpu.to_string(),
            format_size(gpu.memory_used),
            format_size(gpu.memory_peak),
            format_size(gpu.memory_max),
            gpu.memory_rejected.to_string(),
            time(gpu.gpu_ns),
            time(gpu.throttled_ns),
            count(gpu.windows as f64),
            gpu.handover_ns.checked_div(gpu.handovers).map_or("-".into(), time),
            time(gpu.debt_ns),
            percent(gpu.share_10s),
            percent(gpu.share_promised),
        ]);
    }
    table.print(&mut out)
}

pub(super) async fn version(client: &Client, output: &Output) -> Result<(), CtlError> {
    let server: VersionInfo = client.get("/v1/version").await?;
    output.answer(&server, |out| {
        writeln!(out, "{} {} (API {})", server.name, printable(&server.version), server.api)?;
        writeln!(out, "{} {}", NAME, env!("CARGO_PKG_VERSION"))
    })
}
