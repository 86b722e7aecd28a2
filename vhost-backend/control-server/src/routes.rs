//! The handlers of the API's paths. The OpenAPI description is generated from the annotations.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::body::{self, Refusal, json};
use super::connection::Peer;
use super::handle::{ControlHandle, Request, Response as Reply};
use super::metrics::{self, Format};
use super::model::{
    ApiError, ConfigCheck, ErrorCode, Event, GpuInfo, SessionInfo, Stats, TraceRecord, UsageReport,
    VersionInfo, VmInfo, VmPatch, VmSpec,
};
use super::stream::Readers;
use super::trace::Tracers;

type Answer = Result<Response, Refusal>;

/// State shared by all routes.
#[derive(Clone)]
pub(super) struct Api {
    handle: ControlHandle,
    readers: Readers,
    tracers: Tracers,
}

/// The text that `/openapi.json` serves.
#[derive(Clone)]
pub(super) struct Description(pub(super) Arc<str>);

impl Api {
    pub(super) fn new(handle: ControlHandle) -> Self {
        Self { handle, readers: Readers::default(), tracers: Tracers::default() }
    }
}

fn unexpected(reply: &Reply) -> Refusal {
    reply.unexpected().into()
}

/// Returns a path parameter. If it can't be parsed, the error is "not found".
fn part<T>(path: Result<Path<T>, PathRejection>) -> Result<T, Refusal> {
    path.map(|Path(part)| part)
        .map_err(|error| ApiError::new(ErrorCode::NotFound, error.body_text()).into())
}

async fn answer_vm(api: &Api, peer: Peer, request: Request, status: StatusCode) -> Answer {
    match api.handle.ask_for(peer.0, request).await? {
        Reply::Vm(vm) => Ok(json(status, &vm)),
        other => Err(unexpected(&other)),
    }
}

async fn done(api: &Api, peer: Peer, request: Request) -> Answer {
    match api.handle.ask_for(peer.0, request).await? {
        Reply::Done => Ok(StatusCode::NO_CONTENT.into_response()),
        other => Err(unexpected(&other)),
    }
}

/// Lists all VMs, sorted by name.
#[utoipa::path(get, path = "/v1/vms", tag = "vms", responses(
    (status = 200, description = "The VMs", body = [VmInfo]),
    (status = 503, description = "vcudad is overloaded or shutting down", body = ApiError),
))]
pub(super) async fn list_vms(State(api): State<Api>) -> Answer {
    match api.handle.ask(Request::ListVms).await? {
        Reply::Vms(vms) => Ok(json(StatusCode::OK, &vms)),
        other => Err(unexpected(&other)),
    }
}

/// Adds a VM: chooses its GPUs and opens its socket. The VM is kept across restarts of vcudad.
#[utoipa::path(post, path = "/v1/vms", tag = "vms", request_body = VmSpec, responses(
    (status = 201, description = "The VM", body = VmInfo),
    (status = 400, description = "The body isn't valid JSON or doesn't match the schema", body = ApiError),
    (status = 408, description = "The body didn't arrive within 10 s", body = ApiError),
    (status = 409, description = "The name, socket or user is already in use, or the socket can't be created", body = ApiError),
    (status = 413, description = "The body is larger than 64 KiB", body = ApiError),
    (status = 422, description = "A value is out of range, or names a GPU or directory that doesn't exist", body = ApiError),
    (status = 503, description = "vcudad is overloaded or shutting down, or did not respond in time, and the change may still be applied", body = ApiError),
    (status = 507, description = "No GPU has enough memory left to promise, or the state file can't be written", body = ApiError),
))]
pub(super) async fn add_vm(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    body: Body,
) -> Answer {
    let spec = body::spec(body).await?;
    let location = format!("/v1/vms/{}", spec.name);
    let request = Request::AddVm(Box::new(spec));
    let mut answer = answer_vm(&api, peer, request, StatusCode::CREATED).await?;
    if let Ok(location) = HeaderValue::from_str(&location) {
        answer.headers_mut().insert(header::LOCATION, location);
    }
    Ok(answer)
}

