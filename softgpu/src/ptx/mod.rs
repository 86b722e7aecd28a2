//! Parses PTX text and lowers it to code for the interpreter.

pub mod ir;
pub mod lower;
pub mod source;
pub mod token;
pub mod types;
