//! Errors that the control API returns.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::suggest::closest;

/// Machine-readable reason for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The body is not JSON, has the wrong form, or has an unknown key. HTTP 400.
    BadRequest,
    /// The request was made on the read socket, which answers only requests that change nothing. HTTP
    /// 403.
    ReadOnly,
    /// The VM, session or path doesn't exist. HTTP 404.
    NotFound,
    /// The path doesn't support the method. HTTP 405.
    MethodNotAllowed,
    /// The client didn't send its request in time. HTTP 408.
    Timeout,
    /// The VM's name, socket or user is already in use. HTTP 409.
    Conflict,
    /// The body is too large. HTTP 413.
    TooLarge,
    /// A value is out of range, names a GPU or directory that doesn't exist, or can't be changed
    /// while the VM exists. HTTP 422.
    Invalid,
    /// vcudad is overloaded or shutting down; try again. HTTP 503.
    Unavailable,
    /// The GPUs don't have room for the quota, or the state file can't be written. HTTP 507.
    NoRoom,
    /// Internal error: a bug in vcudad. HTTP 500.
    Internal,
}

/// The body of an error response. A refused request changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApiError {
    /// Machine-readable reason.
    pub code: ErrorCode,
    /// The field at fault, such as `compute.weight`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Description of the problem and its remedy, for people.
    pub message: String,
}

impl ApiError {
    /// Creates an error that doesn't concern a single field.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, field: None, message: message.into() }
    }

    /// Creates an error for a field whose value isn't allowed.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Invalid, message).of(field)
    }

    /// Creates an error for a VM that doesn't exist.
    pub fn no_vm(name: &str) -> Self {
        Self::new(ErrorCode::NotFound, format!("there is no VM named '{}'", name.escape_debug()))
    }

    /// Creates an error for a VM that doesn't exist, with a suggestion from the existing VMs'
    /// names.
    pub fn no_vm_like<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Self {
        let error = Self::no_vm(name);
        match closest(name, names) {
            Some(other) => {
                let message = format!("{}; did you mean '{other}'?", error.message);
                Self { message, ..error }
            }
            None => error,
        }
    }

    /// Creates an error for a session that doesn't exist.
    pub fn no_session(vm: &str, session: u32) -> Self {
        Self::new(ErrorCode::NotFound, format!("VM '{vm}' has no session {session}"))
    }

    /// Creates an error for a request that is refused because too many other requests are waiting.
    pub fn too_many_requests() -> Self {
        Self::new(ErrorCode::Unavailable, "too many requests at once; try again")
    }

    /// Creates an error for a request that vcudad won't handle, because it is shutting down.
    pub fn shutting_down() -> Self {
        Self::new(ErrorCode::Unavailable, "vcudad is shutting down; try again")
    }

    /// Sets the field that the error is about.
    pub fn of(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "{field}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}
