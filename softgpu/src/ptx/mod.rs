//! From PTX's text to code that the interpreter runs.

pub mod ir;
pub mod lower;
pub mod source;
pub mod token;
pub mod types;
