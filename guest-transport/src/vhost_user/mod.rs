//! The transport over vhost-user, without a VM.

mod areas;
mod events;
mod exchange;
mod forks;
mod front_end;
mod memory;
mod queue;
mod requests;
mod shared_files;
mod user_pages;

pub use front_end::VhostUser;
