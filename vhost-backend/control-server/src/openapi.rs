//! The OpenAPI description, generated from the table of routes, their annotations, and types.

use utoipa::OpenApi;
use utoipa::openapi::{ContentBuilder, Ref, ResponseBuilder};

use super::table::{Paths, ROUTES, Socket, operation};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "vcudad's control API",
        version = "1",
        description = "Manages VMs and their quotas, sessions and GPUs, and serves statistics and \
            events, on the Unix sockets of virtio-cuda's broker: all requests on the control socket, \
            and those that change nothing also on the read socket, which refuses the others with \
            status 403. Sizes are in bytes. Percentages and durations are strings such as \"12.5%\" and \"500ms\"; measured durations are in \
            nanoseconds (`_ns`). Timestamps are in milliseconds since 1970 (`_ms`). Unknown keys \
            are refused. A refused request changes nothing.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    servers((url = "http://localhost", description = "Through the Unix socket: curl --unix-socket")),
)]
struct Description;

/// Returns the description as JSON, which `docs/api/openapi.json` also contains.
pub fn json() -> String {
    let mut api = Description::openapi();
    api.merge(Paths::openapi());
    let error = ContentBuilder::new().schema(Some(Ref::from_schema_name("ApiError"))).build();
    let refusal = ResponseBuilder::new()
        .description("The read socket doesn't answer this request")
        .content("application/json", error)
        .build();
    for route in ROUTES.iter().filter(|route| route.socket == Socket::Control) {
        let item = api.paths.paths.get_mut(route.path);
        if let Some(operation) = item.and_then(|item| operation(item, route.method)) {
            operation.responses.responses.insert("403".into(), refusal.clone().into());
        }
    }
    let mut text = api.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::model::{Change, Kind, SETTINGS, Setting};
    use super::*;

    #[test]
    fn every_error_status_is_documented() {
        let text: Value = serde_json::from_str(&json()).unwrap();
        for (path, methods) in text["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let mut statuses = vec!["503"];
                if path.contains('{') {
                    statuses.push("404");
                }
                if operation["requestBody"].is_object() {
                    statuses.extend(["400", "408", "409", "413", "422"]);
                }
                if path.starts_with("/v1/vms") && operation["requestBody"].is_object() {
                    statuses.push("507");
                }
                if (path.as_str(), method.as_str()) == ("/v1/vms/{name}", "delete") {
                    statuses.push("507");
                }
                if path.ends_with("/swap-out") || path.ends_with("/swap-in") {
                    statuses.push("409");
                }
                if path.ends_with("/pause") || path.ends_with("/resume") {
                    statuses.extend(["409", "507"]);
                }
                for status in statuses {
                    let answer = &operation["responses"][status];
                    assert!(answer.is_object(), "{method} {path}: {status}");
                }
            }
        }
    }

    /// Returns the schema of a setting in `VmSpec` or `VmPatch`.
    fn property<'a>(schemas: &'a Value, of: &str, key: &str) -> Option<&'a Value> {
        let (table, name) = key.split_once('.').map_or((None, key), |(t, k)| (Some(t), k));
        let object = match table {
            Some(table) => target(schemas, &schemas[of]["properties"][table])?,
            None => &schemas[of],
        };
        object["properties"].get(name)
    }

    /// Returns the schema to which a `$ref` refers.
    fn target<'a>(schemas: &'a Value, reference: &Value) -> Option<&'a Value> {
        schemas.get(reference["$ref"].as_str()?.strip_prefix("#/components/schemas/")?)
    }

    fn count(schemas: &Value, of: &str) -> usize {
        let properties = schemas[of]["properties"].as_object().unwrap();
        let counts = properties.values().map(|property| {
            let table = target(schemas, property).and_then(|table| table["properties"].as_object());
            table.map_or(1, serde_json::Map::len)
        });
        counts.sum()
    }

    #[test]
    fn ranges_and_defaults_are_those_of_the_settings() {
        let text: Value = serde_json::from_str(&json()).unwrap();
        let schemas = &text["components"]["schemas"];
        let live: Vec<&Setting> = SETTINGS.iter().filter(|setting| setting.is_live()).collect();
        assert_eq!(count(schemas, "VmSpec"), SETTINGS.len());
        assert_eq!(count(schemas, "VmPatch"), live.len());
        let both = SETTINGS.iter().map(|one| ("VmSpec", one));
        for (of, setting) in both.chain(live.into_iter().map(|one| ("VmPatch", one))) {
            let place = format!("{of}: {}", setting.key);
            let schema = property(schemas, of, setting.key).expect(&place);
            let can_be_null = of == "VmPatch" && matches!(setting.change, Change::LiveOrNone(_));
            let value = if can_be_null { &schema["oneOf"][0] } else { schema };
            assert_eq!(can_be_null, schema["oneOf"][1]["type"] == "null", "{place}");
            let range = value["minimum"].as_u64().zip(value["maximum"].as_u64());
            assert_eq!(range, setting.range(), "{place}");
            let default = setting.default_value().filter(|_| of == "VmSpec");
            assert_eq!(schema.get("default"), default.as_ref(), "{place}");
            let description = schema["description"].as_str().unwrap();
            match setting.kind {
                Kind::Word(words) => {
                    let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                    assert_eq!(target(schemas, value).unwrap()["enum"], json!(words), "{place}");
                }
                _ if setting.range().is_some() => {}
                _ => assert!(description.contains(&setting.expected()), "{place}: {description}"),
            }
        }
    }

    /// Set `VIRTIO_CUDA_WRITE_DOCS=1` to regenerate `docs/api/openapi.json`.
    #[test]
    fn the_file_in_the_docs_matches_the_served_description() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api/openapi.json");
        if std::env::var_os("VIRTIO_CUDA_WRITE_DOCS").is_some() {
            std::fs::write(path, json()).unwrap();
        }
        let file = std::fs::read_to_string(path).unwrap();
        assert!(
            file == json(),
            "docs/api/openapi.json is out of date: VIRTIO_CUDA_WRITE_DOCS=1 cargo test -p control-server openapi"
        );
    }
}
