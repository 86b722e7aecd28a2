//! Reads and parses request bodies, and turns errors into responses.

use std::borrow::Cow;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::model::{
    ApiError, ErrorCode, SETTINGS, Setting, VmPatch, VmSpec, expected, is_list, with_suggestion,
};

/// Maximum size of a request body, in bytes.
const MAX_BODY: usize = 64 << 10;
/// Maximum size of a configuration file, in bytes. A file with the maximum number of VMs that
/// vcudad serves fits.
const MAX_CONFIG: usize = 1 << 20;
/// Maximum time for a client to send its body.
const BODY_PATIENCE: Duration = Duration::from_secs(10);

/// An error that is sent as a response.
#[derive(Debug)]
pub(super) struct Refusal(ApiError);

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = match self.0.code {
            ErrorCode::BadRequest => StatusCode::BAD_REQUEST,
            ErrorCode::ReadOnly => StatusCode::FORBIDDEN,
            ErrorCode::NotFound => StatusCode::NOT_FOUND,
            ErrorCode::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            ErrorCode::Timeout => StatusCode::REQUEST_TIMEOUT,
            ErrorCode::Conflict => StatusCode::CONFLICT,
            ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorCode::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorCode::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode::NoRoom => StatusCode::INSUFFICIENT_STORAGE,
            ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        json(status, &self.0)
    }
}

