//! Takes samples, and computes statistics of them.

use std::time::{Duration, Instant};

use crate::cuda::Failed;

/// Maximum time for the samples of a measurement. For slow calls, fewer samples are taken, but at
/// least [`MIN_SAMPLES`].
const MAX_TIME: Duration = Duration::from_millis(1500);
const MIN_SAMPLES: usize = 3;

/// The result of a measurement: a value for each of its rows.
pub(super) type Measured = Result<Vec<f64>, Failed>;

/// Returns how long an action takes, in microseconds.
pub(super) fn time(action: impl FnOnce() -> Result<(), Failed>) -> Result<f64, Failed> {
    let began = Instant::now();
    action()?;
    Ok(began.elapsed().as_secs_f64() * 1e6)
}

/// Takes up to `count` samples, after some runs for warming up that aren't counted.
pub(super) fn samples(
    count: usize,
    mut once: impl FnMut() -> Result<f64, Failed>,
) -> Result<Vec<f64>, Failed> {
    for _ in 0..(count / 20).clamp(1, 20) {
        once()?;
    }
    let until = Instant::now() + MAX_TIME;
    let mut values = Vec::with_capacity(count);
    while values.len() < count && (values.len() < MIN_SAMPLES || Instant::now() < until) {
        values.push(once()?);
    }
    Ok(values)
}

/// Returns the value that `percent` of the values don't exceed, or 0 if there are no values.
pub(super) fn percentile(values: &[f64], percent: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// Returns the middle value, or the mean of the middle two. Returns `None` if there are no values.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.len().checked_sub(1)? / 2, sorted.len() / 2);
    Some((sorted[low] + sorted[high]) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_percentiles_are_of_the_sorted_values() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 3.0, 4.0]), Some(3.5));
        let values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!((percentile(&values, 50.0), percentile(&values, 99.0)), (100.0, 198.0));
        assert_eq!((percentile(&[7.0], 99.0), percentile(&[], 50.0)), (7.0, 0.0));
    }

    #[test]
    fn slow_calls_have_few_samples() {
        let mut calls = 0;
        let values = samples(100, || {
            calls += 1;
            if calls > 5 {
                std::thread::sleep(MAX_TIME / 2);
            }
            Ok(1.0)
        });
        // Five of the calls were for warming up.
        assert_eq!((values.unwrap().len(), calls), (MIN_SAMPLES, 8));
    }
}
