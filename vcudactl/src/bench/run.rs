//! Runs the measuring program repeatedly, alternating between native runs and runs through the
//! device, and collects the values.

use std::time::{Duration, Instant};

use super::outcome::{Outcome, Plan, Values};
use super::paths::{Paths, Side};
use super::report::Report;
use super::table::{Measurement, measurements};
use crate::cuda::{Line, Program};
use crate::error::CtlError;

/// Maximum time that a measurement, or the start of the measuring program, may take.
const LIMIT: Duration = Duration::from_secs(30);

/// Takes the measurements. Calls `progress` before each repetition of a side.
pub(crate) fn run(
    paths: &Paths,
    plan: &Plan,
    mut progress: impl FnMut(&str),
) -> Result<Report, CtlError> {
    let mut all = measurements();
    all.retain(|measurement| plan.names.contains(&measurement.name));
    let (mut native, mut device) = (Values::default(), Values::default());
    for repetition in 0..plan.repetitions {
        for (side, values) in [(Side::Native, &mut native), (Side::Device, &mut device)] {
            if paths.command(side, plan.quick, &[])?.is_none() {
                continue;
            }
            progress(&format!("{}, {} of {}", side.name(), repetition + 1, plan.repetitions));
            repeat(paths, plan, side, &all, repetition, values)?;
        }
    }
    Ok(Report::new(&all, plan, &native, &device))
}

/// Takes each measurement once on a side. After a failure, starts another process for the remaining
/// measurements.
fn repeat(
    paths: &Paths,
    plan: &Plan,
    side: Side,
    all: &[Measurement],
    repetition: usize,
    values: &mut Values,
) -> Result<(), CtlError> {
    let wanted = all.iter().filter(|measurement| repetition < measurement.repetitions);
    let mut pending: Vec<&str> = wanted.map(|measurement| measurement.name.as_str()).collect();
    pending.retain(|name| !values.failed.contains_key(*name));
    while !pending.is_empty() {
        let Some(command) = paths.command(side, plan.quick, &pending)? else { return Ok(()) };
        let mut program = Program::start(command, "the measuring program")?;
        let (is_ready, ended) = follow(&mut program, &mut pending, values);
        let (status, log) = program.wait()?;
        let early =
            (!pending.is_empty()).then(|| format!("the measuring program ended with {status}"));
        let Some(mut text) = ended.or(early) else { return Ok(()) };
        if !log.is_empty() {
            text += &format!("; its log says: {log}");
        }
        // If the GPU couldn't be used, all measurements have failed. Otherwise, only the first
        // pending one has.
        let failed = if is_ready { pending.len().min(1) } else { pending.len() };
        for name in pending.drain(..failed) {
            values.failed.insert(name.to_owned(), text.clone());
        }
    }
    Ok(())
}

/// Reads the output of a measuring program until the program ends or takes too long. Removes
/// measurements that are done from `pending`. Returns whether the program could use the GPU, and if
/// it can't take the remaining measurements, the reason.
fn follow(
    program: &mut Program,
    pending: &mut Vec<&str>,
    values: &mut Values,
) -> (bool, Option<String>) {
    let mut is_ready = false;
    loop {
        let line = match program.next(Instant::now() + LIMIT) {
            Line::Text(line) => line,
            Line::End => return (is_ready, None),
            Line::Late => {
                program.kill();
                return (is_ready, Some(format!("it wasn't done within {} s", LIMIT.as_secs())));
            }
        };
        match serde_json::from_str(&line) {
            Ok(Outcome::Ready(name, version)) => {
                values.gpu = Some((name, version));
                is_ready = true;
            }
            Ok(Outcome::Began(_)) => {}
            Ok(Outcome::Done(name, row)) => {
                pending.retain(|pending| *pending != name);
                values.done.entry(name).or_default().push(row);
            }
            Ok(Outcome::NoGpu(text) | Outcome::Failed(_, text)) => return (is_ready, Some(text)),
            Err(error) => {
                program.kill();
                return (is_ready, Some(format!("the measuring program's report: {error}")));
            }
        }
    }
}
