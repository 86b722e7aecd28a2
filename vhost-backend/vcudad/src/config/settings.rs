//! The settings of VMs in the configuration file.

use std::fmt;
use std::path::PathBuf;

use control_api::{
    ApiError, ErrorCode, GpuRequest, Kind, Percent, SETTINGS, Setting, Timespan, VmSpec,
};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::size::Size;

/// The keys of `[defaults]` or `[[vm]]`, with their values as in the API.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Settings(Map<String, Value>);

impl Settings {
    /// Fills in missing keys from `those`.
    pub(super) fn or(mut self, those: Self) -> Self {
        for (key, value) in those.0 {
            match (self.0.get_mut(&key), value) {
                (Some(Value::Object(own)), Value::Object(table)) => {
                    table.into_iter().for_each(|(key, value)| {
                        own.entry(key).or_insert(value);
                    });
                }
                (Some(_), _) => {}
                (None, value) => drop(self.0.insert(key, value)),
            }
        }
        self
    }

    /// Converts the keys to a VM's settings, without checking ranges.
    pub(super) fn into_spec(self, name: String, socket: PathBuf) -> Result<VmSpec, ApiError> {
        let mut all = Value::from(self.0);
        if all.pointer("/memory/max").is_none() {
            let says = "is missing: set it in [[vm]] or [defaults]";
            return Err(ApiError::invalid("memory.max", says));
        }
        all["name"] = name.into();
        let spec: Result<VmSpec, _> = serde_json::from_value(all);
        // Every value was parsed as its setting's type.
        let mut spec =
            spec.map_err(|error| ApiError::new(ErrorCode::Internal, error.to_string()))?;
        // An empty path can't be made absolute. It's kept here, and a later check rejects it.
        spec.socket = Some(std::path::absolute(&socket).unwrap_or(socket));
        Ok(spec)
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        InTable("").deserialize(from).map(Self)
    }
}

/// Parses the keys in a table, such as `compute`, or in a section if the name is empty.
#[derive(Clone, Copy)]
struct InTable(&'static str);

/// A key in a table.
enum Key {
    Setting(&'static Setting),
    Table(&'static str),
}

impl InTable {
    /// Returns the table's keys.
    fn keys(self) -> Vec<(&'static str, Key)> {
        let mut keys: Vec<(&'static str, Key)> = Vec::new();
        // A VM's name and socket are the only keys that `[defaults]` can't contain.
        for setting in SETTINGS.iter().filter(|setting| !setting.is_own()) {
            match setting.key.split_once('.') {
                None if self.0.is_empty() => keys.push((setting.key, Key::Setting(setting))),
                Some((table, key)) if table == self.0 => keys.push((key, Key::Setting(setting))),
                Some((table, _)) if self.0.is_empty() && !keys.iter().any(|key| key.0 == table) => {
                    keys.push((table, Key::Table(table)));
                }
                _ => {}
            }
        }
        keys
    }
}

impl<'de> DeserializeSeed<'de> for InTable {
    type Value = Map<String, Value>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for InTable {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(A::Error::custom("is a list, but must be a table"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut values = Map::new();
        while let Some((name, key)) = map.next_key_seed(KeyIn(self))? {
            let value = match key {
                Key::Setting(setting) => map.next_value_seed(ValueOf(setting))?,
                Key::Table(table) => map.next_value_seed(InTable(table))?.into(),
            };
            values.insert(name.into(), value);
        }
        Ok(values)
    }
}

/// Parses a key in a table.
struct KeyIn(InTable);

impl<'de> DeserializeSeed<'de> for KeyIn {
    type Value = (&'static str, Key);

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        let name = String::deserialize(from)?;
        let mut keys = self.0.keys();
        match keys.iter().position(|(known, _)| *known == name) {
            Some(at) => Ok(keys.swap_remove(at)),
            None => {
                let known: Vec<&str> = keys.iter().map(|(known, _)| *known).collect();
                Err(D::Error::custom(format!(
                    "unknown field `{name}`, expected {}",
                    one_of(&known)
                )))
            }
        }
    }
}

/// Lists names as serde does.
fn one_of(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.len() {
        0..=2 => quoted.join(" or "),
        _ => format!("one of {}", quoted.join(", ")),
    }
}

/// Parses a setting's value. Unlike the API, the file also allows sizes as text.
struct ValueOf(&'static Setting);

impl<'de> DeserializeSeed<'de> for ValueOf {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        Ok(match self.0.kind {
            Kind::Number(..) => u32::deserialize(from)?.into(),
            Kind::Size(..) | Kind::DeviceMemory => Size::deserialize(from)?.0.into(),
            Kind::Percent(..) => Percent::deserialize(from)?.to_string().into(),
            Kind::Time(..) => Timespan::deserialize(from)?.to_string().into(),
            Kind::Word(words) => {
                let word = String::deserialize(from)?;
                let known: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
                if !known.contains(&word.as_str()) {
                    let says = format!("unknown variant `{word}`, expected {}", one_of(&known));
                    return Err(D::Error::custom(says));
                }
                word.into()
            }
            Kind::Text(_) => String::deserialize(from)?.into(),
            Kind::List(_) if self.0.key == "gpus" => {
                let gpus: Vec<GpuRequest> = Vec::deserialize(from)?;
                gpus.iter().map(ToString::to_string).collect()
            }
            Kind::List(_) => Vec::<String>::deserialize(from)?.into(),
        })
    }
}
