//! Generates the OpenAPI schemas of a VM's settings from [`SETTINGS`]. Each table of settings and
//! each list of words has its own schema.

use serde_json::{Map, Value, json};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::check::{MAX_GPUS, PERMITTED_ENV};
use crate::patch::VmPatch;
use crate::setting::{Change, Kind, Preset, Setting};
use crate::settings::SETTINGS;
use crate::spec::{ComputeSpec, GpuRequest, VmSpec};
use crate::units::{Percent, Timespan};

type Schemas = Vec<(String, RefOr<Schema>)>;

/// The purpose of an object with settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Describes a VM.
    Spec,
    /// Changes a VM.
    Patch,
}

impl Purpose {
    fn settings(self) -> impl Iterator<Item = &'static Setting> {
        SETTINGS.iter().filter(move |setting| self == Self::Spec || setting.is_live())
    }

    /// Returns the schema of a table's settings, or of all settings if `table` is empty.
    fn object(self, table: &str, description: &str) -> Value {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for setting in self.settings() {
            let (name, value) = match setting.key.split_once('.') {
                Some((within, name)) if within == table => (name, self.value(setting)),
                Some((within, _)) if table.is_empty() => (within, reference(&self.name(within))),
                None if table.is_empty() => (setting.key, self.value(setting)),
                _ => continue,
            };
            properties.insert(name.into(), value);
            if self == Self::Spec && setting.is_required() {
                required.push(name);
            }
        }
        json!({
            "type": "object",
            "description": description,
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }

    /// Returns the name of a table's schema, such as `ComputeSpec`.
    fn name(self, table: &str) -> String {
        format!("{}{self:?}", capitalized(table))
    }

    /// Returns the schema of a setting's value.
    fn value(self, setting: &Setting) -> Value {
        let mut value = match setting.kind {
            Kind::Number(..) | Kind::Size(..) | Kind::DeviceMemory => integer(setting.range()),
            Kind::Percent(..) => reference(&Percent::name()),
            Kind::Time(..) => reference(&Timespan::name()),
            Kind::Word(_) => reference(&capitalized(setting.key)),
            Kind::Text(_) if setting.key == "name" => {
                json!({"type": "string", "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$"})
            }
            Kind::Text(_) => json!({"type": "string"}),
            Kind::List(_) if setting.key == "gpus" => json!({
                "type": "array", "items": reference(&GpuRequest::name()),
                "minItems": 1, "maxItems": MAX_GPUS,
            }),
            Kind::List(_) => json!({
                "type": "array", "items": {"type": "string", "enum": PERMITTED_ENV},
            }),
        };
        if self == Self::Patch && matches!(setting.change, Change::LiveOrNone(_)) {
            value = json!({"oneOf": [value, {"type": "null"}]});
        }
        value["description"] = self.description(setting).into();
        if let Some(default) = setting.default_value().filter(|_| self == Self::Spec) {
            value["default"] = default;
        }
        value
    }

    fn description(self, setting: &Setting) -> String {
        let mut sentences = vec![without_links(setting.doc)];
        match setting.kind {
            // The schema itself has the range, so only a unit must be added.
            Kind::Number(..) => {}
            Kind::Size(..) | Kind::DeviceMemory => sentences.push("In bytes".into()),
            // The schema has the words.
            Kind::Word(_) => {}
            _ => sentences.push(format!("Allowed: {}", setting.expected())),
        }
        match (self, setting.change, setting.default) {
            (Self::Patch, Change::LiveOrNone(_), Preset::Words(_, doc)) => {
                sentences.push(format!("`null` resets it. Default: {}", without_links(doc)));
            }
            (Self::Spec, _, Preset::Words(_, doc)) if !doc.is_empty() => {
                sentences.push(format!("Default: {}", without_links(doc)));
            }
            _ => {}
        }
        sentences.join(". ") + "."
    }

    /// Adds the schemas to which the settings' schemas refer.
    fn add_to(self, schemas: &mut Schemas) {
        for setting in self.settings() {
            if let Kind::Word(words) = setting.kind {
                schemas.push((capitalized(setting.key), built(of_words(setting, words))));
            }
            if setting.key.contains('.') {
                let table = setting.table();
                let description = format!("The settings `{table}.*`.");
                schemas.push((self.name(table), built(self.object(table, &description))));
            }
        }
        schemas.push((Percent::name().into(), Percent::schema()));
        schemas.push((Timespan::name().into(), Timespan::schema()));
        schemas.push((GpuRequest::name().into(), GpuRequest::schema()));
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn integer(range: Option<(u64, u64)>) -> Value {
    let (low, high) = range.unwrap_or((0, u64::MAX));
    let format = if i32::try_from(high).is_ok() { "int32" } else { "int64" };
    json!({"type": "integer", "format": format, "minimum": low, "maximum": high})
}

fn of_words(setting: &Setting, words: &[(&str, &str)]) -> Value {
    let meanings: Vec<String> =
        words.iter().map(|(word, meaning)| format!("`{word}`: {meaning}.")).collect();
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let description = format!("{}. {}", setting.help, meanings.join(" "));
    json!({"type": "string", "description": description, "enum": names})
}

fn capitalized(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_ascii_uppercase() + rest
}

/// Replaces Markdown links with their texts, because the links are relative to the documentation's
/// pages.
fn without_links(text: &str) -> String {
    let mut parts = text.split("](");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if let Some(start) = plain.rfind('[') {
            plain.remove(start);
        }
        plain.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    plain
}

fn built(schema: Value) -> RefOr<Schema> {
    // The fallback is never used: a test compares the result with the settings.
    serde_json::from_value(schema).unwrap_or_else(|_| utoipa::openapi::schema::empty().into())
}

impl PartialSchema for VmSpec {
    fn schema() -> RefOr<Schema> {
        let description = "A VM's settings. Absent keys take their default values.";
        built(Purpose::Spec.object("", description))
    }
}

impl ToSchema for VmSpec {
    fn schemas(schemas: &mut Schemas) {
        Purpose::Spec.add_to(schemas);
    }
}

impl PartialSchema for VmPatch {
    fn schema() -> RefOr<Schema> {
        let description = "A change to an existing VM's settings. If one setting is refused, none is \
            changed.";
        built(Purpose::Patch.object("", description))
    }
}

impl ToSchema for VmPatch {
    fn schemas(schemas: &mut Schemas) {
        Purpose::Patch.add_to(schemas);
    }
}

// Implemented separately because a VM's statistics contain only this table of settings.
impl PartialSchema for ComputeSpec {
    fn schema() -> RefOr<Schema> {
        built(Purpose::Spec.object("compute", "The settings `compute.*`."))
    }
}

impl ToSchema for ComputeSpec {}

impl PartialSchema for GpuRequest {
    fn schema() -> RefOr<Schema> {
        built(json!({
            "type": "string",
            "description": "A GPU: `any`, an index on the host, or the UUID of a GPU or MIG slice.",
            "pattern": "^(any|[0-9]{1,9}|(GPU|MIG)-[A-Za-z0-9/_-]{1,92})$",
            "examples": ["any"],
        }))
    }
}

impl ToSchema for GpuRequest {}
