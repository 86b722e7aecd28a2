//! The live table: fetches the statistics at intervals and draws them.
//!
//! | module | contents |
//! |---|---|
//! | `run` | the main loop and key handling |
//! | `state` | the last two samples, the rates between them, sorting and scrolling |
//! | `view` | drawing |
//! | `picture` | a picture for the manual |

#[cfg(test)]
mod picture;
mod run;
mod state;
mod view;

pub(crate) use run::run;
