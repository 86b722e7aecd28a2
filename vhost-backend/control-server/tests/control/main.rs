//! The control API, as its clients see it, before a service that remembers VMs and nothing else.

mod client;
mod fake;
mod hostile;
mod metrics;
mod routes;
