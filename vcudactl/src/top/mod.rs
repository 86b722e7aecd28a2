//! The live table: fetches the statistics at intervals and draws them.
//!
//! | module | contents |
//! |---|---|
//! | `run` | the loop, and the keys |
//! | `state` | the last two samples, the rates between them, sorting and scrolling |
//! | `view` | the frame |

mod run;
mod state;
mod view;

pub(crate) use run::run;
