//! Reports and events for operators and guests.
//!
//! | module | contents |
//! |---|---|
//! | `reports`, `activity` | reports for operators |
//! | `event`, `rate` | events for operators; rate limits |

pub(crate) mod activity;
pub(crate) mod event;
pub(crate) mod rate;
pub(crate) mod reports;
