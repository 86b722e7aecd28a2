//! The check that no two modules of a crate import each other.
//!
//! A module depends on another when its own code names an item that the other defines. Re-exports
//! are followed to the definition, so a parent that only declares and re-exports its children
//! depends on nothing. Tests and generated code are left out. Two kinds of use stay invisible:
//! calls of methods, and names that a macro puts together.

mod allowed;
mod check;
mod dependencies;
mod graph;
mod names;
mod source;
mod tokens;

pub use check::run;