/// Shows one VM.
#[utoipa::path(get, path = "/v1/vms/{name}", tag = "vms",
    params(("name" = String, Path, description = "Name of the VM")), responses(
    (status = 200, description = "The VM", body = VmInfo),
    (status = 404, description = "The VM doesn't exist", body = ApiError),
    (status = 503, description = "vcudad is overloaded or shutting down", body = ApiError),
))]
pub(super) async fn show_vm(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    name: Result<Path<String>, PathRejection>,
) -> Answer {
    answer_vm(&api, peer, Request::ShowVm(part(name)?), StatusCode::OK).await
}

/// Changes a running VM's settings with a JSON merge patch. Applies either the whole patch or
/// nothing. The change is kept across restarts of vcudad.
#[utoipa::path(patch, path = "/v1/vms/{name}", tag = "vms",
    params(("name" = String, Path, description = "Name of the VM")), request_body = VmPatch,
    responses(
    (status = 200, description = "The VM with the change applied", body = VmInfo),
    (status = 400, description = "The body isn't valid JSON or doesn't match the schema", body = ApiError),
    (status = 404, description = "The VM doesn't exist", body = ApiError),
    (status = 408, description = "The body didn't arrive within 10 s", body = ApiError),
    (status = 409, description = "The VM is being removed", body = ApiError),
    (status = 413, description = "The body is larger than 64 KiB", body = ApiError),
    (status = 422, description = "A value is out of range, or the setting can't be changed", body = ApiError),
    (status = 503, description = "vcudad is overloaded or shutting down, or did not respond in time, and the change may still be applied", body = ApiError),
    (status = 507, description = "The GPU has too little memory left to promise, or the state file can't be written", body = ApiError),
))]
pub(super) async fn set_vm(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    name: Result<Path<String>, PathRejection>,
    body: Body,
) -> Answer {
    let name = part(name)?;
    let patch = body::patch(body).await?;
    answer_vm(&api, peer, Request::SetVm(name, patch), StatusCode::OK).await
}

/// Resets the settings of a VM from the configuration file that were changed through the API to the
/// values in the file. The request has no body.
#[utoipa::path(post, path = "/v1/vms/{name}/reset", tag = "vms",
    params(("name" = String, Path, description = "Name of the VM")), responses(
    (status = 200, description = "The VM with the file's settings", body = VmInfo),
    (status = 404, description = "The VM doesn't exist", body = ApiError),
    (status = 409, description = "The VM isn't in the configuration file, or is being removed", body = ApiError),
    (status = 503, description = "vcudad is overloaded or shutting down, or did not respond in time, and the change may still be applied", body = ApiError),
    (status = 507, description = "The GPU has too little memory left to promise, or the state file can't be written", body = ApiError),
))]
pub(super) async fn reset_vm(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    name: Result<Path<String>, PathRejection>,
) -> Answer {
    answer_vm(&api, peer, Request::ResetVm(part(name)?), StatusCode::OK).await
}

/// Serves a VM again that has failed: places it on GPUs, and creates its socket and its device
/// process. The request has no body.
#[utoipa::path(post, path = "/v1/vms/{name}/restart", tag = "vms",
    params(("name" = String, Path, description = "Name of the VM")), responses(
    (status = 200, description = "The VM", body = VmInfo),
    (status = 404, description = "The VM doesn't exist", body = ApiError),
    (status = 409, description = "The VM hasn't failed or is being removed, or its socket can't be created", body = ApiError),
    (status = 422, description = "A setting is out of range, or names a GPU or directory that doesn't exist", body = ApiError),
    (status = 503, description = "vcudad is overloaded or shutting down, or did not respond in time, and the change may still be applied", body = ApiError),
    (status = 507, description = "No GPU has enough memory left to promise", body = ApiError),
))]
pub(super) async fn restart_vm(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    name: Result<Path<String>, PathRejection>,
) -> Answer {
    answer_vm(&api, peer, Request::RestartVm(part(name)?), StatusCode::OK).await
}

