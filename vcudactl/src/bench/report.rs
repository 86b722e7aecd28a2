//! The comparison of native and device values, as JSON and as a table.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;

use super::bar::Unit;
use super::outcome::{Plan, Values};
use super::sample::median;
use super::table::{Measurement, Row};
use crate::table::{Side, Table};

/// A row of the comparison.
#[derive(Debug, Serialize)]
struct Compared {
    /// The name of the measurement.
    row: String,
    /// The statistic, such as `p99`. Empty if the measurement has only one value.
    value: &'static str,
    what: String,
    unit: &'static str,
    /// The median of the native values. `device` is that of the device's values.
    native: Option<f64>,
    device: Option<f64>,
    /// The device's value divided by the native value.
    ratio: Option<f64>,
    /// The device's value minus the native value.
    difference: Option<f64>,
    bar: String,
    met: Option<bool>,
    error: Option<String>,
    /// The native value of each repetition. `device_values` are the device's values.
    native_values: Vec<f64>,
    device_values: Vec<f64>,
}

/// The GPU's name and the driver's version on one side.
#[derive(Debug, Serialize)]
struct Machine {
    gpu: String,
    driver: i32,
}

/// The result of a run of `bench`.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    version: &'static str,
    repetitions: usize,
    quick: bool,
    native: Option<Machine>,
    device: Option<Machine>,
    rows: Vec<Compared>,
}

impl Report {
    pub(super) fn new(all: &[Measurement], plan: &Plan, native: &Values, device: &Values) -> Self {
        let machine =
            |values: &Values| values.gpu.clone().map(|(gpu, driver)| Machine { gpu, driver });
        let rows = all.iter().flat_map(|measurement| {
            let rows = measurement.rows.iter().enumerate();
            rows.map(|(number, row)| compare(measurement, *row, number, native, device))
        });
        Self {
            version: env!("CARGO_PKG_VERSION"),
            repetitions: plan.repetitions,
            quick: plan.quick,
            native: machine(native),
            device: machine(device),
            rows: rows.collect(),
        }
    }

    /// Returns the number of rows that have failed, and the number that miss their bars.
    pub(crate) fn faults(&self) -> (usize, usize) {
        let failed = self.rows.iter().filter(|row| row.error.is_some()).count();
        let missed = self.rows.iter().filter(|row| row.met == Some(false)).count();
        (failed, missed)
    }

    /// Prints the comparison as a table.
    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let columns = [("ROW", Side::Left), ("", Side::Left), ("NATIVE", Side::Right)];
        let more = [("DEVICE", Side::Right), ("UNIT", Side::Left), ("RATIO", Side::Right)];
        let last = [("DIFFERENCE", Side::Right), ("BAR", Side::Left), ("MET", Side::Left)];
        let mut table = Table::new(&[columns, more, last].concat());
        for row in &self.rows {
            let cells = row.cells();
            table.row([
                row.row.clone(),
                row.value.into(),
                cells.native,
                cells.device,
                row.unit.into(),
                cells.ratio,
                cells.difference,
                row.bar.clone(),
                cells.met.into(),
            ]);
            if row.met == Some(false) || row.error.is_some() {
                table.alarm("MET");
            }
        }
        let mut out = out;
        table.print(&mut out)?;
        // All rows of a measurement have the same error, so print it only once.
        let mut errors: Vec<_> =
            self.rows.iter().filter_map(|row| Some((&row.row, row.error.as_ref()?))).collect();
        errors.dedup();
        for (row, error) in errors {
            writeln!(out, "{row}: {}", crate::table::printable(error))?;
        }
        Ok(())
    }

    /// Returns the comparison as a table in Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut text = "| row | measured | unit | native | device | ratio | difference | bar | |\n\
                        |---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
        for row in &self.rows {
            let cells = row.cells();
            let name = format!("{} {}", row.row, row.value);
            let met = match &row.error {
                Some(error) => error.replace('|', "\\|").replace('\n', " "),
                None => cells.met.to_owned(),
            };
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {met} |",
                name.trim_end(),
                row.what,
                row.unit,
                cells.native,
                cells.device,
                cells.ratio,
                cells.difference,
                row.bar,
            );
        }
        text
    }
}

/// The numbers of a row in the form in which they are printed.
struct Cells {
    native: String,
    device: String,
    ratio: String,
    difference: String,
    met: &'static str,
}

impl Compared {
    fn cells(&self) -> Cells {
        let text = |value: Option<f64>| value.map_or("-".into(), number);
        Cells {
            native: text(self.native),
            device: text(self.device),
            ratio: self.ratio.map_or("-".into(), |ratio| format!("{ratio:.2}")),
            difference: self.difference.map_or("-".into(), |value| match value < 0.0 {
                true => number(value),
                false => format!("+{}", number(value)),
            }),
            met: match (&self.error, self.met) {
                (Some(_), _) => "error",
                (None, Some(true)) => "yes",
                (None, Some(false)) => "NO",
                (None, None) => "",
            },
        }
    }
}

