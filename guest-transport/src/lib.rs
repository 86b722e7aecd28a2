//! Code shared by the guest libraries: access to the device, through the kernel driver or as a
//! vhost-user front end, and logging.

pub mod copiers;
mod error;
pub mod facts;
mod in_children;
mod kernel;
pub mod log;
mod mapping;
mod open;
pub mod ranges;
mod refusal;
mod transport;
mod vhost_user;
pub mod virtqueue;

pub use error::TransportError;
pub use in_children::ClosedInChildren;
pub use mapping::Mapping;
pub use open::open;
pub use transport::{Fork, PINNED_WINDOW, Started, Transport, is_pinned};
