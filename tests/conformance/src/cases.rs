//! The cases, by family of entry points.
//!
//! A case observes the effects of calls and provokes their errors. A line that it prints must be
//! the same on every path, or be explained in docs/differences.md.

mod arguments;
mod array;
mod bad_images;
mod batch;
mod before_init;
mod capture;
mod compiler_cache;
mod context;
mod context_event;
mod context_settings;
mod copy_forms;
mod coredump;
mod device;
mod device_query;
mod ended;
mod ended_objects;
mod entry_point;
mod event;
mod fill_forms;
mod first_versions;
mod function;
mod graph;
mod graph_batch;
mod graph_child;
mod graph_conditional;
mod graph_copy;
mod graph_edge;
mod graph_event;
mod graph_exec;
mod graph_kernel;
mod graph_memory;
mod graph_node_parameters;
mod graph_nodes;
mod graph_structure;
mod green;
mod host_flags;
mod host_kinds;
mod host_memory;
mod invalid_arguments;
mod ipc;
mod kernel;
mod launch_event;
mod library;
mod link;
mod logs;
mod managed;
mod managed_location;
mod managed_variable;
mod memory;
mod misuse;
mod module;
mod pageable;
mod peer;
mod pointer_attributes;
mod pool;
mod pool_sharing;
mod stream;
mod stream_memory;
mod stream_query;
mod surface;
mod synchrony;
mod synchrony_batch;
mod synchrony_box;
mod synchrony_fill;
mod tensor_map;
mod texture;
mod texture_ref;
mod thread_exit;
mod thread_waits;
mod unsupported;
mod virtual_memory;
mod visible_devices;
mod waits;

use crate::case::{Case, cases};

const FAMILIES: &[&[Case]] = &[
    device::CASES,
    context::CASES,
    context_event::CASES,
    green::CASES,
    first_versions::CASES,
    coredump::CASES,
    logs::CASES,
    memory::CASES,
    managed::CASES,
    pointer_attributes::CASES,
    pool::CASES,
    pool_sharing::CASES,
    module::CASES,
    kernel::CASES,
    launch_event::CASES,
    link::CASES,
    stream::CASES,
    stream_memory::CASES,
    virtual_memory::CASES,
    visible_devices::CASES,
    event::CASES,
    ipc::CASES,
    arguments::CASES,
    array::CASES,
    bad_images::CASES,
    batch::CASES,
    texture::CASES,
    texture_ref::CASES,
    surface::CASES,
    tensor_map::CASES,
    graph::CASES,
    graph_batch::CASES,
    graph_child::CASES,
    graph_conditional::CASES,
    graph_copy::CASES,
    graph_edge::CASES,
    graph_memory::CASES,
    graph_event::CASES,
    graph_exec::CASES,
    graph_kernel::CASES,
    graph_node_parameters::CASES,
    graph_nodes::CASES,
    graph_structure::CASES,
    context_settings::CASES,
    device_query::CASES,
    ended::CASES,
    ended_objects::CASES,
    function::CASES,
    before_init::CASES,
    misuse::CASES,
    capture::CASES,
    compiler_cache::CASES,
    copy_forms::CASES,
    entry_point::CASES,
    fill_forms::CASES,
    host_flags::CASES,
    host_kinds::CASES,
    host_memory::CASES,
    invalid_arguments::CASES,
    pageable::CASES,
    peer::CASES,
    library::CASES,
    managed_location::CASES,
    managed_variable::CASES,
    stream_query::CASES,
    thread_exit::CASES,
    thread_waits::CASES,
    waits::CASES,
    synchrony::CASES,
    synchrony_batch::CASES,
    synchrony_box::CASES,
    synchrony_fill::CASES,
    unsupported::CASES,
];

/// Returns all cases of all families.
pub fn all() -> impl Iterator<Item = &'static Case> {
    FAMILIES.iter().copied().flatten()
}

/// Returns the roles that peer processes of the cases can have.
pub fn roles() -> impl Iterator<Item = &'static crate::peer::Role> {
    ipc::ROLES.iter().chain(pool_sharing::ROLES).chain(crate::ended::ROLES)
}
