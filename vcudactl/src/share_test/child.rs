//! Runs the CUDA program, and collects what it reports.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::cli::TEST_PROGRAM;
use crate::cuda::{Line, Program, through_device};
use crate::error::CtlError;

/// A step that was done.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Step {
    /// Its name.
    pub(crate) step: String,
    /// Number of the GPU, in the order in which the VM sees its GPUs. `None` if it concerns all.
    pub(crate) gpu: Option<u32>,
    /// How long it took, in nanoseconds.
    pub(crate) ns: u64,
}

/// A step that failed.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Failure {
    /// Its name.
    pub(crate) step: String,
    /// Number of the GPU.
    pub(crate) gpu: Option<u32>,
    /// The number of the CUDA error. 0 if there is none.
    pub(crate) code: i32,
    /// The error.
    pub(crate) text: String,
}

/// A line of the process's output.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Outcome {
    /// A step of a GPU begins.
    Began(String, Option<u32>),
    /// It's done.
    Done(Step),
    /// It failed. No others follow.
    Failed(Failure),
}

/// Runs the program through this socket, for at most `limit`. Returns the steps that were done, and the
/// one that failed.
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
