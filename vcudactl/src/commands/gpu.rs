//! The `gpu` commands, which show GPUs.

use std::io::{self, Write};

use control_api::{GpuInfo, GpuState, format_size};

use super::output::Output;
use crate::cli::ListArgs;
use crate::client::Client;
use crate::error::CtlError;
use crate::table::{Side, Table};

pub(super) async fn list(
    client: &Client,
    output: &Output,
    args: &ListArgs,
) -> Result<(), CtlError> {
    let gpus: Vec<GpuInfo> = client.get("/v1/gpus").await?;
    let names: Vec<String> = gpus.iter().map(|gpu| gpu.index.to_string()).collect();
    output.list(args, &gpus, &names, |out, is_wide| print(&gpus, is_wide, out))
}

fn print(gpus: &[GpuInfo], is_wide: bool, mut out: &mut dyn Write) -> io::Result<()> {
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
        ("JAIL", Side::Left),
        ("VMS", Side::Left),
    ]);
    if is_wide {
        table.widen(&[
            ("PCI", Side::Left),
            ("RESERVED", Side::Right),
            ("DRIVER USED", Side::Right),
            ("WEIGHTS", Side::Right),
            ("FAULTS", Side::Right),
        ]);
    }
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
            yes_or_no(gpu.eviction, gpu.eviction_unavailable.as_deref()),
            yes_or_no(gpu.jail, gpu.jail_unavailable.as_deref()),
            gpu.vms.join(","),
        ]);
        if !gpu.jail {
            table.alarm("JAIL");
        }
        if is_wide {
            table.widen_row([
                gpu.pci_bus_id.clone(),
                format_size(gpu.memory_reserved),
                gpu.memory_driver.map_or("-".into(), format_size),
                gpu.compute_weight.to_string(),
                gpu.faults.to_string(),
            ]);
        }
    }
    table.print(&mut out)
}

fn yes_or_no(is_available: bool, reason: Option<&str>) -> String {
    match reason {
        _ if is_available => "yes".into(),
        Some(reason) => format!("no: {reason}"),
        None => "no".into(),
    }
}
