//! A combined front end and guest driver, for testing the device as a VMM and its guest would use
//! it.

mod device;
pub mod fake_worker;
mod folder;
mod guest;
mod programs;
pub mod refusal;
mod requests;
mod session_ring;

pub use device::Device;
pub use folder::Folder;
pub use guest::{BASE, FREE, Guest, MEMORY, QUEUE_SIZE};
pub use guest_transport::virtqueue::Descriptor;
pub use programs::{program, softgpu, wait_for};
pub use requests::{REGION, RING, create, create_with, ring_request, submit};
pub use session_ring::SessionRing;
