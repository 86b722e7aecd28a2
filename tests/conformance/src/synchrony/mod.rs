//! Observes when copies and memsets return, and compares that with NVIDIA's driver.
//!
//! Each combination of an entry point, kinds of memory, and a shape is called twice: once while the
//! stream is idle, and once behind a gate, a wait for a word that the CPU writes only after the call
//! has returned, or after a while. A letter says what happened:
//!
//! | letter | the call | when it had returned |
//! |---|---|---|
//! | `W` | waited for the work before it | the source could be changed; the CPU and other streams saw the bytes if the rule requires it |
//! | `w` | waited | the CPU or another stream didn't see the bytes, against the rule |
//! | `u` | either | changing the source changed the bytes that arrived, against the rule |
//! | `S` | returned before the work before it | the source had been read, so it could be changed |
//! | `R` | returned | the source was still to be read. For memsets: nothing was written yet |
//! | `X` | returned | the bytes were there, ahead of the work before them |
//! | `-` | wasn't made, because many letters before it were wrong | |
//! | `*` | did something that is permitted, but needn't be the same everywhere | |
//!
//! The kinds of memory are `p` pageable, `h` from `cuMemHostAlloc`, `r` registered, `w`
//! write-combined, `m` managed, `g` a managed variable, `d` from `cuMemAlloc`, `v` from
//! `cuMemCreate`, and `a` an array.

mod gate;
mod memory;
mod observe;
mod probe;
mod rule;

pub use memory::{Kind, Spot};
pub use observe::{Form, Request, Shape, tables};
pub use rule::{Order, Rule};
