//! GPUs, sessions, events, statistics, version.

use std::io::{self, Write};

use control_api::{
    Event, EventKind, GpuInfo, GpuState, SessionInfo, Stats, VersionInfo, format_size,
};
use serde_json::json;

use super::{Show, vm};
use crate::client::Client;
use crate::error::CtlError;
use crate::table::{Side, Table, count, length, percent, printable, time, timestamp};

pub(crate) async fn list_gpus(client: &Client, show: &Show) -> Result<(), CtlError> {
    let gpus: Vec<GpuInfo> = client.get("/v1/gpus").await?;
    show.answer(&gpus, |out| print_gpus(&gpus, out))
}

fn print_gpus(gpus: &[GpuInfo], mut out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new(&[
        ("GPU", Side::Right),
        ("MODEL", Side::Left),
        ("UUID", Side::Left),
        ("STATE", Side::Left),
        ("MEMORY", Side::Right),
        ("PROMISED", Side::Right),
        ("USED", Side::Right),
        ("MIN", Side::Right),
        ("VMS", Side::Left),
    ]);
    for gpu in gpus {
        let state = match gpu.state {
            GpuState::Healthy => "healthy".to_owned(),
            GpuState::Faulty => format!("faulty: {}", gpu.last_fault.as_deref().unwrap_or("?")),
        };
        table.row([
            gpu.index.to_string(),
            gpu.name.clone(),
            gpu.uuid.clone(),
            state,
            format_size(gpu.memory_total),
            format_size(gpu.memory_promised),
            format_size(gpu.memory_used),
            gpu.compute_min.to_string(),
            gpu.vms.join(","),
        ]);
    }
    table.print(&mut out)
}

pub(crate) async fn list_sessions(
    client: &Client,
    show: &Show,
    vm: Option<&str>,
) -> Result<(), CtlError> {
    let path = match vm {
        Some(name) => format!("{}/sessions", vm::path(name)?),
        None => "/v1/sessions".into(),
    };
    let sessions: Vec<SessionInfo> = client.get(&path).await?;
    show.answer(&sessions, |mut out| {
        let mut table = Table::new(&[
            ("VM", Side::Left),
            ("ID", Side::Right),
            ("SINCE", Side::Left),
            ("WORKER", Side::Right),
            ("MEMORY", Side::Right),
            ("CALLS", Side::Right),
            ("LAUNCHES", Side::Right),
            ("COPIED", Side::Right),
        ]);
        for session in &sessions {
            let done = &session.activity;
            let copied =
                done.bytes_h2d.saturating_add(done.bytes_d2h).saturating_add(done.bytes_d2d);
            table.row([
                session.vm.clone(),
                session.id.to_string(),
                timestamp(session.started_ms),
                session.worker_pid.to_string(),
                format_size(session.memory.iter().map(|held| held.bytes).sum()),
                count(done.calls as f64),
                count(done.launches.saturating_add(done.graph_launches) as f64),
                format_size(copied),
            ]);
        }
        table.print(&mut out)
    })
}

pub(crate) async fn kill_session(
    client: &Client,
    show: &Show,
    vm: &str,
    id: u32,
) -> Result<(), CtlError> {
    client.delete(&format!("{}/sessions/{id}", vm::path(vm)?)).await?;
    show.answer(&json!({"killed": {"vm": vm, "session": id}}), |_| Ok(()))
}

pub(crate) async fn events(client: &Client, show: &Show, vm: Option<&str>) -> Result<(), CtlError> {
    client
        .events(|event| {
            // What is missing may have been about this VM.
            let missed = event.kind == EventKind::Missed;
            if vm.is_none() || vm == event.vm.as_deref() || missed {
                show.line(event, &describe(event))?;
            }
            Ok(())
        })
        .await
}

fn describe(event: &Event) -> String {
    let mut text = format!("{} {}", timestamp(event.time_ms), event.kind.name());
    if let Some(vm) = &event.vm {
        text.push_str(&format!(" vm={vm}"));
    }
    if let Some(session) = event.session {
        text.push_str(&format!(" session={session}"));
    }
    if let Some(gpu) = event.gpu {
        text.push_str(&format!(" gpu={gpu}"));
    }
    printable(&format!("{text}: {}", event.message))
}

pub(crate) fn print_stats(stats: &Stats, mut out: &mut dyn Write) -> io::Result<()> {
    let up = stats.time_ms.saturating_sub(stats.started_ms) / 1000;
    let workers = &stats.workers;
    writeln!(out, "up {}, {} VMs, {} GPUs", length(up), stats.vms.len(), stats.gpus.len())?;
    writeln!(
        out,
        "workers: {} warm, {} assigned, {} ending, {} started, {} killed",
        workers.warm, workers.assigned, workers.ending, workers.started_total, workers.killed_total
    )?;
    let on = if stats.scheduler.on { "on" } else { "off" };
    writeln!(out, "scheduler: {on}, {} restarts\n", stats.scheduler.restarts)?;
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

pub(crate) async fn version(client: &Client, show: &Show) -> Result<(), CtlError> {
    let server: VersionInfo = client.get("/v1/version").await?;
    show.answer(&server, |out| {
        writeln!(out, "{} {} (API {})", server.name, printable(&server.version), server.api)?;
        writeln!(out, "{} {}", crate::NAME, env!("CARGO_PKG_VERSION"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_it_says() {
        let event = Event {
            id: 1,
            time_ms: 1_700_000_000_123,
            kind: EventKind::SessionEnded,
            vm: Some("web".into()),
            session: Some(2),
            gpu: None,
            message: "the worker\nwas killed\u{1b}[2J".into(),
        };
        let text = "2023-11-14T22:13:20Z session_ended vm=web session=2: the worker?was killed?[2J";
        assert_eq!(describe(&event), text);
    }
}
