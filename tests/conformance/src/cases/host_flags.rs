//! All values of the flags of host memory: the table in `src/host_flags/native.csv`.

use super::cases;
use crate::host_flags::TABLE;

cases! {
    fn allocate(cuda) { TABLE.check(cuda, "allocate") }
    fn register(cuda) { TABLE.check(cuda, "register") }
    fn register_with_the_first_version(cuda) { TABLE.check(cuda, "register-first") }
    fn register_memory_that_cannot_be_written(cuda) { TABLE.check(cuda, "register-read-only") }
}
