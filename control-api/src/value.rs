//! Parses and formats the values of settings as text, in the format of the command line.

use serde_json::Value;

use crate::setting::{Kind, MIN_DEVICE_MEMORY, Preset, Setting};
use crate::spec::GpuRequest;
use crate::units::{Percent, Timespan, format_size, parse_size};

impl Setting {
    /// Parses a value, or one element of a list, as on the command line. Doesn't check ranges.
    pub(crate) fn parse(&self, text: &str) -> Result<Value, String> {
        match self.kind {
            Kind::Number(..) => {
                // u32 is enough, because no setting has a larger type.
                let number: Result<u32, _> = text.parse();
                number.map(Value::from).map_err(|_| format!("it must be {}", self.expected()))
            }
            Kind::Size(..) => parse_size(text).map(Value::from).map_err(|error| error.to_string()),
            Kind::DeviceMemory => device_size(text).map(Value::from),
            Kind::Percent(..) => text
                .parse()
                .map(|value: Percent| value.to_string().into())
                .map_err(|error| error.to_string()),
            Kind::Time(..) => text
                .parse()
                .map(|value: Timespan| value.to_string().into())
                .map_err(|error| error.to_string()),
            Kind::List(_) if self.key == "gpus" => {
                text.parse().map(|gpu: GpuRequest| gpu.to_string().into())
            }
            Kind::Word(_) | Kind::Text(_) | Kind::List(_) => Ok(text.into()),
        }
    }

    /// Returns the default of the setting, if it's the same for all VMs.
    pub fn default_value(&self) -> Option<Value> {
        let Preset::Value(text) = self.default else { return None };
        let value = self.parse(text).ok()?;
        Some(match self.kind {
            Kind::List(_) => vec![value].into(),
            _ => value,
        })
    }

    /// Formats a value as on the command line. `None` for `null`.
    pub fn text(&self, value: &Value) -> Option<String> {
        match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            Value::Number(number) if self.is_size() => number.as_u64().map(format_size),
            Value::Array(list) => {
                Some(list.iter().filter_map(|one| self.text(one)).collect::<Vec<_>>().join(","))
            }
            other => Some(other.to_string()),
        }
    }
}

/// Parses an amount of device memory. Refuses an amount below the driver's allocation unit, because
/// it must be a mistake.
fn device_size(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text).map_err(|error| error.to_string())?;
    if bytes >= MIN_DEVICE_MEMORY {
        return Ok(bytes);
    }
    let hint = match bytes > 0 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => format!(": a number without a unit is in bytes; did you mean {text}G?"),
        false => String::new(),
    };
    Err(format!("device memory is allocated in blocks of 2M, so this is too small{hint}"))
}