/// Takes a VM off its GPUs until it's resumed. Its sessions stay, and their work waits. This has no
/// effect if the API has already paused the VM. The VM stays paused across restarts of vcudad. The
/// request has no body.
#[utoipa::path(post, path = "/v1/vms/{name}/pause", tag = "vms",
    params(("name" = String, Path, description = "Name of the VM")), responses(
    (status = 200, description = "The paused VM", body = VmInfo),
    (status = 404, description = "The VM doesn't exist", body = ApiError),
    (status = 409, description = "The VM is being removed, or the scheduler is off", body = ApiError),
    (status = 503, description = "vcudad is overloaded or shutting down, or did not respond in time, and the change may still be applied", body = ApiError),
    (status = 507, description = "The state file can't be written", body = ApiError),
))]
pub(super) async fn pause_vm(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    name: Result<Path<String>, PathRejection>,
) -> Answer {
    answer_vm(&api, peer, Request::SetPaused(part(name)?, true), StatusCode::OK).await
}

/// Lets a VM that the API has paused use its GPUs again. Its kernels continue where they were. This
/// has no effect if the API hasn't paused the VM. If the VMM has paused the VM, too, the VM stays
/// paused. The request has no body.
#[utoipa::path(post, path = "/v1/vms/{name}/resume", tag = "vms",
    params(("name" = String, Path, description = "Name of the VM")), responses(
    (status = 200, description = "The VM", body = VmInfo),
    (status = 404, description = "The VM doesn't exist", body = ApiError),
    (status = 409, description = "The VM is being removed", body = ApiError),
    (status = 503, description = "vcudad is overloaded or shutting down, or did not respond in time, and the change may still be applied", body = ApiError),
    (status = 507, description = "The state file can't be written", body = ApiError),
))]
pub(super) async fn resume_vm(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    name: Result<Path<String>, PathRejection>,
) -> Answer {
    answer_vm(&api, peer, Request::SetPaused(part(name)?, false), StatusCode::OK).await
}

/// Begins to take a VM's memory off its GPUs. Work that its programs have submitted ends first. The
/// memory returns as soon as one of the VM's programs makes a call that reaches the host, or a program
/// starts. The response doesn't wait for the end; `swap` in the VM's statistics says how far it is.
/// This has no effect if the memory is already leaving or away. The request has no body.
#[utoipa::path(post, path = "/v1/vms/{name}/swap-out", tag = "vms",
    params(("name" = String, Path, description = "Name of the VM")), responses(
    (status = 200, description = "The VM", body = VmInfo),
    (status = 404, description = "The VM doesn't exist", body = ApiError),
    (status = 409, description = "The VM is being removed, has no sessions, or shares a GPU under MPS; its memory is returning to the GPUs; or the host has too little memory for it", body = ApiError),
    (status = 503, description = "vcudad is overloaded or shutting down, or did not respond in time, and the change may still be applied", body = ApiError),
))]
pub(super) async fn swap_vm_out(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    name: Result<Path<String>, PathRejection>,
) -> Answer {
    answer_vm(&api, peer, Request::SwapVm(part(name)?, true), StatusCode::OK).await
}

/// Begins to put a VM's memory back on its GPUs. This has no effect if the memory is there. The
/// response doesn't wait for the end. The request has no body.
#[utoipa::path(post, path = "/v1/vms/{name}/swap-in", tag = "vms",
    params(("name" = String, Path, description = "Name of the VM")), responses(
    (status = 200, description = "The VM", body = VmInfo),
    (status = 404, description = "The VM doesn't exist", body = ApiError),
    (status = 409, description = "The VM is being removed", body = ApiError),
    (status = 503, description = "vcudad is overloaded or shutting down, or did not respond in time, and the change may still be applied", body = ApiError),
))]
pub(super) async fn swap_vm_in(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    name: Result<Path<String>, PathRejection>,
) -> Answer {
    answer_vm(&api, peer, Request::SwapVm(part(name)?, false), StatusCode::OK).await
}

