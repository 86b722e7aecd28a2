//! The table of routes, from which the routers of all sockets and the OpenAPI description are
//! generated.

use std::path::PathBuf;
use std::sync::Arc;

use axum::routing::{delete, get, patch, post};
use axum::{Extension, Router};
use utoipa::OpenApi;
use utoipa::openapi::path::{Operation, PathItem};

use super::body::Refusal;
use super::handle::ControlHandle;
use super::model::{ApiError, ErrorCode};
use super::routes::{self, Api, Description};

/// A socket of the API. Each socket also answers the requests of the sockets that come before it in
/// this enum.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Socket {
    /// The read socket, for requests that change nothing.
    Read,
    /// The control socket.
    Control,
}

/// A route: an HTTP method of a path, and the socket that answers it.
pub(super) struct Route {
    pub(super) socket: Socket,
    pub(super) method: &'static str,
    pub(super) path: &'static str,
}

/// The path of the control socket, for messages.
#[derive(Clone)]
struct ControlPath(Option<Arc<PathBuf>>);

macro_rules! table {
    ($($socket:ident $method:ident $path:literal $handler:ident,)*) => {
        pub(super) const ROUTES: &[Route] = &[
            $(Route { socket: Socket::$socket, method: stringify!($method), path: $path },)*
        ];

        /// Returns the routes of a socket. Routes of other sockets are answered with an error that
        /// says so.
        fn routes_on(socket: Socket) -> Router<Api> {
            Router::new()$(.route($path, match Socket::$socket <= socket {
                true => $method(routes::$handler),
                false => $method(not_here),
            }))*
        }

        /// The paths of the description.
        #[derive(OpenApi)]
        #[openapi(paths($(routes::$handler,)*))]
        pub(super) struct Paths;
    };
}

table! {
    Read get "/v1/vms" list_vms,
    Control post "/v1/vms" add_vm,
    Read get "/v1/vms/{name}" show_vm,
    Control patch "/v1/vms/{name}" set_vm,
    Control post "/v1/vms/{name}/reset" reset_vm,
    Control post "/v1/vms/{name}/restart" restart_vm,
    Control post "/v1/vms/{name}/restore" restore_vm,
    Control post "/v1/vms/{name}/pause" pause_vm,
    Control post "/v1/vms/{name}/resume" resume_vm,
    Control post "/v1/vms/{name}/swap-out" swap_vm_out,
    Control post "/v1/vms/{name}/swap-in" swap_vm_in,
    Control delete "/v1/vms/{name}" remove_vm,
    Read get "/v1/vms/{name}/sessions" list_sessions_of_vm,
    Control delete "/v1/vms/{name}/sessions/{id}" kill_session,
    Read get "/v1/sessions" list_sessions,
    Read get "/v1/gpus" list_gpus,
    Read get "/v1/stats" stats,
    Read get "/v1/usage" usage,
    // Only on the control socket, although it changes nothing, because its answer reveals which
    // files exist on the host.
    Control post "/v1/config/check" check_config,
    Read get "/v1/events" events,
    Read get "/v1/trace" trace,
    Read get "/v1/version" version,
    Read get "/v1/health" health,
    Read get "/metrics" scrape,
    Read get "/openapi.json" description,
}

/// Returns the routes of the control socket. `description` is the text of `/openapi.json`.
pub(super) fn control(handle: ControlHandle, description: String) -> Router {
    finish(routes_on(Socket::Control), handle, description)
}

/// Returns the routes of the read socket. `control` is the path of the control socket.
pub(super) fn read(handle: ControlHandle, description: String, control: Option<PathBuf>) -> Router {
    let control = ControlPath(control.map(Arc::new));
    finish(routes_on(Socket::Read).layer(Extension(control)), handle.of_readers(), description)
}

/// Returns only the `/metrics` route, for the loopback address.
pub(super) fn metrics_only(handle: ControlHandle) -> Router {
    Router::new()
        .route("/metrics", get(routes::scrape))
        .fallback(only_metrics)
        .method_not_allowed_fallback(only_get)
        .with_state(Api::new(handle.of_readers()))
}

fn finish(routes: Router<Api>, handle: ControlHandle, description: String) -> Router {
    routes
        .layer(Extension(Description(description.into())))
        .fallback(no_path)
        .method_not_allowed_fallback(no_method)
        .with_state(Api::new(handle))
}

/// Returns the operation for a method of a path in an OpenAPI description.
pub(super) fn operation<'a>(item: &'a mut PathItem, method: &str) -> Option<&'a mut Operation> {
    let operation = match method {
        "get" => &mut item.get,
        "post" => &mut item.post,
        "patch" => &mut item.patch,
        "delete" => &mut item.delete,
        _ => return None,
    };
    operation.as_mut()
}

async fn not_here(Extension(ControlPath(control)): Extension<ControlPath>) -> Refusal {
    let says = match control {
        Some(path) => {
            let path = path.display();
            format!(
                "this socket is only for reading; changes and checks need the control socket, {path}"
            )
        }
        None => "this socket is only for reading, and vcudad has no control_socket".into(),
    };
    ApiError::new(ErrorCode::ReadOnly, says).into()
}

async fn no_path() -> Refusal {
    let says = "no such path; see /openapi.json";
    ApiError::new(ErrorCode::NotFound, says).into()
}

async fn only_metrics() -> Refusal {
    let says = "metrics_address serves only /metrics; the API is on control_socket";
    ApiError::new(ErrorCode::NotFound, says).into()
}

async fn only_get() -> Refusal {
    ApiError::new(ErrorCode::MethodNotAllowed, "/metrics supports only GET").into()
}

async fn no_method() -> Refusal {
    let says = "this path does not support this method; see /openapi.json";
    ApiError::new(ErrorCode::MethodNotAllowed, says).into()
}
