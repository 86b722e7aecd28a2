//! The `usage` command.

use std::collections::BTreeMap;
use std::io::{self, Write};

use control_api::{UsageReport, UsageRow};

use super::output::Output;
use crate::cli::{UsageArgs, UsageFormat};
use crate::client::Client;
use crate::error::CtlError;
use crate::month::this_month;
use crate::since::Since;
use crate::table::{Side, Table, printable, timestamp};

/// Number of byte-seconds in a GiB-hour.
const GIB_HOUR: f64 = (1u64 << 30) as f64 * 3600.0;

pub(super) async fn show(
    client: &Client,
    output: &Output,
    args: &UsageArgs,
) -> Result<(), CtlError> {
    let since = args.since.unwrap_or(Since::At(this_month()));
    let usage: UsageReport = client.get(&format!("/v1/usage?since_ms={}", since.time_ms())).await?;
    warn(output, &usage);
    output.answer(&usage, |out| match args.format {
        UsageFormat::Csv => csv(&usage.rows, out),
        UsageFormat::Table | UsageFormat::Json => table(&usage.rows, out),
    })
}

/// Prints a warning if the usage may be incomplete.
fn warn(output: &Output, usage: &UsageReport) {
    let saving = usage.saving;
    if !saving.is_on {
        output.warn("usage is lost when vcudad ends, because it isn't saved: set state_dir, or see vcudad's log");
    }
    if saving.failures > 0 {
        let saved = saving.saved_ms.map_or("never".to_owned(), timestamp);
        let text = format!(
            "vcudad could not save usage {} times (last saved: {saved}); see its log",
            saving.failures
        );
        output.warn(&text);
    }
    if saving.set_aside > 0 {
        let text = format!(
            "usage before {} is in a file that vcudad could not read and has renamed: see \
             usage.json.unreadable-* in its state_dir",
            timestamp(usage.began_ms)
        );
        output.warn(&text);
    }
    if saving.dropped > 0 {
        output.warn("the usage of some VMs was not recorded, because too many VMs have used GPUs");
    }
}

fn seconds(nanos: u64) -> String {
    format!("{}.{:03}", nanos / 1_000_000_000, nanos / 1_000_000 % 1000)
}

/// Prints a line for each VM and month, with the sums of all GPUs.
fn table(rows: &[UsageRow], mut out: &mut dyn Write) -> io::Result<()> {
    let mut sums: BTreeMap<(&str, &str), UsageRow> = BTreeMap::new();
    for row in rows {
        let sum = sums.entry((&row.month, &row.vm)).or_default();
        for (sum, more) in [
            (&mut sum.gpu_ns, row.gpu_ns),
            (&mut sum.copied_ns, row.copied_ns),
            (&mut sum.throttled_ns, row.throttled_ns),
            (&mut sum.windows, row.windows),
            (&mut sum.memory_byte_seconds, row.memory_byte_seconds),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
    let mut table = Table::new(&[
        ("MONTH", Side::Left),
        ("VM", Side::Left),
        ("GPU SECONDS", Side::Right),
        ("COPIES", Side::Right),
        ("WAITED", Side::Right),
        ("WINDOWS", Side::Right),
        ("MEMORY GiB-HOURS", Side::Right),
    ]);
    for ((month, vm), sum) in sums {
        table.row([
            month.to_owned(),
            vm.to_owned(),
            seconds(sum.gpu_ns),
            seconds(sum.copied_ns),
            seconds(sum.throttled_ns),
            sum.windows.to_string(),
            format!("{:.3}", sum.memory_byte_seconds as f64 / GIB_HOUR),
        ]);
    }
    table.print(&mut out)
}

/// Prints a line for each VM, month, and GPU. Names don't need quotes, because they contain no
/// commas.
fn csv(rows: &[UsageRow], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "month,vm,gpu,gpu_seconds,copy_seconds,wait_seconds,windows,memory_gib_hours")?;
    for row in rows {
        let (gpu, copied) = (seconds(row.gpu_ns), seconds(row.copied_ns));
        let (waited, windows) = (seconds(row.throttled_ns), row.windows);
        let memory = row.memory_byte_seconds as f64 / GIB_HOUR;
        let names = printable(&format!("{},{},{}", row.month, row.vm, row.gpu));
        writeln!(out, "{names},{gpu},{copied},{waited},{windows},{memory:.6}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(month: &str, vm: &str, gpu: &str, gpu_ns: u64) -> UsageRow {
        UsageRow {
            month: month.into(),
            vm: vm.into(),
            gpu: gpu.into(),
            gpu_ns,
            copied_ns: 1_500_000_000,
            throttled_ns: 7_000_000,
            windows: 3,
            memory_byte_seconds: (1 << 30) * 1800,
        }
    }

    #[test]
    fn the_table_has_a_line_per_vm_and_month_and_csv_one_per_gpu() {
        let rows = [
            row("2026-11", "web", "GPU-1", 2_000_000_000),
            row("2026-11", "web", "GPU-2", 3_000_999_999),
            row("2026-12", "web", "GPU-1", 0),
        ];
        let text = |print: fn(&[UsageRow], &mut dyn Write) -> io::Result<()>| {
            let mut out = Vec::new();
            print(&rows, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let lines: Vec<Vec<String>> = text(table)
            .lines()
            .map(|line| line.split_whitespace().map(str::to_owned).collect())
            .collect();
        assert_eq!(lines[1], ["2026-11", "web", "5.000", "3.000", "0.014", "6", "1.000"]);
        assert_eq!(lines[2], ["2026-12", "web", "0.000", "1.500", "0.007", "3", "0.500"]);
        assert_eq!(
            text(csv).lines().nth(2),
            Some("2026-11,web,GPU-2,3.000,1.500,0.007,3,0.500000")
        );
    }
}
