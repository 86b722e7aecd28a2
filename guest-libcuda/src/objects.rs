//! What the guest knows of streams, events, modules and kernels: enough to answer by itself what
//! can't change.

use crate::context::Context;
use parking_lot::Mutex;
use protocol::limits::PARAMETER_BYTES_MAX;
use std::collections::HashMap;
use std::sync::OnceLock;

/// A stream that the program created.
pub struct Stream {
    pub id: u64,
    pub flags: u32,
    pub priority: i32,
    pub context: &'static Context,
}

/// An event.
pub struct Event {
    pub id: u64,
    pub flags: u32,
}

/// Names of functions and their handles, so that a name gives the same handle again.
pub type ByName = Mutex<HashMap<Vec<u8>, usize>>;

/// A module.
pub struct Module {
    pub id: u64,
    pub functions: ByName,
    /// The library it is a part of: then its end is not the program's business.
    pub library: Option<usize>,
    /// Addresses of its globals, to be forgotten with it.
    pub globals: Mutex<Vec<u64>>,
}

/// A library.
pub struct Library {
    pub id: u64,
    pub kernels: ByName,
    /// Its modules by context.
    pub modules: Mutex<HashMap<u64, usize>>,
    pub globals: Mutex<Vec<u64>>,
}

/// Where a function came from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Handle of its module.
    Module(usize),
    /// Handle of its library: it is a kernel.
    Library(usize),
}

/// One parameter of a kernel: where it lies in the parameter buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub offset: usize,
    pub size: usize,
}

/// A function of a module, or a kernel of a library.
pub struct Function {
    pub id: u64,
    pub name: std::ffi::CString,
    pub origin: Origin,
    pub parameters: Vec<Parameter>,
    /// Bytes of the parameter buffer.
    pub parameter_bytes: usize,
    /// Answers that stay the same until somebody sets an attribute.
    pub attributes: Mutex<HashMap<u32, i32>>,
    /// CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, asked for at the first launch.
    pub max_threads: OnceLock<u32>,
    /// Occupancy by block size, shared memory and flags.
    pub occupancy: Mutex<HashMap<(i32, usize, u32), i32>>,
}

impl Function {
    /// What the worker says of a kernel's parameters: pairs of offset and size.
    pub fn parse_layout(bytes: &[u8]) -> Option<(Vec<Parameter>, usize)> {
        let (words, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() || words.len() % 2 != 0 {
            return None;
        }
        let mut end = 0;
        let mut parameters = Vec::with_capacity(words.len() / 2);
        for pair in words.as_chunks::<2>().0 {
            let offset = usize::try_from(u64::from_le_bytes(pair[0])).ok()?;
            let size = usize::try_from(u64::from_le_bytes(pair[1])).ok()?;
            let parameter_end = offset.checked_add(size)?;
            if parameter_end > PARAMETER_BYTES_MAX {
                return None;
            }
            end = end.max(parameter_end);
            parameters.push(Parameter { offset, size });
        }
        Some((parameters, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_parsed_and_impossible_ones_refused() {
        let layout = |words: &[u64]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>();
        let (parameters, end) = Function::parse_layout(&layout(&[0, 8, 8, 4, 16, 24])).unwrap();
        assert_eq!(parameters[2], Parameter { offset: 16, size: 24 });
        assert_eq!(end, 40);
        assert_eq!(Function::parse_layout(&[]), Some((vec![], 0)));
        for bad in [&[0u64][..], &[u64::MAX, 8], &[1 << 20, 8]] {
            assert_eq!(Function::parse_layout(&layout(bad)), None);
        }
        assert_eq!(Function::parse_layout(&[0; 12]), None);
    }
}
