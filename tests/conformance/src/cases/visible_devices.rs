//! The values of CUDA_VISIBLE_DEVICES: the table in `src/visible_devices/native.csv`.

use super::cases;
use crate::visible_devices::check;

cases! {
    fn values(cuda) { check(cuda) }
}
