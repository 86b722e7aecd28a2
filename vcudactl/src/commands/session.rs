//! The `session` commands.

use control_api::{SessionInfo, format_size};
use serde_json::json;

use super::output::Output;
use super::path::vm_path;
use crate::cli::ListArgs;
use crate::client::Client;
use crate::error::CtlError;
use crate::table::{Side, Table, count, time, timestamp};

pub(super) async fn list(
    client: &Client,
    output: &Output,
    vm: Option<&str>,
    args: &ListArgs,
) -> Result<(), CtlError> {
    let path = match vm {
        Some(name) => format!("{}/sessions", vm_path(name)?),
        None => "/v1/sessions".into(),
    };
    let sessions: Vec<SessionInfo> = client.get(&path).await?;
    let name = |session: &SessionInfo| format!("{} {}", session.vm, session.id);
    let names: Vec<String> = sessions.iter().map(name).collect();
    output.list(args, &sessions, &names, |mut out, is_wide| {
        let mut table = Table::new(&[
            ("VM", Side::Left),
            ("ID", Side::Right),
            ("PROGRAM", Side::Left),
            ("PID", Side::Right),
            ("SINCE", Side::Left),
            ("WORKER", Side::Right),
            ("MEMORY", Side::Right),
            ("GPU TIME", Side::Right),
            ("CALLS", Side::Right),
            ("LAUNCHES", Side::Right),
            ("COPIED", Side::Right),
        ]);
        if is_wide {
            table.widen(&[
                ("GPUS", Side::Left),
                ("GRAPHS", Side::Right),
                ("TO DEVICE", Side::Right),
                ("TO HOST", Side::Right),
                ("QUEUED", Side::Right),
            ]);
        }
        for session in &sessions {
            let done = &session.activity;
            let copied =
                done.bytes_h2d.saturating_add(done.bytes_d2h).saturating_add(done.bytes_d2d);
            table.row([
                session.vm.clone(),
                session.id.to_string(),
                session.program.clone().unwrap_or("-".into()),
                session.guest_pid.to_string(),
                timestamp(session.started_ms),
                session.worker_pid.to_string(),
                format_size(session.memory.iter().map(|held| held.bytes).sum()),
                time(session.gpu_ns),
                count(done.calls as f64),
                count(done.launches.saturating_add(done.graph_launches) as f64),
                format_size(copied),
            ]);
            if is_wide {
                let gpus: Vec<String> =
                    session.memory.iter().map(|held| held.gpu.to_string()).collect();
                table.widen_row([
                    gpus.join(","),
                    count(done.graph_launches as f64),
                    format_size(done.bytes_h2d),
                    format_size(done.bytes_d2h),
                    format_size(done.ring_depth),
                ]);
            }
        }
        table.print(&mut out)
    })
}

pub(super) async fn kill(
    client: &Client,
    output: &Output,
    vm: &str,
    id: u32,
) -> Result<(), CtlError> {
    client.delete(&format!("{}/sessions/{id}", vm_path(vm)?)).await?;
    output.answer(&json!({"killed": {"vm": vm, "session": id}}), |_| Ok(()))
}
