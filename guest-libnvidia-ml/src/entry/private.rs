//! What NVIDIA's own tools use and no header names.

use super::entries;
use crate::error::NvmlError;
use crate::state;
use crate::types::Out;
use guest_transport::log::say;

/// The table that nvidia-smi asks for first; without it it says that versions don't match, and
/// ends.
const NVIDIA_SMI: [u8; 16] = *b"\xc4\xfe\x3e\x6c\xc9\x8f\x6c\x4e\xa3\x27\xee\x69\x6e\x12\xf7\xc4";

/// A table without functions. The first word is a table's size in bytes, and its users look there
/// before they take a function from it: what is not in it they do without.
static EMPTY: usize = size_of::<usize>();

entries! {
    /// Tables of functions by UUID, as libcuda has them.
    fn nvmlInternalGetExportTable(table: Out<*const usize>, id: Out<[u8; 16]>) {
        state::check()?;
        let id = id.get()?;
        if id != NVIDIA_SMI {
            say!(Warn, "NVML: there is no private table {id:02x?}");
            table.set(std::ptr::null())?;
            return Err(NvmlError::NOT_FOUND);
        }
        table.set(&EMPTY)
    }
}
