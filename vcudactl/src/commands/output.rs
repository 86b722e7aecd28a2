//! Output of results as JSON or text.

use std::io::{self, Write};

use control_api::ApiError;
use serde::Serialize;
use serde_json::json;

use crate::cli::{ListArgs, ListFormat};
use crate::error::CtlError;
use crate::exit;
use crate::table::printable;

/// Prints results in the format that the user chose.
pub(super) struct Output {
    json: bool,
}

impl Output {
    pub(super) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Returns whether the user has chosen JSON as the output format.
    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints a result as indented JSON, or calls `text` to print it as text.
    pub(super) fn answer(
        &self,
        value: &impl Serialize,
        text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CtlError> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        let written = if self.json {
            serde_json::to_writer_pretty(&mut out, value)
                .map_err(io::Error::from)
                .and_then(|()| writeln!(out))
        } else {
            text(&mut out)
        };
        written.and_then(|()| out.flush()).map_err(CtlError::Output)
    }

    /// Prints a list: only the names, or JSON, or the table that `text` prints. The second argument
    /// of `text` says whether the table should have more columns.
    pub(super) fn list(
        &self,
        args: &ListArgs,
        value: &impl Serialize,
        names: &[String],
        text: impl FnOnce(&mut dyn Write, bool) -> io::Result<()>,
    ) -> Result<(), CtlError> {
        if args.quiet {
            return self.answer(&names, |out| {
                names.iter().try_for_each(|name| writeln!(out, "{}", printable(name)))
            });
        }
        self.answer(value, |out| text(out, args.output == Some(ListFormat::Wide)))
    }

    /// Prints a warning on standard error.
    pub(super) fn warn(&self, text: &str) {
        match self.json {
            true => exit::report_json(&json!({"code": "warning", "message": text})),
            false => exit::report(text),
        }
    }

    /// Prints the error of a command for one VM, if the command was for several VMs.
    pub(super) fn refused(&self, vm: &str, error: &ApiError) {
        if !self.json {
            return exit::report(&format!("{vm}: {error}"));
        }
        let mut value = json!(error);
        value["vm"] = json!(vm);
        exit::report_json(&value);
    }

    /// Prints one line of a stream: JSON, or `text`.
    pub(super) fn line(&self, value: &impl Serialize, text: &str) -> Result<(), CtlError> {
        let mut out = io::stdout().lock();
        let written = if self.json {
            serde_json::to_writer(&mut out, value)
                .map_err(io::Error::from)
                .and_then(|()| writeln!(out))
        } else {
            writeln!(out, "{text}")
        };
        written.and_then(|()| out.flush()).map_err(CtlError::Output)
    }
}
