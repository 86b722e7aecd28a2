//! Calls with null pointers and unknown flags, for every entry point: the table in
//! `src/arguments/native.csv`.

use super::cases;
use crate::arguments::TABLE;

cases! {
    fn graphics(cuda) { TABLE.check(cuda, "graphics") }
    fn graph_exec(cuda) { TABLE.check(cuda, "graph-exec") }
    fn graph_add(cuda) { TABLE.check(cuda, "graph-add") }
    fn graph(cuda) { TABLE.check(cuda, "graph") }
    fn copy(cuda) { TABLE.check(cuda, "copy") }
    fn fill(cuda) { TABLE.check(cuda, "fill") }
    fn pool(cuda) { TABLE.check(cuda, "pool") }
    fn memory(cuda) { TABLE.check(cuda, "memory") }
    fn image(cuda) { TABLE.check(cuda, "image") }
    fn stream(cuda) { TABLE.check(cuda, "stream") }
    fn launch(cuda) { TABLE.check(cuda, "launch") }
    fn code(cuda) { TABLE.check(cuda, "code") }
    fn context(cuda) { TABLE.check(cuda, "context") }
    fn device(cuda) { TABLE.check(cuda, "device") }
    fn other(cuda) { TABLE.check(cuda, "other") }
}
