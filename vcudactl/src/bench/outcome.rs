//! The plan for the measuring program, and its reports, which are lines of JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A line of the measuring program's output.
#[derive(Debug, Deserialize, Serialize)]
pub(super) enum Outcome {
    /// The GPU is ready. Contains its name, and the driver's version.
    Ready(String, i32),
    /// The GPU can't be used, for this reason. This is the last line.
    NoGpu(String),
    /// The measurement with this name has begun.
    Began(String),
    /// The measurement with this name is done. Contains a value for each of its rows.
    Done(String, Vec<f64>),
    /// The measurement with this name has failed, for this reason. This is the last line.
    Failed(String, String),
}

/// The measurements to take.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The names of the measurements to take.
    pub(crate) names: Vec<String>,
    /// The number of times that each measurement is taken.
    pub(crate) repetitions: usize,
    /// Whether to take few samples and to do little work in each.
    pub(crate) quick: bool,
}

/// The values that were measured on one side, native or device.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// The GPU's name, and the driver's version.
    pub(super) gpu: Option<(String, i32)>,
    /// The values by the name of the measurement. For each repetition, there is a list with a value
    /// for each row.
    pub(super) done: BTreeMap<String, Vec<Vec<f64>>>,
    /// The errors of failed measurements, by name. These measurements aren't repeated.
    pub(super) failed: BTreeMap<String, String>,
}
