//! Devices and contexts.

pub(crate) mod context;
pub(crate) mod coredump;
pub(crate) mod device;
pub(crate) mod device_links;
pub(crate) mod ended;
pub(crate) mod green;
pub(crate) mod green_context;
pub(crate) mod init;
pub(crate) mod limits;
pub(crate) mod logs;
