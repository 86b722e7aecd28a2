//! Parses PTX text and lowers it to code for the interpreter.

pub mod constant;
pub mod declaration;
pub mod error;
pub mod image;
pub mod ir;
pub mod lower;
pub mod program;
mod runtime;
pub mod scan;
pub mod source;
pub mod token;
pub mod types;
pub mod unit;
