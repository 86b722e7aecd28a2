//! Calculates the fraction of a GPU's time that each of its VMs gets if all of them have work. No
//! I/O.

use gpu_scheduler::{Share, WHOLE};

/// Returns each VM's fraction of the time, 0.0 to 1.0. The fractions are proportional to the
/// weights, but at least the VM's guarantee and at most its cap.
pub(crate) fn fair_shares(shares: &[Share]) -> Vec<f64> {
    let whole = f64::from(WHOLE);
    // With overcommit, the guarantees can add up to more than the GPU's time. They are then reduced
    // in proportion.
    let guaranteed: f64 = shares.iter().map(|share| f64::from(share.min)).sum();
    let cut = guaranteed.max(whole);
    let at = |level: f64| {
        let part = |share: &Share| {
            let (least, most) = (f64::from(share.min) / cut, f64::from(share.max) / whole);
            (level * f64::from(share.weight)).max(least).min(most)
        };
        shares.iter().map(part).collect::<Vec<f64>>()
    };
    // `level` is the fraction of time per unit of weight. The sum of all fractions increases with
    // it. Search for the level at which the sum is 1.0.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..64 {
        let level = f64::midpoint(low, high);
        if at(level).iter().sum::<f64>() < 1.0 { low = level } else { high = level }
    }
    at(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(shares: &[(u32, u32, u32)]) -> Vec<f64> {
        let shares: Vec<_> = shares
            .iter()
            .map(|(weight, min, max)| Share {
                weight: *weight,
                min: min * 100,
                max: max * 100,
                ..Share::default()
            })
            .collect();
        fair_shares(&shares).iter().map(|part| (part * 1e4).round() / 100.0).collect()
    }

    #[test]
    fn weights_divide_the_time_within_guarantees_and_caps() {
        assert_eq!(of(&[(30, 0, 100), (70, 0, 100)]), [30.0, 70.0]);
        // A guarantee has an effect only if it's more than the VM would get by its weight.
        assert_eq!(of(&[(1, 80, 100), (100, 0, 100)]), [80.0, 20.0]);
        assert_eq!(of(&[(300, 20, 100), (100, 0, 100)]), [75.0, 25.0]);
        assert_eq!(of(&[(1, 50, 100), (1, 30, 100), (10_000, 0, 100)]), [50.0, 30.0, 20.0]);
        // Time that a VM can't use because of its cap goes to other VMs.
        assert_eq!(of(&[(100, 0, 10), (100, 0, 100), (200, 0, 100)]), [10.0, 30.0, 60.0]);
        assert_eq!(of(&[(1, 0, 25)]), [25.0]);
        assert_eq!(of(&[(1, 0, 25), (10_000, 0, 50)]), [25.0, 50.0]);
    }

    #[test]
    fn overcommitted_guarantees_are_reduced_in_proportion() {
        assert_eq!(of(&[(1, 80, 100), (1, 80, 100)]), [50.0, 50.0]);
        assert!(of(&[]).is_empty());
    }
}
