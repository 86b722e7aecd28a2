//! The configured VMs, and changes of the configuration while vcudad runs.
//!
//! | module | contents |
//! |---|---|
//! | `validate`, `check`, `running` | the checks of a configuration; checking one without serving it; asking a vcudad that is running |
//! | `chosen`, `last_good` | the configuration to start with: the file, or the last one that was applied |
//! | `roster`, `state`, `saver` | the configured VMs, with run-time changes; the file that saves the changes, and its thread |
//! | `changes` | run-time changes that are being saved, or wait for that |
//! | `reread`, `reload`, `differences` | reading the configuration file again; what that changes |

pub(crate) mod changes;
pub(crate) mod check;
pub(crate) mod chosen;
pub(crate) mod differences;
pub(crate) mod last_good;
pub(crate) mod reload;
pub(crate) mod reread;
pub(crate) mod roster;
pub(crate) mod running;
pub(crate) mod saver;
pub(crate) mod state;
pub(crate) mod validate;
