//! The attributes of pointers, for every kind of memory: the table in
//! `src/pointer_attributes/native.csv`.

use super::cases;
use crate::pointer_attributes::TABLE;

cases! {
    fn device(cuda) { TABLE.check(cuda, "device") }
    fn stream(cuda) { TABLE.check(cuda, "stream") }
    fn pool(cuda) { TABLE.check(cuda, "pool") }
    fn managed(cuda) { TABLE.check(cuda, "managed") }
    fn host(cuda) { TABLE.check(cuda, "host") }
    fn registered(cuda) { TABLE.check(cuda, "registered") }
    fn variable(cuda) { TABLE.check(cuda, "variable") }
    fn graph(cuda) { TABLE.check(cuda, "graph") }
    fn imported(cuda) { TABLE.check(cuda, "imported") }
    fn reserved(cuda) { TABLE.check(cuda, "reserved") }
    fn mapped(cuda) { TABLE.check(cuda, "mapped") }
    fn freed(cuda) { TABLE.check(cuda, "freed") }
    fn freed_host(cuda) { TABLE.check(cuda, "freed-host") }
    fn unregistered(cuda) { TABLE.check(cuda, "unregistered") }
    fn unknown(cuda) { TABLE.check(cuda, "unknown") }
    fn null(cuda) { TABLE.check(cuda, "null") }
}