/// Builds a response with a JSON body.
pub(super) fn json<T: Serialize>(status: StatusCode, value: &T) -> Response {
    match serde_json::to_vec(value) {
        Ok(text) => {
            let kind = HeaderValue::from_static("application/json");
            (status, [(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => {
            tracing::error!("cannot serialize a response as JSON: {error}");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Reads a body. If its declared length is larger than `max`, refuses it without reading it.
async fn read(body: Body, max: usize) -> Result<Vec<u8>, ApiError> {
    let too_large = || {
        let says = format!("the body is larger than {max} bytes");
        ApiError::new(ErrorCode::TooLarge, says)
    };
    if body.size_hint().lower() > max as u64 {
        return Err(too_large());
    }
    let read = Limited::new(body, max).collect();
    match tokio::time::timeout(BODY_PATIENCE, read).await {
        Ok(Ok(body)) => Ok(body.to_bytes().into()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => {
            Err(ApiError::new(ErrorCode::BadRequest, format!("cannot read the body: {error}")))
        }
        Err(_) => {
            Err(ApiError::new(ErrorCode::Timeout, "the rest of the body did not arrive in time"))
        }
    }
}

/// Rewrites whole numbers such as `1.0` as integers. In JSON, `1.0` and `1` are the same number,
/// but serde accepts only `1` for an integer. If the text contains no such number, or isn't JSON,
/// returns it unchanged.
fn whole_numbers(text: &[u8]) -> Cow<'_, [u8]> {
    fn convert(value: &mut Value) -> bool {
        match value {
            Value::Number(number) => {
                // Convert only numbers up to 2^53: an f64 represents every integer up to that
                // exactly.
                let largest = (1u64 << f64::MANTISSA_DIGITS) as f64;
                let is_whole = |float: &f64| float.fract() == 0.0 && float.abs() <= largest;
                let whole = number.as_f64().filter(|float| number.is_f64() && is_whole(float));
                whole.inspect(|float| *number = (*float as i64).into()).is_some()
            }
            // Count the converted elements instead of calling `any`, which would stop after the
            // first converted element.
            Value::Array(list) => {
                list.iter_mut().filter_map(|v| convert(v).then_some(())).count() > 0
            }
            Value::Object(map) => {
                map.values_mut().filter_map(|v| convert(v).then_some(())).count() > 0
            }
            _ => false,
        }
    }
    let Ok(mut value) = serde_json::from_slice(text) else { return text.into() };
    match convert(&mut value) {
        true => value.to_string().into_bytes().into(),
        false => text.into(),
    }
}

fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, ApiError> {
    let text = &*whole_numbers(text);
    let mut from = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut from).map_err(|error| {
        let place = error.path().to_string();
        let mut message = error.into_inner().to_string();
        // If a field is missing, the error's path names the object that should contain it, so
        // append the field's name.
        let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split_once('`'));
        let field = match missing {
            Some((key, _)) if place == "." => key.to_owned(),
            Some((key, _)) => format!("{place}.{key}"),
            None => place,
        };
        // Append the expected range, except for an unknown key or value, because the message
        // already lists the known ones.
        if let Some(range) = expected(&field).filter(|_| !message.starts_with("unknown")) {
            message = format!("{message}; it must be {range}");
        }
        let message = with_suggestion(&message);
        let code = ErrorCode::BadRequest;
        match field.as_str() {
            "." | "?" => ApiError::new(code, message),
            _ => ApiError::new(code, message).of(field),
        }
    })?;
    from.end().map_err(|error| ApiError::new(ErrorCode::BadRequest, error.to_string()))?;
    // The text was parsed above, so it is valid JSON of limited depth, and parsing can't fail here.
    no_lists("", &serde_json::from_slice(text).unwrap_or_default())?;
    Ok(value)
}

/// Refuses a list in place of an object. serde would accept it and assign the values in field
/// order, which isn't documented.
fn no_lists(field: &str, value: &Value) -> Result<(), ApiError> {
    match value {
        Value::Array(_) if !is_list(field) => {
            let error = ApiError::new(ErrorCode::BadRequest, "is a list, but must be an object");
            Err(if field.is_empty() { error } else { error.of(field) })
        }
        Value::Object(members) => members.iter().try_for_each(|(key, value)| {
            let dot = if field.is_empty() { "" } else { "." };
            no_lists(&format!("{field}{dot}{key}"), value)
        }),
        _ => Ok(()),
    }
}

/// Returns the text of a configuration file.
pub(super) async fn config(body: Body) -> Result<String, ApiError> {
    String::from_utf8(read(body, MAX_CONFIG).await?)
        .map_err(|error| ApiError::new(ErrorCode::BadRequest, error.to_string()))
}

/// Parses a VM's settings and checks their ranges.
pub(super) async fn spec(body: Body) -> Result<VmSpec, ApiError> {
    let spec: VmSpec = parse(&read(body, MAX_BODY).await?)?;
    spec.check()?;
    Ok(spec)
}

/// Parses a change to a VM's settings. The broker checks the ranges, because they depend on the
/// VM's other settings.
pub(super) async fn patch(body: Body) -> Result<VmPatch, ApiError> {
    let text = read(body, MAX_BODY).await?;
    parse(&text).map_err(|error| fixed(&text).or_else(|| kept(&text, &error)).unwrap_or(error))
}

/// Returns the value at a dotted path.
fn at<'a>(value: &'a Value, field: &str) -> Option<&'a Value> {
    value.pointer(&format!("/{}", field.replace('.', "/")))
}

/// If `error` was caused by a null value for a required setting, returns an error that says that
/// this setting can't be reset.
fn kept(text: &[u8], error: &ApiError) -> Option<ApiError> {
    let value: Value = serde_json::from_slice(text).ok()?;
    let field = error.field.as_deref()?;
    // If the key is unknown, return `None`, because the original error is more useful.
    at(&value, field).filter(|value| value.is_null() && !error.message.starts_with("unknown"))?;
    let range = expected(field).map(|range| format!(": it must be {range}")).unwrap_or_default();
    Some(ApiError::invalid(field, format!("can't be reset{range}")))
}

/// If the patch in `text` contains a setting that can't be changed, returns an error that says so.
fn fixed(text: &[u8]) -> Option<ApiError> {
    let value: Value = serde_json::from_slice(text).ok()?;
    let place =
        SETTINGS.iter().filter_map(Setting::fixed_place).find(|key| at(&value, key).is_some())?;
    let says = "can't be changed while the VM exists: remove the VM and add it again";
    Some(ApiError::invalid(place, says))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn refused_spec(text: &str) -> ApiError {
        spec(Body::from(text.to_owned())).await.unwrap_err()
    }

    #[tokio::test]
    async fn an_invalid_body_is_refused_with_its_field() {
        let memory = r#""memory": {"max": 1073741824}"#;
        for (more, field, says) in [
            (r#""compute": {"weight": -5}"#, "compute.weight", "from 1 to 10000"),
            (r#""compute": {"weight": 1.5}"#, "compute.weight", "from 1 to 10000"),
            (r#""compute": {"weight": 0}"#, "compute.weight", "from 1 to 10000"),
            (r#""compute": {"max": 25}"#, "compute.max", "\"1%\" to \"100%\""),
            (r#""compute": {"max": "a quarter"}"#, "compute.max", "a quarter"),
            (r#""compute": {"kernel_timeout": "2 days"}"#, "compute.kernel_timeout", "2 days"),
            (r#""compute": {"speed": 1}"#, "compute.speed", "unknown field"),
            (r#""colour": 1"#, "colour", "unknown field"),
            (r#""class": "slow""#, "class", "latency"),
            (r#""gpus": ["any", "fast"]"#, "gpus[1]", "UUID"),
            (r#""gpus": 5"#, "gpus", "1 to 16"),
            (r#""pinned": {"max": "1T"}"#, "pinned.max", "from 1048576 to 70368744177664"),
            (r#""plain": {"max": -1}"#, "plain.max", "from 4096 to 1073741824"),
            (r#""pids": {"max": -1}"#, "pids.max", "from 1 to 4194304"),
            (r#""cpu": {"max": 5}"#, "cpu.max", "QUOTA"),
            (r#""spin_us": -1"#, "spin_us", "from 0 to 1000000"),
            (r#""socket_mode": 660"#, "socket_mode", "0660"),
            (r#""uid": -1"#, "uid", "from 1 to 4294967294"),
            (r#""socket_group": 7"#, "socket_group", "the name or the number of a group"),
        ] {
            let error = refused_spec(&format!(r#"{{"name": "a", {memory}, {more}}}"#)).await;
            assert_eq!(error.field.as_deref(), Some(field), "{more}: {error}");
            assert!(error.message.contains(says), "{more}: {error}");
        }
        for (text, field, says) in [
            (r#"{"name": "a"}"#, "memory", "missing"),
            (r#"{"name": "a", "memory": {}}"#, "memory.max", "from 2097152 to"),
            (r#"{"memory": {"max": 5}}"#, "name", "letters"),
        ] {
            let error = refused_spec(text).await;
            assert_eq!(error.field.as_deref(), Some(field), "{text}: {error}");
            assert!(error.message.contains(says), "{text}: {error}");
        }
        let error = refused_spec(r#"{"name": "a", "memory": {"max": "4G"}}"#).await;
        assert!(error.message.contains("bytes"), "{error}");
        for text in ["", "{", "[]", "null", "{} {}", "\u{0}"] {
            assert_eq!(refused_spec(text).await.code, ErrorCode::BadRequest, "{text}");
        }
    }

    /// JSON doesn't distinguish `1.0` from `1`, so both are accepted for integers.
    #[tokio::test]
    async fn a_whole_number_may_be_written_with_a_point() {
        let text = r#"{"name": "a", "memory": {"max": 2097152.0}, "compute": {"weight": 3e2},
            "gpus": [0.0], "sessions": {"max": 4096}}"#;
        let spec = spec(Body::from(text)).await.unwrap();
        assert_eq!((spec.memory.max, spec.compute.weight), (2 << 20, 300));
        assert_eq!(spec.sessions.max, Some(4096));
        for weight in ["1.5", "1e400", "-1.0", "1e30", "4294967296.0"] {
            let text = format!(r#"{{"compute": {{"weight": {weight}}}}}"#);
            let error = patch(Body::from(text)).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::BadRequest, "{weight}: {error}");
        }
    }

    #[tokio::test]
    async fn a_change_of_a_fixed_setting_is_refused_by_name() {
        for (text, field) in [
            (r#"{"gpus": ["0"]}"#, "gpus"),
            (r#"{"memory": {"host_max": 5}}"#, "memory.host_max"),
            (r#"{"compute": {"weight": 5}, "sharing": "mps"}"#, "sharing"),
        ] {
            let error = patch(Body::from(text)).await.unwrap_err();
            assert_eq!(error.field.as_deref(), Some(field));
            assert!(error.message.contains("add it again"), "{error}");
        }
        for text in [r#"{"colour": 1}"#, r#"{"colour": null}"#] {
            let error = patch(Body::from(text)).await.unwrap_err();
            assert_eq!(
                (error.code, error.field.as_deref()),
                (ErrorCode::BadRequest, Some("colour"))
            );
        }
    }

    #[tokio::test]
    async fn a_required_setting_cannot_be_reset() {
        for (text, field, says) in [
            (r#"{"compute": {"weight": null}}"#, "compute.weight", "from 1 to 10000"),
            (r#"{"compute": {"max": null}}"#, "compute.max", "\"1%\" to \"100%\""),
            (r#"{"compute": {"min": null}}"#, "compute.min", "\"0%\" to \"100%\""),
            (r#"{"memory": {"max": null}}"#, "memory.max", "from 2097152"),
            (r#"{"sessions": {"max": null}}"#, "sessions.max", "from 1 to 4096"),
            (r#"{"class": null}"#, "class", "latency"),
            (r#"{"compute": null}"#, "compute", "can't be reset"),
        ] {
            let error = patch(Body::from(text)).await.unwrap_err();
            assert_eq!((error.code, error.field.as_deref()), (ErrorCode::Invalid, Some(field)));
            assert!(error.message.contains(says), "{error}");
        }
        patch(Body::from(r#"{"compute": {"kernel_timeout": null}}"#)).await.unwrap();
    }

    #[tokio::test]
    async fn a_list_in_place_of_an_object_is_refused() {
        for (text, field) in [
            (r#"[{"max": 7000000}]"#, None),
            ("[]", None),
            (r#"{"compute": [5]}"#, Some("compute")),
            (r#"{"memory": []}"#, Some("memory")),
        ] {
            let error = patch(Body::from(text)).await.unwrap_err();
            assert_eq!((error.code, error.field.as_deref()), (ErrorCode::BadRequest, field));
            assert!(error.message.contains("must be an object"), "{error}");
        }
        for text in [
            r#"["a", null, null, ["any"], [5]]"#,
            r#"{"name": "a", "memory": [5]}"#,
            r#"{"name": "a", "memory": {"max": 5}, "env": [["A"]]}"#,
        ] {
            assert_eq!(refused_spec(text).await.code, ErrorCode::BadRequest, "{text}");
        }
        let lists = r#"{"name": "a", "memory": {"max": 2097152}, "gpus": [0], "env": {"allow": ["CUDA_LAUNCH_BLOCKING"]}}"#;
        spec(Body::from(lists)).await.unwrap();
    }

    #[tokio::test]
    async fn an_oversized_body_is_refused() {
        let error = refused_spec(&" ".repeat(MAX_BODY + 1)).await;
        assert_eq!(error.code, ErrorCode::TooLarge);
        let config = config(Body::from(" ".repeat(MAX_CONFIG + 1))).await;
        assert_eq!(config.unwrap_err().code, ErrorCode::TooLarge);
    }
}
