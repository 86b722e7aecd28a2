//! Errors in PTX texts.

/// The reason why a module's text can't be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PtxError {
    /// The text isn't PTX.
    #[error("line {line}: {what}")]
    Invalid {
        /// Line number, starting at 1.
        line: usize,
        /// Description of the problem.
        what: String,
    },
    /// The text is PTX that softgpu doesn't support.
    #[error("line {line}: softgpu does not support {what}")]
    Unsupported {
        /// Line number, starting at 1.
        line: usize,
        /// The unsupported feature.
        what: String,
    },
    /// The text requires a newer version of PTX or a newer GPU.
    #[error("{0}")]
    TooNew(String),
    /// A PTX text refers to a symbol that none of the linked texts defines.
    #[error("undefined reference to '{symbol}' in text {unit}")]
    Undefined {
        symbol: String,
        /// Index of the text among the linked texts.
        unit: u32,
    },
    /// A symbol is declared but not defined.
    #[error("unresolved symbol '{0}'")]
    Unresolved(String),
    /// Several linked modules define the same symbol.
    #[error("the symbol '{0}' is defined more than once")]
    Duplicate(String),
}

impl PtxError {
    /// Adds the name of the function that contains the error to the message.
    pub fn within(mut self, function: &str) -> Self {
        if let Self::Invalid { what, .. } | Self::Unsupported { what, .. } = &mut self {
            what.push_str(&format!(" (in '{function}')"));
        }
        self
    }
}

/// Returns the line number of a byte in the text, starting at 1.
pub fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|b| **b == b'\n').count() + 1
}

/// Returns an error for text that isn't PTX.
pub fn invalid(text: &str, at: usize, what: impl Into<String>) -> PtxError {
    PtxError::Invalid { line: line_of(text, at), what: what.into() }
}

/// Returns an error for PTX that softgpu doesn't support.
pub fn unsupported(text: &str, at: usize, what: impl Into<String>) -> PtxError {
    PtxError::Unsupported { line: line_of(text, at), what: what.into() }
}
