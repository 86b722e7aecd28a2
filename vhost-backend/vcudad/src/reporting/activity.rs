//! Counters of the work that workers report in their shared pages.

use std::sync::atomic::{AtomicU64, Ordering};

use control_api::Activity;

use host_ipc::gate::WorkerWords;

/// Reads the counters in a worker's shared page.
pub(crate) fn activity_of(words: &WorkerWords) -> Activity {
    let number = |word: &AtomicU64| word.load(Ordering::Relaxed);
    Activity {
        calls: number(&words.calls),
        launches: number(&words.launches),
        graph_launches: number(&words.graph_launches),
        bytes_h2d: number(&words.bytes_h2d),
        bytes_d2h: number(&words.bytes_d2h),
        bytes_d2d: number(&words.bytes_d2d),
        ring_depth: number(&words.ring_depth),
    }
}

/// Adds `more` to `sum`. Workers can report any values, so the sums saturate.
pub(crate) fn add(sum: &mut Activity, more: &Activity) {
    let parts = [
        (&mut sum.calls, more.calls),
        (&mut sum.launches, more.launches),
        (&mut sum.graph_launches, more.graph_launches),
        (&mut sum.bytes_h2d, more.bytes_h2d),
        (&mut sum.bytes_d2h, more.bytes_d2h),
        (&mut sum.bytes_d2d, more.bytes_d2d),
        (&mut sum.ring_depth, more.ring_depth),
    ];
    for (sum, more) in parts {
        *sum = sum.saturating_add(more);
    }
}
