//! The entry points of the driver API, a module for each family.
//!
//! What C passes comes in as integers and as the pointer types of [`cuda_api::args`]; an entry point checks
//! it, and gives CUDA's result.

#[macro_use]
mod macros;
mod context;
mod copy;
pub mod copy2d;
mod device;
mod event;
mod function;
mod generated;
mod graph;
pub mod host_func;
mod host_memory;
mod image;
mod init;
pub mod launch;
mod library;
mod memory;
mod memset;
mod module;
mod occupancy;
mod pointer;
mod proc_address;
mod stream;
mod tables;

/// The entry points of all modules.
pub(crate) const ALL: &[&[cuda_api::exports::Entry]] = &[
    context::ENTRIES,
    copy::ENTRIES,
    copy2d::ENTRIES,
    device::ENTRIES,
    event::ENTRIES,
    function::ENTRIES,
    generated::ENTRIES,
    graph::ENTRIES,
    host_func::ENTRIES,
    host_memory::ENTRIES,
    init::ENTRIES,
    launch::ENTRIES,
    library::ENTRIES,
    memory::ENTRIES,
    memset::ENTRIES,
    module::ENTRIES,
    occupancy::ENTRIES,
    pointer::ENTRIES,
    proc_address::ENTRIES,
    stream::ENTRIES,
    tables::ENTRIES,
];
