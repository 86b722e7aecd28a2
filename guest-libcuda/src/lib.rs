//! The guest's libcuda.so.1.

mod transport;
mod windows;

pub(crate) fn unsupported(_name: &'static str) -> u32 {
    801
}

mod exports {
    include!(concat!(env!("OUT_DIR"), "/exports.rs"));
}
