//! The table of values of CUDA_VISIBLE_DEVICES, and of the devices that each value selects.
//!
//! Each row is a value, in which `|` replaces commas, and names in capitals replace UUIDs (see
//! [`value`]). An outcome is the list of selected devices, or the error of `cuInit`. There is a
//! kind of table for hosts with one device, and one for hosts with several devices.

use crate::cuda::{Cuda, DefaultStream, Failure, Outcome, cu};
use crate::table::Table;
use cuda_api::devices::uuid_text;
use cuda_api::sys::CUuuid;
use std::process::{Command, ExitCode};

pub const TABLE: Table = Table {
    option: "--visible-devices",
    native: NATIVE,
    apart: false,
    kinds: || vec!["one", "several"],
    cells: |_, kind| {
        let rows = NATIVE.lines().filter_map(|line| line.strip_prefix(kind)?.strip_prefix(','));
        let cells = rows.filter_map(|row| row.split_once(','));
        let cells = cells.map(|(row, _)| (row.to_owned(), "devices".to_owned()));
        Ok(if kind == self::kind(&devices(None)?) { cells.collect() } else { Vec::new() })
    },
    run: |_, _, (row, _), before| {
        before();
        selected(row)
    },
};

const NATIVE: &str = include_str!("native.csv");
/// The option that prints the devices that this process can use.
pub const LIST: &str = "--list-devices";

/// Returns the part of the table for a host with these devices.
fn kind(devices: &[String]) -> &'static str {
    if devices.len() > 1 { "several" } else { "one" }
}

/// Checks all rows for this host.
pub fn check(cuda: &Cuda) -> Outcome {
    TABLE.check(cuda, kind(&devices(None)?))
}

/// Returns the UUIDs of the devices that a process finds if CUDA_VISIBLE_DEVICES has this value, or
/// the error that the process gets.
fn devices(value: Option<&str>) -> Outcome<Vec<String>> {
    let mut command = Command::new(std::env::current_exe().map_err(Failure::new)?);
    command.arg(LIST).env_remove("CUDA_VISIBLE_DEVICES").env_remove("CUDA_DEVICE_ORDER");
    if let Some(value) = value {
        command.env("CUDA_VISIBLE_DEVICES", value);
    }
    let output = command.output().map_err(Failure::new)?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().map(str::to_owned).collect())
}

/// Prints the UUIDs of the devices that this process can use, or an error.
pub fn list() -> ExitCode {
    let listed = || {
        let (cuda, mut count) = (Cuda::load(DefaultStream::Legacy)?, 0);
        if let Err(failed) = cu!(cuda, cuInit(0)) {
            println!("{}", failed.error.0);
            return Ok(());
        }
        cu!(cuda, cuDeviceGetCount(&mut count))?;
        for device in 0..count {
            let mut uuid = CUuuid { bytes: [0; 16] };
            cu!(cuda, cuDeviceGetUuid_v2(&mut uuid, device))?;
            println!("{}", uuid_text(&uuid.bytes.map(|byte| byte as u8)));
        }
        Outcome::Ok(())
    };
    match listed() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the value of CUDA_VISIBLE_DEVICES for a row, by replacing names with UUIDs. `UUID0` is
/// the UUID of the first device. The other names are variants of it: `SHORT0` is its first twelve
/// characters, `LESS0` all but its last character, and `MORE0` has one more character. `OTHER0` has
/// a different last character, `UPPER0` has capital digits, `LOWER0` has a prefix without capitals,
/// and `BARE0` has no prefix. The row for the empty value is called `empty`.
fn value(row: &str, devices: &[String]) -> String {
    let mut value = row.replace('|', ",");
    if value == "empty" {
        value.clear();
    }
    for (index, uuid) in devices.iter().enumerate().take(2) {
        let bare = &uuid["GPU-".len()..];
        let (less, last) = uuid.split_at(uuid.len() - 1);
        for (name, text) in [
            ("UUID", uuid.clone()),
            ("SHORT", uuid[..12].to_owned()),
            ("LESS", less.to_owned()),
            ("MORE", format!("{uuid}0")),
            ("OTHER", format!("{less}{}", if last == "0" { "1" } else { "0" })),
            ("UPPER", format!("GPU-{}", bare.to_uppercase())),
            ("LOWER", format!("gpu-{bare}")),
            ("BARE", bare.to_owned()),
        ] {
            value = value.replace(&format!("{name}{index}"), &text);
        }
    }
    value
}

/// Returns the outcome of a row on this host.
fn selected(row: &str) -> Outcome<String> {
    let all = devices(None)?;
    let value = (row != "unset").then(|| value(row, &all));
    let found = devices(value.as_deref())?;
    let names = found.iter().map(|uuid| match all.iter().position(|device| device == uuid) {
        Some(index) => format!("device {index}"),
        None => uuid.clone(),
    });
    Ok(names.collect::<Vec<_>>().join(" "))
}
