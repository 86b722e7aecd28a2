//! Invalid node parameters, for every type of node and every call that sets them: the table in
//! `src/graph_nodes/native.csv`.

use super::cases;
use crate::graph_nodes::TABLE;

cases! {
    fn kernel(cuda) { TABLE.check(cuda, "kernel") }
    fn copy(cuda) { TABLE.check(cuda, "copy") }
    fn fill(cuda) { TABLE.check(cuda, "fill") }
    fn host(cuda) { TABLE.check(cuda, "host") }
    fn child(cuda) { TABLE.check(cuda, "child") }
    fn empty(cuda) { TABLE.check(cuda, "empty") }
    fn wait(cuda) { TABLE.check(cuda, "wait") }
    fn record(cuda) { TABLE.check(cuda, "record") }
    fn allocation(cuda) { TABLE.check(cuda, "allocation") }
    fn free(cuda) { TABLE.check(cuda, "free") }
    fn operations(cuda) { TABLE.check(cuda, "operations") }
    fn conditional(cuda) { TABLE.check(cuda, "conditional") }
    fn nodes_of_another_type(cuda) { TABLE.check(cuda, "types") }
}
