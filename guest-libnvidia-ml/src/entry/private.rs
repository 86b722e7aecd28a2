//! What NVIDIA's own tools use and no header names.
//!
//! nvidia-smi asks for one table of functions and ends without it. It takes a function only after
//! it has compared the function's place with the table's size and found something there, so that
//! a table with few functions serves: all that nvidia-smi does with the others it does without.
//! It lists processes through the three functions that stand here (seen in 535.309 and 550.163).

use super::processes::{name, new, none, of, tell};
use super::{entries, run};
use crate::error::{NvmlError, NvmlReturn};
use crate::state::{self, Handle};
use crate::types::{Out, ProcessInfo};
use guest_transport::log::say;
use protocol::uapi::Process;

/// The table's id.
const NVIDIA_SMI: [u8; 16] = *b"\xc4\xfe\x3e\x6c\xc9\x8f\x6c\x4e\xa3\x27\xee\x69\x6e\x12\xf7\xc4";
/// Places of its functions, in words: processes that compute, draw, and share a context by MPS.
const COMPUTE: usize = 0x6a8 / 8;
const GRAPHICS: usize = 0x6b0 / 8;
const MPS: usize = 0x6b8 / 8;
const WORDS: usize = MPS + 1;

/// A process and its name.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LongProcess {
    info: ProcessInfo,
    /// Memory that confidential computing protects: none.
    protected: u64,
    /// Ended by a zero byte. A process without a name is not shown.
    name: [u8; 4096],
}

const _: () = assert!(size_of::<LongProcess>() == 4128);

/// One word of the table: the first is its size in bytes.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "read by nvidia-smi alone")]
pub union Word {
    number: usize,
    list: extern "C" fn(Handle, Out<u32>, Out<LongProcess>) -> NvmlReturn,
}

static TABLE: [Word; WORDS] = {
    let mut table = [Word { number: 0 }; WORDS];
    table[0] = Word { number: size_of::<[Word; WORDS]>() };
    table[COMPUTE] = Word { list: compute };
    table[GRAPHICS] = Word { list: others };
    table[MPS] = Word { list: others };
    table
};

extern "C" fn compute(device: Handle, count: Out<u32>, infos: Out<LongProcess>) -> NvmlReturn {
    let long = |process: &Process| {
        // One of another container, or that has just ended.
        let text = name(process.pid).unwrap_or_else(|| "-".into());
        let mut name = [0; 4096];
        let len = text.len().min(name.len() - 1);
        name[..len].copy_from_slice(&text.as_bytes()[..len]);
        LongProcess { info: new(process), protected: 0, name }
    };
    run("the private list of processes", || tell(of(device)?, count, infos, long))
}

extern "C" fn others(device: Handle, count: Out<u32>, _infos: Out<LongProcess>) -> NvmlReturn {
    run("the private list of other processes", || none(device, count))
}

entries! {
    /// Tables of functions by UUID, as libcuda has them.
    fn nvmlInternalGetExportTable(table: Out<*const Word>, id: Out<[u8; 16]>) {
        state::check()?;
        let id = id.get()?;
        if id != NVIDIA_SMI {
            say!(Warn, "NVML: there is no private table {id:02x?}");
            table.set(std::ptr::null())?;
            return Err(NvmlError::NOT_FOUND);
        }
        table.set(TABLE.as_ptr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_begins_with_its_size_and_ends_with_its_last_list() {
        // SAFETY: words are read as what the table's definition put there.
        unsafe {
            assert_eq!(TABLE[0].number, 0x6c0);
            let lists = [COMPUTE, GRAPHICS, MPS];
            for (place, word) in TABLE.iter().enumerate().skip(1) {
                assert_eq!(word.number != 0, lists.contains(&place), "{:#x}", 8 * place);
            }
        }
    }
}