/// Adds a VM again that was removed through the API. A VM in the configuration file gets the file's
/// settings, with the changes that were made through the API. Another VM gets the settings that it had
/// last; vcudad remembers the last 64 that were removed. The request has no body.
#[utoipa::path(post, path = "/v1/vms/{name}/restore", tag = "vms",
    params(("name" = String, Path, description = "Name of the VM")), responses(
    (status = 200, description = "The VM", body = VmInfo),
    (status = 404, description = "No VM with this name was removed", body = ApiError),
    (status = 409, description = "The VM isn't removed, or its socket can't be created, or vcudad must be restarted to add it", body = ApiError),
    (status = 422, description = "A setting is out of range, or names a GPU or directory that doesn't exist", body = ApiError),
    (status = 503, description = "vcudad is overloaded or shutting down, or did not respond in time, and the change may still be applied", body = ApiError),
    (status = 507, description = "No GPU has enough memory left to promise, or the state file can't be written", body = ApiError),
))]
pub(super) async fn restore_vm(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    name: Result<Path<String>, PathRejection>,
) -> Answer {
    answer_vm(&api, peer, Request::RestoreVm(part(name)?), StatusCode::OK).await
}

/// Removes a VM: ends its sessions and its device process. It can be restored.
#[utoipa::path(delete, path = "/v1/vms/{name}", tag = "vms",
    params(
        ("name" = String, Path, description = "Name of the VM"),
        ("if_idle" = Option<bool>, Query, description = "If true, refuse to remove a VM that has sessions. Otherwise, they end."),
    ), responses(
    (status = 204, description = "The VM has been removed"),
    (status = 400, description = "The parameter is neither true nor false", body = ApiError),
    (status = 404, description = "The VM doesn't exist", body = ApiError),
    (status = 409, description = "The VM has sessions, and if_idle is true", body = ApiError),
    (status = 503, description = "vcudad is overloaded or shutting down, or did not respond in time, and the change may still be applied", body = ApiError),
    (status = 507, description = "The state file can't be written", body = ApiError),
))]
pub(super) async fn remove_vm(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    RawQuery(query): RawQuery,
    name: Result<Path<String>, PathRejection>,
) -> Answer {
    let if_idle = if_idle(query.as_deref())?;
    done(&api, peer, Request::RemoveVm { name: part(name)?, if_idle }).await
}

/// Parses the query parameter `if_idle` of a request to remove a VM.
fn if_idle(query: Option<&str>) -> Result<bool, ApiError> {
    match query.unwrap_or_default() {
        "" | "if_idle=false" => Ok(false),
        "if_idle=true" => Ok(true),
        _ => {
            let says = "the only parameter is if_idle, which is true or false";
            Err(ApiError::new(ErrorCode::BadRequest, says))
        }
    }
}

async fn sessions(api: &Api, vm: Option<String>) -> Answer {
    match api.handle.ask(Request::ListSessions(vm)).await? {
        Reply::Sessions(sessions) => Ok(json(StatusCode::OK, &sessions)),
        other => Err(unexpected(&other)),
    }
}

/// Lists the sessions of all VMs.
#[utoipa::path(get, path = "/v1/sessions", tag = "sessions", responses(
    (status = 200, description = "The sessions", body = [SessionInfo]),
    (status = 503, description = "vcudad is overloaded or shutting down", body = ApiError),
))]
pub(super) async fn list_sessions(State(api): State<Api>) -> Answer {
    sessions(&api, None).await
}

/// Lists the sessions of one VM.
#[utoipa::path(get, path = "/v1/vms/{name}/sessions", tag = "sessions",
    params(("name" = String, Path, description = "Name of the VM")), responses(
    (status = 200, description = "The sessions", body = [SessionInfo]),
    (status = 404, description = "The VM doesn't exist", body = ApiError),
    (status = 503, description = "vcudad is overloaded or shutting down", body = ApiError),
))]
pub(super) async fn list_sessions_of_vm(
    State(api): State<Api>,
    name: Result<Path<String>, PathRejection>,
) -> Answer {
    sessions(&api, Some(part(name)?)).await
}

