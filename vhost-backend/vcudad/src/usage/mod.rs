//! GPU time and memory that VMs have used. They are kept across restarts of the broker.
//!
//! | module | contents |
//! |---|---|
//! | `counters`, `meter` | the counters; memory multiplied by time |
//! | `month` | months of the host's clock |
//! | `record` | the counters of all VMs, in total and by month |
//! | `collector` | adds what the scheduler and the ledger have counted to the record |
//! | `file` | the file in which the record is saved |
//! | `scrapes` | reports that are sent once they have been saved |

pub(crate) mod collector;
pub(crate) mod counters;
pub(crate) mod file;
pub(crate) mod meter;
mod month;
pub(crate) mod record;
pub(crate) mod scrapes;
