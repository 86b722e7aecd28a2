//! The measuring program's plan, and its reports, which are lines of JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A line of the program's output.
#[derive(Debug, Deserialize, Serialize)]
pub(super) enum Outcome {
    /// The GPU is ready: its name, and the driver's version.
    Ready(String, i32),
    /// The GPU can't be used. No lines follow.
    NoGpu(String),
    /// A measurement begins.
    Began(String),
    /// A measurement is done. The values are those of its rows.
    Done(String, Vec<f64>),
    /// A measurement failed. No lines follow.
    Failed(String, String),
}

/// The measurements to take.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The names of the measurements.
    pub(crate) names: Vec<String>,
    /// Number of repetitions of each.
    pub(crate) repetitions: usize,
    /// Whether to take few samples of little work.
    pub(crate) quick: bool,
}

/// The values of a side.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// The GPU's name, and the driver's version.
    pub(super) gpu: Option<(String, i32)>,
    /// The values of a measurement: for each repetition, those of its rows.
    pub(super) done: BTreeMap<String, Vec<Vec<f64>>>,
    /// The errors of measurements that failed. These aren't repeated.
    pub(super) failed: BTreeMap<String, String>,
}
