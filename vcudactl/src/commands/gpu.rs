//! The `gpu` commands.

use std::io::{self, Write};

use control_api::{GpuInfo, GpuState, format_size};

use super::output::Output;
use crate::client::Client;
use crate::error::CtlError;
use crate::table::{Side, Table};

pub(super) async fn list(client: &Client, output: &Output) -> Result<(), CtlError> {
    let gpus: Vec<GpuInfo> = client.get("/v1/gpus").await?;
    output.answer(&gpus, |out| print(&gpus, out))
}

fn print(gpus: &[GpuInfo], mut out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new(&[
        ("GPU", Side::Right),
        ("MODEL", Side::Left),
        ("UUID", Side::Left),
        ("STATE", Side::Left),
        ("MEMORY", Side::Right),
        ("PROMISED", Side::Right),
        ("USED", Side::Right),
        ("MIN", Side::Right),
        ("EVICTION", Side::Left),
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
            match &gpu.eviction_unavailable {
                _ if gpu.eviction => "yes".to_owned(),
                Some(reason) => format!("no: {reason}"),
                None => "no".to_owned(),
            },
            gpu.vms.join(","),
        ]);
    }
    table.print(&mut out)
}
