//! The API's description in OpenAPI, made of the annotated routes and types.

use utoipa::OpenApi;

use super::routes;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "vcudad's control API",
        version = "1",
        description = "VMs, their quotas, sessions, GPUs, statistics and events of virtio-cuda's \
            broker, on its Unix socket. Sizes are bytes; percentages and times are strings such as \
            \"12.5%\" and \"500ms\"; measured times are nanoseconds (`_ns`); points in time are \
            milliseconds since 1970 (`_ms`). An unknown key is refused. A refusal changes nothing.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    servers((url = "http://localhost", description = "By way of the socket: curl --unix-socket")),
    paths(
        routes::list_vms,
        routes::add_vm,
        routes::show_vm,
        routes::set_vm,
        routes::remove_vm,
        routes::list_sessions_of_vm,
        routes::kill_session,
        routes::list_sessions,
        routes::list_gpus,
        routes::stats,
        routes::events,
        routes::version,
        routes::health,
        routes::scrape,
        routes::description,
    ),
)]
struct Description;

/// The description, as `docs/api/openapi.json` holds it.
pub fn json() -> String {
    let mut text = Description::openapi().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_is_told_of() {
        let text: serde_json::Value = serde_json::from_str(&json()).unwrap();
        for (path, methods) in text["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let mut statuses = vec!["503"];
                if path.contains('{') {
                    statuses.push("404");
                }
                if operation["requestBody"].is_object() {
                    statuses.extend(["400", "408", "409", "413", "422", "507"]);
                }
                if (path.as_str(), method.as_str()) == ("/v1/vms/{name}", "delete") {
                    statuses.push("507");
                }
                for status in statuses {
                    let answer = &operation["responses"][status];
                    assert!(answer.is_object(), "{method} {path}: {status}");
                }
            }
        }
    }

    /// `VIRTIO_CUDA_WRITE_DOCS=1` writes the file anew.
    #[test]
    fn the_file_in_the_docs_is_what_is_served() {
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
