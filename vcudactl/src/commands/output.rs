//! Output as JSON or text.

use std::io::{self, Write};

use serde::Serialize;

use crate::error::CtlError;

/// Prints results in the format that the user chose.
pub(super) struct Output {
    json: bool,
}

impl Output {
    pub(super) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Prints a result: indented JSON, or the output of `text`.
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
