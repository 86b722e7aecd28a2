//! Tests for the control API as clients see it, with a fake broker that only stores VMs.

mod client;
mod fake;
mod hostile;
mod metrics;
mod routes;
