//! The measurements. Each returns the values of its rows in the table.
//!
//! | module | subject |
//! |---|---|
//! | `waiting` | kernels, and waiting for them |
//! | `memory` | allocations, page-locked memory, free memory |
//! | `copies` | pageable copies |
//! | `modules` | loading code |
//! | `graphs` | graphs |
//! | `processes` | programs that start, and programs that share the GPU |

mod copies;
mod graphs;
mod memory;
mod modules;
mod processes;
mod waiting;

pub(super) use copies::{copy_fresh, copy_from, copy_to};
pub(super) use graphs::{graph, graph_updates};
pub(super) use memory::{
    alloc, alloc_async, host_alloc, mem_info, mem_info_after_free, register, virtual_memory,
};
pub(super) use modules::{cubin, new_ptx, same_ptx};
pub(super) use processes::{burst, devices, devices_in_turn, play, rate};
pub(super) use waiting::{blocking_sync, copy_sync, cpu_time, event_sync, query, record, sync};

use super::sample::percentile;

/// Returns the median, and the value that 99% of the samples don't exceed.
fn p50_p99(samples: &[f64]) -> Vec<f64> {
    vec![percentile(samples, 50.0), percentile(samples, 99.0)]
}

/// Returns the median.
fn p50(samples: &[f64]) -> Vec<f64> {
    vec![percentile(samples, 50.0)]
}
