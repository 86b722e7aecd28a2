//! Tests of the control API as its clients see it, with a fake broker that only remembers VMs.

mod client;
mod fake;
mod hostile;
mod metrics;
mod routes;
