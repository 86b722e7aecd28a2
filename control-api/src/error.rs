//! Why something was refused.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What kind of refusal, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The request is not JSON, or not of this form; a key is unknown. HTTP 400.
    BadRequest,
    /// There is no such VM, session or path. HTTP 404.
    NotFound,
    /// The path exists, and not for this method. HTTP 405.
    MethodNotAllowed,
    /// The client sent nothing for too long. HTTP 408.
    Timeout,
    /// A VM of this name exists already, or its socket or user is taken. HTTP 409.
    Conflict,
    /// The body is larger than what is read. HTTP 413.
    TooLarge,
    /// A value is out of its range, names a GPU or a folder that is not there, or can't be changed
    /// while the VM exists. HTTP 422.
    Invalid,
    /// vcudad has too much to do, or is ending; try again. HTTP 503.
    Unavailable,
    /// The GPUs have no room for what is promised, or the state can't be written. HTTP 507.
    NoRoom,
    /// vcudad failed. HTTP 500.
    Internal,
}

/// A refusal: nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApiError {
    /// What kind of refusal.
    pub code: ErrorCode,
    /// The field that it is about, such as `compute.weight`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What was wrong, and what to do.
    pub message: String,
}

impl ApiError {
    /// A refusal that is about no one field.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, field: None, message: message.into() }
    }

    /// A value that is out of its range.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Invalid, message).of(field)
    }

    /// There is no such VM.
    pub fn no_vm(name: &str) -> Self {
        Self::new(ErrorCode::NotFound, format!("there is no VM named '{}'", name.escape_debug()))
    }

    /// There is no such session.
    pub fn no_session(vm: &str, session: u32) -> Self {
        Self::new(ErrorCode::NotFound, format!("VM '{vm}' has no session {session}"))
    }

    /// The same, about this field.
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
