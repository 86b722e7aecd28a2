//! Memory multiplied by the time for which it was held. No I/O.

/// The integral of a number of bytes over time. It's exact, because each change of the number is
/// passed to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter {
    bytes: u64,
    /// The time of the last change, in nanoseconds of the monotonic clock.
    since: u64,
    /// Bytes times nanoseconds until the time `since`.
    total: u128,
}

impl Meter {
    pub(crate) fn new(bytes: u64, now: u64) -> Self {
        Self { bytes, since: now, total: 0 }
    }

    /// Sets the number of bytes from now on.
    pub(crate) fn set(&mut self, bytes: u64, now: u64) {
        *self = Self { bytes, since: now, total: self.at(now) };
    }

    /// Returns bytes times seconds until now.
    pub(crate) fn byte_seconds(&self, now: u64) -> u64 {
        u64::try_from(self.at(now) / 1_000_000_000).unwrap_or(u64::MAX)
    }

    fn at(&self, now: u64) -> u128 {
        // The product of two 64-bit numbers fits in 128 bits, and no host runs long enough to make
        // the sum overflow.
        let more = u128::from(self.bytes) * u128::from(now.saturating_sub(self.since));
        self.total.saturating_add(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_allocations_count_as_long_as_they_last() {
        const MS: u64 = 1_000_000;
        let mut meter = Meter::new(0, 7);
        let mut now = 7;
        for _ in 0..1000 {
            meter.set(1 << 30, now);
            meter.set(0, now + MS);
            now += 10 * MS;
        }
        assert_eq!(meter.byte_seconds(now), 1 << 30);
        assert_eq!(meter.byte_seconds(now + 1000 * MS), 1 << 30);
        meter.set(u64::MAX, now);
        assert_eq!(meter.byte_seconds(u64::MAX), u64::MAX);
    }
}
