//! Runs the CUDA program of `test` in a process, and collects its reports.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::cli::TEST_PROGRAM;
use crate::cuda::{Line, Program, through_device};
use crate::error::CtlError;

/// A step of the test that was done.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Step {
    /// The name of the step.
    pub(crate) step: String,
    /// Index of the GPU, in the order in which the VM sees its GPUs. `None` if the step is about
    /// all GPUs.
    pub(crate) gpu: Option<u32>,
    /// The duration of the step, in nanoseconds.
    pub(crate) ns: u64,
}

/// A step of the test that failed.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Failure {
    /// The name of the step.
    pub(crate) step: String,
    /// Index of the GPU, in the order in which the VM sees its GPUs. `None` if the step is about
    /// all GPUs.
    pub(crate) gpu: Option<u32>,
    /// The number of the CUDA error, or 0 if the failure isn't a CUDA error.
    pub(crate) code: i32,
    /// The error message.
    pub(crate) text: String,
}

/// A line of the program's output.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Outcome {
    /// The step with this name has begun, on the GPU with this index.
    Began(String, Option<u32>),
    /// The step is done.
    Done(Step),
    /// The step has failed. This is the last line.
    Failed(Failure),
}

/// Runs the program through a socket, for at most `limit`. Returns the steps that were done, and
/// the step that failed, if any.
pub(crate) fn run(
    library: &Path,
    socket: &Path,
    limit: Duration,
) -> Result<(Vec<Step>, Option<Failure>), CtlError> {
    let mut command = through_device(library, socket)?;
    command.arg(TEST_PROGRAM);
    let mut program = Program::start(command, "the test program")?;
    let until = Instant::now() + limit;
    let (mut steps, mut now, mut failed) = (Vec::new(), ("start".to_owned(), None), None);
    let has_ended = loop {
        let line = match program.next(until) {
            Line::Text(line) => line,
            Line::End => break true,
            Line::Late => break false,
        };
        match serde_json::from_str(&line) {
            Ok(Outcome::Began(step, gpu)) => now = (step, gpu),
            Ok(Outcome::Done(step)) => steps.push(step),
            Ok(Outcome::Failed(failure)) => failed = Some(failure),
            Err(error) => return Err(CtlError::Answer(error.to_string())),
        }
    };
    if !has_ended {
        program.kill();
    }
    let (status, log) = program.wait()?;
    let (step, gpu) = now;
    let fail = |text: String| Some(Failure { step, gpu, code: 0, text });
    let mut failed = match failed {
        _ if !has_ended => fail(format!("it wasn't done within {} s", limit.as_secs())),
        None if !status.success() => fail(format!("the test program ended with {status}")),
        failed => failed,
    };
    if let Some(failure) = &mut failed
        && !log.is_empty()
    {
        failure.text += &format!("; the guest's library says: {log}");
    }
    Ok((steps, failed))
}
