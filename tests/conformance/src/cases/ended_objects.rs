//! Calls on objects whose owner was destroyed or freed, for every kind of object: the table in
//! `src/ended/native.csv`.

use super::cases;
use crate::ended::TABLE;

cases! {
    fn stream(cuda) { TABLE.check(cuda, "stream") }
    fn event(cuda) { TABLE.check(cuda, "event") }
    fn array(cuda) { TABLE.check(cuda, "array") }
    fn device_memory(cuda) { TABLE.check(cuda, "device-memory") }
    fn executable_graph(cuda) { TABLE.check(cuda, "executable-graph") }
    fn module(cuda) { TABLE.check(cuda, "module") }
    fn function(cuda) { TABLE.check(cuda, "function") }
    fn module_variable(cuda) { TABLE.check(cuda, "module-variable") }
    fn library(cuda) { TABLE.check(cuda, "library") }
    fn kernel(cuda) { TABLE.check(cuda, "kernel") }
    fn library_module(cuda) { TABLE.check(cuda, "library-module") }
    fn kernel_function(cuda) { TABLE.check(cuda, "kernel-function") }
    fn library_variable(cuda) { TABLE.check(cuda, "library-variable") }
    fn managed_variable(cuda) { TABLE.check(cuda, "managed-variable") }
    fn link(cuda) { TABLE.check(cuda, "link") }
    fn pool(cuda) { TABLE.check(cuda, "pool") }
    fn pool_memory(cuda) { TABLE.check(cuda, "pool-memory") }
    fn pool_file(cuda) { TABLE.check(cuda, "pool-file") }
    fn stream_memory(cuda) { TABLE.check(cuda, "stream-memory") }
    fn managed_memory(cuda) { TABLE.check(cuda, "managed-memory") }
    fn host_memory(cuda) { TABLE.check(cuda, "host-memory") }
    fn registered_memory(cuda) { TABLE.check(cuda, "registered-memory") }
    fn unmapped_memory(cuda) { TABLE.check(cuda, "unmapped-memory") }
    fn texture(cuda) { TABLE.check(cuda, "texture") }
    fn texture_of_memory(cuda) { TABLE.check(cuda, "texture-of-memory") }
    fn surface(cuda) { TABLE.check(cuda, "surface") }
    fn texture_reference(cuda) { TABLE.check(cuda, "texture-reference") }
    fn own_texture_reference(cuda) { TABLE.check(cuda, "own-texture-reference") }
    fn surface_reference(cuda) { TABLE.check(cuda, "surface-reference") }
    fn graph_node(cuda) { TABLE.check(cuda, "graph-node") }
    fn graph_memory(cuda) { TABLE.check(cuda, "graph-memory") }
    fn physical_memory(cuda) { TABLE.check(cuda, "physical-memory") }
    fn physical_memory_file(cuda) { TABLE.check(cuda, "physical-memory-file") }
    fn reservation(cuda) { TABLE.check(cuda, "reservation") }
    fn mapping(cuda) { TABLE.check(cuda, "mapping") }
    fn exported_memory(cuda) { TABLE.check(cuda, "exported-memory") }
    fn memory_handle(cuda) { TABLE.check(cuda, "memory-handle") }
    fn opened_memory(cuda) { TABLE.check(cuda, "opened-memory") }
    fn event_handle(cuda) { TABLE.check(cuda, "event-handle") }
    fn opened_event(cuda) { TABLE.check(cuda, "opened-event") }
}