/// Ends a session. Its guest process sees a lost device.
#[utoipa::path(delete, path = "/v1/vms/{name}/sessions/{id}", tag = "sessions", params(
    ("name" = String, Path, description = "Name of the VM"),
    ("id" = u32, Path, description = "Session number"),
), responses(
    (status = 204, description = "The session is being ended"),
    (status = 404, description = "The VM or session doesn't exist", body = ApiError),
    (status = 503, description = "vcudad is overloaded or shutting down, or did not respond in time, and the change may still be applied", body = ApiError),
))]
pub(super) async fn kill_session(
    State(api): State<Api>,
    Extension(peer): Extension<Peer>,
    path: Result<Path<(String, u32)>, PathRejection>,
) -> Answer {
    let (vm, session) = part(path)?;
    done(&api, peer, Request::KillSession { vm, session }).await
}

/// Lists all GPUs, sorted by index.
#[utoipa::path(get, path = "/v1/gpus", tag = "gpus", responses(
    (status = 200, description = "The GPUs", body = [GpuInfo]),
    (status = 503, description = "vcudad is overloaded or shutting down", body = ApiError),
))]
pub(super) async fn list_gpus(State(api): State<Api>) -> Answer {
    match api.handle.ask(Request::ListGpus).await? {
        Reply::Gpus(gpus) => Ok(json(StatusCode::OK, &gpus)),
        other => Err(unexpected(&other)),
    }
}

async fn ask_stats(api: &Api, request: Request) -> Result<Box<Stats>, Refusal> {
    match api.handle.ask(request).await? {
        Reply::Stats(stats) => Ok(stats),
        other => Err(unexpected(&other)),
    }
}

/// Returns all statistics.
#[utoipa::path(get, path = "/v1/stats", tag = "statistics", responses(
    (status = 200, description = "The statistics", body = Stats),
    (status = 503, description = "vcudad is overloaded or shutting down", body = ApiError),
))]
pub(super) async fn stats(State(api): State<Api>) -> Answer {
    Ok(json(StatusCode::OK, &ask_stats(&api, Request::Stats).await?))
}

/// Returns the VMs' usage of GPU time and memory per month, including that of VMs that were removed.
#[utoipa::path(get, path = "/v1/usage", tag = "statistics",
    params(("since_ms" = Option<u64>, Query, description = "Leave out months that were over at this time, in milliseconds since 1970.")),
    responses(
    (status = 200, description = "The usage", body = UsageReport),
    (status = 400, description = "The parameter isn't a time", body = ApiError),
    (status = 503, description = "vcudad is overloaded or shutting down", body = ApiError),
))]
pub(super) async fn usage(State(api): State<Api>, RawQuery(query): RawQuery) -> Answer {
    let since_ms = since_ms(query.as_deref())?.unwrap_or_default();
    match api.handle.ask(Request::Usage { since_ms }).await? {
        Reply::Usage(usage) => Ok(json(StatusCode::OK, &usage)),
        other => Err(unexpected(&other)),
    }
}

/// Checks whether vcudad could apply a configuration file, without applying it. `vcudad --check` uses
/// this. The body is the text of the file. Without a body, the file is empty.
#[utoipa::path(post, path = "/v1/config/check", tag = "vcudad",
    request_body(content = Option<String>, content_type = "text/plain"), responses(
    (status = 200, description = "The file could be applied", body = ConfigCheck),
    (status = 400, description = "The body isn't UTF-8", body = ApiError),
    (status = 408, description = "The body didn't arrive within 10 s", body = ApiError),
    (status = 409, description = "vcudad has no configuration file", body = ApiError),
    (status = 413, description = "The body is larger than 1 MiB", body = ApiError),
    (status = 422, description = "The file has an error, which the message explains", body = ApiError),
    (status = 503, description = "vcudad is overloaded or shutting down", body = ApiError),
))]
pub(super) async fn check_config(State(api): State<Api>, body: Body) -> Answer {
    let text = body::config(body).await?;
    match api.handle.ask(Request::CheckConfig(text)).await? {
        Reply::Checked(check) => Ok(json(StatusCode::OK, &check)),
        other => Err(unexpected(&other)),
    }
}

