//! The host's side: device process, worker, broker.

pub mod broker;
pub mod config;
pub mod device;
pub mod exit;
pub mod ipc;
pub mod ledger;
pub mod worker;
