//! Lowers PTX to code that the interpreter runs.

mod alu;
mod control;
mod function;
mod image;
mod lowering;
mod memory;
mod modifiers;
mod module;
mod opcodes;
mod special;

pub use module::lower;
