//! The description of a setting, and the functions that are derived from it for all settings.

use crate::error::ApiError;
use crate::units::{Percent, Timespan, format_size};

/// A setting of a VM. [`SETTINGS`](crate::SETTINGS) describes all of them.
#[derive(Debug)]
pub struct Setting {
    /// Its key, such as `compute.weight`.
    pub key: &'static str,
    /// Its type and allowed values.
    pub kind: Kind,
    /// Its value if none is given.
    pub default: Preset,
    /// Whether the setting can be changed while the VM exists.
    pub change: Change,
    /// Placeholder of the setting's value in the command line's help.
    pub placeholder: &'static str,
    /// Its description in the command line's help.
    pub help: &'static str,
    /// The setting's allowed values in docs/configuration.md. Empty if they follow from `kind`.
    pub doc_values: &'static str,
    /// The setting's description in docs/configuration.md and in the API.
    pub doc: &'static str,
}

/// The type of a setting, and the values that it allows.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A whole number.
    Number(u64, u64),
    /// A whole number of bytes.
    Size(u64, u64),
    /// A size of device memory, which the driver allocates in blocks of 2 MiB.
    DeviceMemory,
    /// A percentage, in whole percents.
    Percent(u32, u32),
    /// A duration.
    Time(Timespan, Timespan),
    /// One of several words, with their descriptions.
    Word(&'static [(&'static str, &'static str)]),
    /// Any other text. The words say which values are allowed.
    Text(&'static str),
    /// A list. The words say which values are allowed.
    List(&'static str),
}

/// The value of a setting that isn't given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// The setting has this default, written as on the command line.
    Value(&'static str),
    /// The setting has no default: every VM must have a value. The text describes that in
    /// docs/configuration.md.
    Required(&'static str),
    /// The default isn't the same for all VMs, or there is none. The texts describe it in the
    /// command line's help, and in docs/configuration.md and the API. A text is empty if the
    /// default isn't mentioned there.
    Words(&'static str, &'static str),
}

/// Whether a setting can be changed while the VM exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The setting can't be changed.
    Never,
    /// The setting can be changed. The text is the help of `vm set`, or empty if that is the same
    /// as for `vm add`.
    Live(&'static str),
    /// The setting can be changed, and it can be reset to its default. The text is the help of `vm
    /// set`.
    LiveOrNone(&'static str),
}

/// Smallest limit on device memory: the driver's allocation unit.
pub(crate) const MIN_DEVICE_MEMORY: u64 = 2 << 20;
/// Largest size of memory.
const MAX_MEMORY: u64 = 1 << 50;

impl Setting {
    /// Returns true if the setting can be changed while the VM exists.
    pub fn is_live(&self) -> bool {
        self.change != Change::Never
    }

    /// Returns the table that contains the setting, such as `compute`, or the setting's key if it
    /// isn't in a table.
    pub fn table(&self) -> &'static str {
        self.key.split('.').next().unwrap_or_default()
    }

    /// Returns true if the value is a number of bytes.
    pub fn is_size(&self) -> bool {
        matches!(self.kind, Kind::Size(..) | Kind::DeviceMemory)
    }

    /// Describes the allowed values.
    pub fn expected(&self) -> String {
        match self.kind {
            Kind::Number(low, high) => format!("a whole number from {low} to {high}"),
            Kind::Size(low, high) => format!("a whole number of bytes from {low} to {high}"),
            Kind::DeviceMemory => {
                format!("a whole number of bytes from {MIN_DEVICE_MEMORY} to {MAX_MEMORY}")
            }
            Kind::Percent(low, high) => format!("a string from \"{low}%\" to \"{high}%\""),
            Kind::Time(low, high) => format!("a string from \"{low}\" to \"{high}\""),
            Kind::Word(words) => {
                let words: Vec<String> =
                    words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
                words.join(" or ")
            }
            Kind::Text(words) | Kind::List(words) => words.to_owned(),
        }
    }

    /// Returns the setting's row in the table of docs/configuration.md.
    pub fn doc_row(&self) -> String {
        let section = if self.is_own() { "VM" } else { "VM, defaults" };
        let (key, values, doc) = (self.key, self.doc_values(), self.doc);
        let default = self.doc_default();
        let semicolon = if default.is_empty() { "" } else { "; " };
        format!("| `{key}` | {section} | {values}{semicolon}{default} | {doc} |\n")
    }

    /// Describes the allowed values for the documentation.
    fn doc_values(&self) -> String {
        match self.kind {
            _ if !self.doc_values.is_empty() => self.doc_values.to_owned(),
            Kind::Number(low, high) => format!("{low} to {high}"),
            Kind::Size(low, high) => format!("{} to {}", format_size(low), format_size(high)),
            Kind::DeviceMemory => {
                format!("{} to {}", format_size(MIN_DEVICE_MEMORY), format_size(MAX_MEMORY))
            }
            Kind::Percent(low, high) => format!("{low}% to {high}%"),
            Kind::Time(low, high) => format!("{low} to {high}"),
            Kind::Word(words) => {
                let words: Vec<String> =
                    words.iter().map(|(word, _)| format!("`\"{word}\"`")).collect();
                words.join(", ")
            }
            Kind::Text(words) | Kind::List(words) => words.to_owned(),
        }
    }

    fn doc_default(&self) -> String {
        match (self.default, self.kind) {
            (Preset::Required(doc) | Preset::Words(_, doc), _) => doc.to_owned(),
            (Preset::Value(text), Kind::Word(_) | Kind::Text(_)) => format!("`\"{text}\"`"),
            (Preset::Value(text), Kind::List(_)) => format!("`[\"{text}\"]`"),
            (Preset::Value(text), _) => text.to_owned(),
        }
    }

    /// Returns the range of a number or a size.
    pub fn range(&self) -> Option<(u64, u64)> {
        match self.kind {
            Kind::DeviceMemory => Some((MIN_DEVICE_MEMORY, MAX_MEMORY)),
            Kind::Number(low, high) | Kind::Size(low, high) => Some((low, high)),
            _ => None,
        }
    }

    /// Returns true if every VM must have a value.
    pub fn is_required(&self) -> bool {
        matches!(self.default, Preset::Required(_))
    }

    /// Returns true if every VM needs its own value, so that `[defaults]` can't have one.
    pub fn is_own(&self) -> bool {
        ["name", "socket"].contains(&self.key)
    }

    /// Checks the range of a number or a size.
    pub(crate) fn check_number(&self, value: u64) -> Result<(), ApiError> {
        let Some((low, high)) = self.range() else { return Ok(()) };
        if matches!(self.kind, Kind::DeviceMemory) && value < low {
            let message = format!(
                "{value} bytes is too small: device memory is allocated in blocks of 2 MiB, so \
                 it must be {}",
                self.expected()
            );
            return Err(ApiError::invalid(self.key, message));
        }
        self.check_range(value, low, high)
    }

    /// Checks the range of a percentage or a duration.
    pub(crate) fn check_text(&self, text: &str) -> Result<(), ApiError> {
        // Parsing has already refused text that isn't a percentage or a duration, so only the range
        // is checked here.
        match self.kind {
            Kind::Percent(low, high) => text.parse().map_or(Ok(()), |value| {
                let percent = |whole| Percent::from_basis_points(whole * 100);
                self.check_range(value, percent(low), percent(high))
            }),
            Kind::Time(low, high) => {
                text.parse().map_or(Ok(()), |value| self.check_range(value, low, high))
            }
            _ => Ok(()),
        }
    }

    fn check_range<T: PartialOrd + std::fmt::Display>(
        &self,
        value: T,
        low: T,
        high: T,
    ) -> Result<(), ApiError> {
        if value >= low && value <= high {
            return Ok(());
        }
        let message = format!("{value} is out of range: it must be from {low} to {high}");
        Err(ApiError::invalid(self.key, message))
    }
}
