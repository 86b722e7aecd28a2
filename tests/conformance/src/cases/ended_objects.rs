//! Calls on objects whose owner has ended, for every kind of object: the table in
//! `src/ended/native.csv`.

use super::cases;
use crate::ended::table::check;

cases! {
    fn module(cuda) { check(cuda, "module") }
    fn function(cuda) { check(cuda, "function") }
    fn module_variable(cuda) { check(cuda, "module-variable") }
    fn library(cuda) { check(cuda, "library") }
    fn kernel(cuda) { check(cuda, "kernel") }
    fn library_module(cuda) { check(cuda, "library-module") }
    fn kernel_function(cuda) { check(cuda, "kernel-function") }
    fn library_variable(cuda) { check(cuda, "library-variable") }
    fn managed_variable(cuda) { check(cuda, "managed-variable") }
    fn link(cuda) { check(cuda, "link") }
    fn pool(cuda) { check(cuda, "pool") }
    fn pool_memory(cuda) { check(cuda, "pool-memory") }
    fn pool_file(cuda) { check(cuda, "pool-file") }
    fn stream_memory(cuda) { check(cuda, "stream-memory") }
    fn managed_memory(cuda) { check(cuda, "managed-memory") }
    fn host_memory(cuda) { check(cuda, "host-memory") }
    fn registered_memory(cuda) { check(cuda, "registered-memory") }
    fn unmapped_memory(cuda) { check(cuda, "unmapped-memory") }
    fn texture(cuda) { check(cuda, "texture") }
    fn texture_of_memory(cuda) { check(cuda, "texture-of-memory") }
    fn surface(cuda) { check(cuda, "surface") }
    fn texture_reference(cuda) { check(cuda, "texture-reference") }
    fn own_texture_reference(cuda) { check(cuda, "own-texture-reference") }
    fn surface_reference(cuda) { check(cuda, "surface-reference") }
    fn graph_node(cuda) { check(cuda, "graph-node") }
    fn graph_memory(cuda) { check(cuda, "graph-memory") }
    fn physical_memory(cuda) { check(cuda, "physical-memory") }
    fn physical_memory_file(cuda) { check(cuda, "physical-memory-file") }
    fn reservation(cuda) { check(cuda, "reservation") }
    fn mapping(cuda) { check(cuda, "mapping") }
    fn exported_memory(cuda) { check(cuda, "exported-memory") }
    fn memory_handle(cuda) { check(cuda, "memory-handle") }
    fn opened_memory(cuda) { check(cuda, "opened-memory") }
    fn event_handle(cuda) { check(cuda, "event-handle") }
    fn opened_event(cuda) { check(cuda, "opened-event") }
}
