//! Sessions, from the request for one to the end of its worker.
//!
//! | module | contents |
//! |---|---|
//! | `table` | all sessions, from their start to the end of their worker |
//! | `accounts`, `slots` | the ledger, and the pages on which workers see its state; workers' slots on their VM's spending page |
//! | `session`, `worker`, `cause` | a session and the start queue; workers and the warm pool; why sessions end |
//! | `refusals` | sessions and front ends that were refused |

pub(crate) mod accounts;
pub(crate) mod budgets;
pub(crate) mod cause;
pub(crate) mod refusals;
pub(crate) mod session;
pub(crate) mod slots;
pub(crate) mod table;
pub(crate) mod worker;
