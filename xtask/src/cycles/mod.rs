//! Checks that no modules in a crate depend on each other, directly or through other modules.
//!
//! A module depends on another module if its code names or re-exports an item or macro that the
//! other module defines. Re-exports are followed to the definition. A parent that only declares and
//! re-exports its children doesn't depend on them. Tests and generated code are skipped. Method
//! calls and names that a macro constructs aren't detected.

mod check;
mod dependencies;
mod graph;
mod names;
mod source;
mod tokens;

pub use check::run;
