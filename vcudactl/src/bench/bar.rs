//! Bars: the values that the device's results must reach, compared with native results.

/// The unit of the values in a row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Gigabytes (10^9 bytes) per second.
    GbPerS,
    /// Operations per second.
    PerS,
    /// Percent of one CPU core's time.
    Percent,
}

impl Unit {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Us => "us",
            Self::Ms => "ms",
            Self::GbPerS => "GB/s",
            Self::PerS => "1/s",
            Self::Percent => "% of a core",
        }
    }
}

/// The value that the device's result must reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bar {
    /// No bar: the row is only informative.
    None,
    /// At most the native value plus an amount, or plus a percentage of it, whichever is more.
    Plus(f64, f64),
    /// At most this multiple of the native value.
    AtMost(f64),
    /// At least this multiple of the native value.
    AtLeast(f64),
    /// Less than the native value.
    Less,
    /// At most this value, whatever the native value is.
    Value(f64),
}

impl Bar {
    /// Returns whether the device reaches the bar. Returns `None` if there is no bar, or if a value
    /// is missing that the bar depends on.
    pub(super) fn is_met(self, native: Option<f64>, device: Option<f64>) -> Option<bool> {
        let device = device?;
        match self {
            Self::None => None,
            Self::Value(max) => Some(device <= max),
            Self::Plus(amount, percent) => {
                native.map(|native| device <= native + amount.max(native * percent / 100.0))
            }
            Self::AtMost(ratio) => native.map(|native| device <= native * ratio),
            Self::AtLeast(ratio) => native.map(|native| device >= native * ratio),
            Self::Less => native.map(|native| device < native),
        }
    }

    /// Returns a description of the bar, with values in this unit.
    pub(super) fn text(self, unit: Unit) -> String {
        let unit = unit.name();
        match self {
            Self::None => String::new(),
            Self::Plus(amount, 0.0) => format!("native + {amount} {unit}"),
            Self::Plus(amount, percent) => format!("native + {amount} {unit} or {percent}%"),
            Self::AtMost(ratio) => format!("at most {ratio} × native"),
            Self::AtLeast(ratio) => format!("at least {ratio} × native"),
            Self::Less => "less than native".into(),
            Self::Value(max) => format!("at most {max} {unit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_met_up_to_its_value() {
        let cases = [
            // In the first two cases, the amount is more than the percentage. In the next two, it's
            // less.
            (Bar::Plus(1.5, 0.5), 10.0, 11.5, Some(true)),
            (Bar::Plus(1.5, 0.5), 10.0, 11.51, Some(false)),
            (Bar::Plus(1.5, 0.5), 1000.0, 1005.0, Some(true)),
            (Bar::Plus(1.5, 0.5), 1000.0, 1005.1, Some(false)),
            (Bar::Plus(1.5, 0.0), 10.0, 11.51, Some(false)),
            (Bar::AtMost(0.5), 10.0, 5.0, Some(true)),
            (Bar::AtMost(0.5), 10.0, 5.1, Some(false)),
            (Bar::AtLeast(1.5), 10.0, 15.0, Some(true)),
            (Bar::AtLeast(1.5), 10.0, 14.9, Some(false)),
            (Bar::Less, 10.0, 9.9, Some(true)),
            (Bar::Less, 10.0, 10.0, Some(false)),
            (Bar::Value(5.0), 10.0, 5.0, Some(true)),
            (Bar::Value(5.0), 1.0, 5.1, Some(false)),
            (Bar::None, 1.0, 100.0, None),
        ];
        for (bar, native, device, expected) in cases {
            assert_eq!(bar.is_met(Some(native), Some(device)), expected, "{bar:?} {device}");
        }
    }

    #[test]
    fn a_missing_value_decides_nothing() {
        for bar in [Bar::Plus(1.0, 1.0), Bar::AtMost(1.0), Bar::AtLeast(1.0), Bar::Less] {
            assert_eq!(bar.is_met(None, Some(1.0)), None, "{bar:?}");
            assert_eq!(bar.is_met(Some(1.0), None), None, "{bar:?}");
        }
        assert_eq!(Bar::Value(5.0).is_met(None, Some(1.0)), Some(true));
        assert_eq!(Bar::Value(5.0).is_met(Some(1.0), None), None);
    }

    #[test]
    fn bars_are_put_in_words() {
        assert_eq!(Bar::Plus(1.5, 0.5).text(Unit::Us), "native + 1.5 us or 0.5%");
        assert_eq!(Bar::Plus(1.5, 0.0).text(Unit::Us), "native + 1.5 us");
        assert_eq!(Bar::AtMost(1.2).text(Unit::Ms), "at most 1.2 × native");
        assert_eq!(Bar::Value(2.0).text(Unit::Percent), "at most 2 % of a core");
    }
}
