//! The OpenAPI description, generated from annotated routes and types.

use utoipa::OpenApi;

use super::routes;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "vcudad's control API",
        version = "1",
        description = "Manages VMs and their quotas, sessions and GPUs, and serves statistics and \
            events, on the Unix socket of virtio-cuda's broker. Sizes are in bytes. Percentages and \
            durations are strings such as \"12.5%\" and \"500ms\"; measured durations are in \
            nanoseconds (`_ns`). Timestamps are in milliseconds since 1970 (`_ms`). Unknown keys \
            are refused. A refused request changes nothing.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    servers((url = "http://localhost", description = "Through the Unix socket: curl --unix-socket")),
    paths(
        routes::list_vms,
        routes::add_vm,
        routes::show_vm,
        routes::set_vm,
        routes::reset_vm,
        routes::restart_vm,
        routes::pause_vm,
        routes::resume_vm,
        routes::remove_vm,
        routes::list_sessions_of_vm,
        routes::kill_session,
        routes::list_sessions,
        routes::list_gpus,
        routes::stats,
        routes::check_config,
        routes::events,
        routes::trace,
        routes::version,
        routes::health,
        routes::scrape,
        routes::description,
    ),
)]
struct Description;

/// Returns the description as JSON, identical to `docs/api/openapi.json`.
pub fn json() -> String {
    let mut text = Description::openapi().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_status_is_documented() {
        let text: serde_json::Value = serde_json::from_str(&json()).unwrap();
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

    /// Set `VIRTIO_CUDA_WRITE_DOCS=1` to regenerate the file.
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
