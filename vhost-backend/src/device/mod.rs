//! The device process.
