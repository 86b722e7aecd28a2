//! The transport over vhost-user, without a VM.

mod events;
mod front_end;
mod memory;
mod queue;
mod requests;
mod user_pages;

pub use front_end::VhostUser;
