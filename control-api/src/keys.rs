//! Deserializes settings by key, from the configuration file or from a request.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::setting::{Change, Kind, Setting};
use crate::settings::SETTINGS;
use crate::size::Size;
use crate::spec::GpuRequest;
use crate::units::{Percent, Timespan};
use crate::values::Values;

/// Where settings come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// A section of the configuration file, which can contain what several VMs can have in common,
    /// and sizes as text.
    File,
    /// A request to change a VM, which can contain what can be changed, and `null`.
    Change,
}

impl Values {
    /// Parses a section of the configuration file, other than a VM's name and socket.
    pub fn from_file<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::read(from, Source::File)
    }

    /// Parses the settings in a request to change a VM.
    pub(crate) fn from_change<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::read(from, Source::Change)
    }

    fn read<'de, D: Deserializer<'de>>(from: D, source: Source) -> Result<Self, D::Error> {
        let mut values = Self::default();
        InTable { values: &mut values, table: "", source }.deserialize(from)?;
        Ok(values)
    }
}

/// A key in a table, or in a section or request.
#[derive(Clone, Copy)]
enum Key {
    Setting(&'static Setting),
    Table(&'static str),
}

impl Source {
    fn has(self, setting: &Setting) -> bool {
        match self {
            Self::File => !setting.is_own(),
            Self::Change => setting.is_live(),
        }
    }

    /// Returns the keys in the table named `within`, or the keys outside of tables if `within` is
    /// empty.
    fn keys(self, within: &str) -> Vec<(&'static str, Key)> {
        let mut keys: Vec<(&'static str, Key)> = Vec::new();
        for setting in SETTINGS.iter().filter(|setting| self.has(setting)) {
            match setting.key.split_once('.') {
                None if within.is_empty() => keys.push((setting.key, Key::Setting(setting))),
                Some((table, key)) if table == within => keys.push((key, Key::Setting(setting))),
                Some((table, _)) if within.is_empty() && !keys.iter().any(|key| key.0 == table) => {
                    keys.push((table, Key::Table(table)));
                }
                _ => {}
            }
        }
        keys
    }

    fn table(self) -> &'static str {
        match self {
            Self::File => "a table",
            Self::Change => "an object",
        }
    }
}

/// Parses the keys in a table, such as `compute`, or the keys outside of tables if the name is
/// empty.
struct InTable<'a> {
    values: &'a mut Values,
    table: &'static str,
    source: Source,
}

impl<'de> DeserializeSeed<'de> for InTable<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        // Don't call `deserialize_map`: if that is used, some formats refuse a list themselves.
        // `deserialize_any` calls `visit_seq` for a list, which returns our own error message.
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for InTable<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.source.table())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        Err(A::Error::custom(format!("is a list, but must be {}", self.source.table())))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { values, table, source } = self;
        let (keys, mut seen) = (source.keys(table), Vec::new());
        while let Some((name, key)) = map.next_key_seed(OneOf(&keys))? {
            if seen.contains(&name) {
                return Err(A::Error::duplicate_field(name));
            }
            seen.push(name);
            match key {
                Key::Setting(setting) => {
                    let value = map.next_value_seed(ValueOf { setting, source })?;
                    values.0.insert(setting.key, value);
                }
                Key::Table(table) => {
                    map.next_value_seed(InTable { values: &mut *values, table, source })?;
                }
            }
        }
        Ok(())
    }
}

/// Parses a key, which must be one of these.
struct OneOf<'a>(&'a [(&'static str, Key)]);

impl<'de> DeserializeSeed<'de> for OneOf<'_> {
    type Value = (&'static str, Key);

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        let name = String::deserialize(from)?;
        let known = self.0.iter().find(|(known, _)| *known == name);
        known.copied().ok_or_else(|| {
            let known: Vec<&str> = self.0.iter().map(|(known, _)| *known).collect();
            D::Error::custom(format!("unknown field `{name}`, expected {}", one_of(&known)))
        })
    }
}

/// Lists names in the same format as serde's messages.
fn one_of(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.len() {
        0..=2 => quoted.join(" or "),
        _ => format!("one of {}", quoted.join(", ")),
    }
}

/// Parses a setting's value.
struct ValueOf {
    setting: &'static Setting,
    source: Source,
}

impl<'de> DeserializeSeed<'de> for ValueOf {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        let Self { setting, source } = self;
        let is_change = source == Source::Change;
        let or_null = is_change && matches!(setting.change, Change::LiveOrNone(_));
        match setting.kind {
            Kind::Number(..) => read(from, or_null, |number: u32| Ok(number.into())),
            Kind::Size(..) | Kind::DeviceMemory if is_change => {
                read(from, or_null, |bytes: u64| Ok(bytes.into()))
            }
            Kind::Size(..) | Kind::DeviceMemory => {
                read(from, or_null, |size: Size| Ok(size.0.into()))
            }
            Kind::Percent(..) => read(from, or_null, |value: Percent| Ok(value.to_string().into())),
            Kind::Time(..) => read(from, or_null, |value: Timespan| Ok(value.to_string().into())),
            Kind::Word(words) => read(from, or_null, |word: String| {
                let known: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
                match known.contains(&word.as_str()) {
                    true => Ok(word.into()),
                    false => {
                        let known = one_of(&known);
                        Err(format!("unknown variant `{word}`, expected {known}"))
                    }
                }
            }),
            Kind::Text(_) => read(from, or_null, |text: String| Ok(text.into())),
            Kind::List(_) if setting.key == "gpus" => {
                read(from, or_null, |gpus: Vec<GpuRequest>| {
                    Ok(gpus.iter().map(ToString::to_string).collect())
                })
            }
            Kind::List(_) => read(from, or_null, |list: Vec<String>| Ok(list.into())),
        }
    }
}

/// Deserializes a value of the type `T`. If `or_null` is true, the value may be `null`.
fn read<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
    or_null: bool,
    convert: impl FnOnce(T) -> Result<Value, String>,
) -> Result<Value, D::Error> {
    let value = match or_null {
        true => Option::<T>::deserialize(from)?,
        false => Some(T::deserialize(from)?),
    };
    value.map_or(Ok(Value::Null), |value| convert(value).map_err(D::Error::custom))
}
