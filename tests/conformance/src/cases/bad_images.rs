//! Images that can't be loaded, and calls that load or link them: the table in
//! `src/bad_images/native.csv`.

use super::cases;
use crate::bad_images::TABLE;

cases! {
    fn ptx(cuda) { TABLE.check(cuda, "ptx") }
    fn cubin(cuda) { TABLE.check(cuda, "cubin") }
    fn fatbin(cuda) { TABLE.check(cuda, "fatbin") }
}