/// Parses the query parameter `since_ms` of a request for events or usage.
fn since_ms(query: Option<&str>) -> Result<Option<u64>, ApiError> {
    let Some(query) = query.filter(|query| !query.is_empty()) else { return Ok(None) };
    // The OpenAPI description declares the parameter as int64, so larger values are invalid.
    let fits = |time: &u64| i64::try_from(*time).is_ok();
    let time = query.strip_prefix("since_ms=").and_then(|time| time.parse().ok()).filter(fits);
    time.map(Some).ok_or_else(|| {
        let says = "the only parameter is since_ms, a time in milliseconds since 1970";
        ApiError::new(ErrorCode::BadRequest, says)
    })
}

/// Streams events until the client disconnects: one JSON object per line, with empty lines as
/// keep-alives. Sends server-sent events instead if the client accepts `text/event-stream`.
#[utoipa::path(get, path = "/v1/events", tag = "statistics",
    params(("since_ms" = Option<u64>, Query, description = "First send the past events since this time, in milliseconds since 1970. vcudad keeps the last 1024 events until it's restarted or replaced.")),
    responses(
    (status = 200, description = "The events", body = Event, content_type = "application/x-ndjson"),
    (status = 400, description = "The parameter isn't a time", body = ApiError),
    (status = 503, description = "Too many readers or connections, or vcudad is shutting down", body = ApiError),
))]
pub(super) async fn events(
    State(api): State<Api>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer {
    let since_ms = since_ms(query.as_deref())?;
    Ok(api.readers.answer(&api.handle, since_ms, &headers)?)
}

/// Streams which VM is on which GPU until the client disconnects: one JSON object per line, with
/// empty lines as keep-alives. The stream begins with the current state of every VM on every GPU.
#[utoipa::path(get, path = "/v1/trace", tag = "statistics", responses(
    (status = 200, description = "The records", body = TraceRecord, content_type = "application/x-ndjson"),
    (status = 409, description = "The scheduler is off", body = ApiError),
    (status = 503, description = "Too many traces or connections, or vcudad is shutting down", body = ApiError),
))]
pub(super) async fn trace(State(api): State<Api>) -> Answer {
    Ok(api.tracers.answer(&api.handle).await?)
}

/// Returns the statistics as metrics: in OpenMetrics if the client accepts it, or else in Prometheus'
/// text format.
#[utoipa::path(get, path = "/metrics", tag = "statistics", responses(
    (status = 200, description = "The metrics", content(
        (String = "text/plain"),
        (String = "application/openmetrics-text"),
    )),
    (status = 503, description = "vcudad is overloaded or shutting down", body = ApiError),
))]
pub(super) async fn scrape(State(api): State<Api>, headers: HeaderMap) -> Answer {
    let accepted = headers.get(header::ACCEPT).and_then(|types| types.to_str().ok());
    let format = Format::accepted(accepted.unwrap_or_default());
    let text = metrics::encode(&*ask_stats(&api, Request::Metrics).await?, format);
    let kind = HeaderValue::from_static(format.content_type());
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// Returns the name and version of the server.
#[utoipa::path(get, path = "/v1/version", tag = "vcudad", responses(
    (status = 200, description = "The version", body = VersionInfo),
    (status = 503, description = "Too many connections", body = ApiError),
))]
pub(super) async fn version() -> Response {
    let info =
        VersionInfo { name: "vcudad".into(), version: env!("CARGO_PKG_VERSION").into(), api: 1 };
    json(StatusCode::OK, &info)
}

/// Checks whether the broker's event loop responds.
#[utoipa::path(get, path = "/v1/health", tag = "vcudad", responses(
    (status = 204, description = "The event loop responds"),
    (status = 503, description = "The event loop doesn't respond", body = ApiError),
))]
pub(super) async fn health(State(api): State<Api>) -> Answer {
    api.handle.ask(Request::ListGpus).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Returns this API description.
#[utoipa::path(get, path = "/openapi.json", tag = "vcudad", responses(
    (status = 200, description = "OpenAPI 3.1", body = serde_json::Value, content_type = "application/json"),
    (status = 503, description = "Too many connections", body = ApiError),
))]
pub(super) async fn description(Extension(text): Extension<Description>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, kind)], text.0.to_string()).into_response()
}