fn compare(
    measurement: &Measurement,
    row: Row,
    number: usize,
    native: &Values,
    device: &Values,
) -> Compared {
    let Measurement { name, text, unit, .. } = measurement;
    let of = |values: &Values| -> Vec<f64> {
        let repetitions = values.done.get(name).into_iter().flatten();
        repetitions.filter_map(|rows| rows.get(number).copied()).collect()
    };
    let (native_values, device_values) = (of(native), of(device));
    let (n, d) = (median(&native_values), median(&device_values));
    let both = n.zip(d);
    let error =
        |side: &str, values: &Values| values.failed.get(name).map(|text| format!("{side}: {text}"));
    let error = match (error("native", native), error("device", device)) {
        (Some(native), Some(device)) => Some(format!("{native}; {device}")),
        (native, device) => native.or(device),
    };
    Compared {
        row: name.clone(),
        value: row.value,
        what: text.clone(),
        unit: Unit::name(*unit),
        native: n,
        device: d,
        ratio: both.and_then(|(n, d)| (n > 0.0).then(|| d / n)),
        difference: both.map(|(n, d)| d - n),
        bar: row.bar.text(*unit),
        // A row that has failed neither meets nor misses its bar.
        met: if error.is_some() { None } else { row.bar.is_met(n, d) },
        error,
        native_values,
        device_values,
    }
}

/// Formats a number with about four significant digits.
fn number(value: f64) -> String {
    match value.abs() {
        size if size < 9.9995 => format!("{value:.3}"),
        size if size < 99.995 => format!("{value:.2}"),
        size if size < 999.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::table::{measurements, select};
    use super::*;

    fn values(done: &[(&str, &[&[f64]])], failed: &[(&str, &str)]) -> Values {
        let repetitions = |rows: &[&[f64]]| rows.iter().map(|row| row.to_vec()).collect();
        Values {
            gpu: Some(("GPU".into(), 13_000)),
            done: done.iter().map(|(name, rows)| (name.to_string(), repetitions(rows))).collect(),
            failed: failed
                .iter()
                .map(|(name, text)| (name.to_string(), text.to_string()))
                .collect::<BTreeMap<_, _>>(),
        }
    }

    fn report() -> Report {
        let only = ["sync-0", "alloc-4M", "copy-to-1M", "host-alloc"].map(String::from);
        let plan = Plan { names: select(&only).unwrap(), repetitions: 3, quick: false };
        let mut all = measurements();
        all.retain(|measurement| plan.names.contains(&measurement.name));
        let native = values(
            &[
                ("sync-0", &[&[9.0, 20.0], &[8.0, 30.0], &[8.5, 10.0]]),
                ("alloc-4M", &[&[60.0]]),
                ("copy-to-1M", &[&[8.0]]),
                ("host-alloc", &[&[28.0]]),
            ],
            &[],
        );
        let device = values(
            &[
                ("sync-0", &[&[10.0, 11.0], &[9.0, 12.0], &[11.0, 13.0]]),
                ("alloc-4M", &[&[30.01]]),
                ("copy-to-1M", &[&[8.0]]),
                ("host-alloc", &[&[41.0]]),
            ],
            &[("host-alloc", "out | of\nmemory")],
        );
        Report::new(&all, &plan, &native, &device)
    }

    #[test]
    fn rows_compare_the_medians_with_the_bars() {
        let report = report();
        let met: Vec<_> =
            report.rows.iter().map(|row| (row.row.as_str(), row.value, row.met)).collect();
        let expected = [
            ("sync-0", "p50", Some(true)),
            ("sync-0", "p99", None),
            ("alloc-4M", "", Some(false)),
            ("copy-to-1M", "", Some(true)),
            ("host-alloc", "", None),
        ];
        assert_eq!(met, expected);
        let row = &report.rows[0];
        assert_eq!((row.native, row.device, row.difference), (Some(8.5), Some(10.0), Some(1.5)));
        assert_eq!(row.device_values, [10.0, 9.0, 11.0]);
        assert_eq!(report.rows[1].native, Some(20.0));
        assert_eq!(report.faults(), (1, 1));
    }

    #[test]
    fn tables_have_a_line_per_row_and_the_errors() {
        let text = report().markdown();
        let lines: Vec<&str> = text.lines().skip(2).collect();
        let first = "| sync-0 p50 | empty kernel, cuStreamSynchronize | us | 8.500 | 10.00 | 1.18 \
                     | +1.500 | native + 1.5 us or 0.5% | yes |";
        assert_eq!((lines.len(), lines[0]), (5, first));
        assert!(lines[2].ends_with("| at most 0.5 × native | NO |"), "{}", lines[2]);
        assert!(lines[4].ends_with("| device: out \\| of memory |"), "{}", lines[4]);
        let mut out = Vec::new();
        report().print(&mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(out.ends_with("\nhost-alloc: device: out | of?memory\n"), "{out}");
    }
}
