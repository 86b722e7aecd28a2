//! What NVIDIA's own tools use and no header names.

use super::entries;
use crate::error::NvmlError;
use crate::types::Out;
use guest_transport::log::say;

entries! {
    /// Tables of functions by UUID, as libcuda has them. There are none; the log says which one
    /// was asked for.
    fn nvmlInternalGetExportTable(table: Out<usize>, id: Out<[u8; 16]>) {
        let id = id.get()?;
        say!(Warn, "NVML: there is no private table {id:02x?}");
        table.set(0)?;
        Err(NvmlError::NOT_FOUND)
    }
}
