//! Child processes, and the process that keeps root's privileges.
//!
//! | module | contents |
//! |---|---|
//! | `privileges`, `spawner` | dropping root's privileges; the process that keeps them |
//! | `process`, `launcher` | child processes; starting device processes and workers |
//! | `supervisor` | the supervisor of workers |
//! | `output` | the output of child processes |

pub(crate) mod launcher;
pub(crate) mod output;
pub(crate) mod privileges;
pub(crate) mod process;
pub(crate) mod spawner;
pub(crate) mod supervisor;
