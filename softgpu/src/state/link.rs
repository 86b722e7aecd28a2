//! The state of a link: its inputs, and the image that results from them.

use std::sync::{Arc, Mutex, PoisonError};

use cuda_api::error::CuError;
use cuda_api::fatbin::ELF_MAGIC;
use cuda_api::sys::CUjitInputType as Input;

use super::device::capability;
use super::elf;
use super::image::{self, LoadError};
use crate::ptx::error::PtxError;
use crate::ptx::program::Program;
use crate::ptx::source::{self, Bases};
use crate::ptx::unit::Unit;

/// Maximum total size of the inputs of a link, in bytes.
const MAX_INPUT: usize = 512 << 20;

#[derive(Default)]
struct State {
    units: Vec<Unit>,
    /// For each unit, the name of the input that it comes from.
    names: Vec<String>,
    /// Total size of the PTX texts in the inputs, in bytes.
    bytes: usize,
    /// The linked image. The program may use it until it destroys the link.
    image: Option<Arc<Vec<u8>>>,
}

/// A link, to which a program adds inputs.
#[derive(Default)]
pub(crate) struct Link(Mutex<State>);

impl Link {
    /// Adds an input. Error messages refer to it by `name`.
    pub(crate) fn add(&self, kind: Input, bytes: &[u8], name: &str) -> Result<(), LoadError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.image.is_some() {
            return Err(LoadError::new(CuError::INVALID_VALUE, "the link is complete"));
        }
        let units = match kind {
            Input::CU_JIT_INPUT_PTX | Input::CU_JIT_INPUT_FATBINARY => image::units(bytes)?,
            Input::CU_JIT_INPUT_CUBIN => image::units(bytes).map_err(|error| {
                // As in NVIDIA's driver, a damaged ELF file causes the same error as a file for
                // another device.
                match error.code == CuError::INVALID_IMAGE && bytes.starts_with(&ELF_MAGIC) {
                    true => LoadError { code: CuError::NO_BINARY_FOR_GPU, ..error },
                    false => error,
                }
            })?,
            Input::CU_JIT_INPUT_OBJECT => image::object_units(bytes)?,
            Input::CU_JIT_INPUT_LIBRARY => image::library_units(bytes)?,
            other => {
                let text = format!("inputs of type {} are not supported", other.0);
                return Err(LoadError::new(CuError::INVALID_VALUE, text));
            }
        };
        let more: usize = units.iter().map(|unit| unit.text.len()).sum();
        if state.bytes + more > MAX_INPUT {
            return Err(LoadError::new(CuError::OUT_OF_MEMORY, "the inputs are too large"));
        }
        for unit in units {
            // Check the code now, so that errors are reported for the input that contains them.
            // Symbols that other inputs define aren't known yet.
            let source = Arc::new(source::alone(unit)?);
            Program::new(source.clone(), Bases::default()).check()?;
            state.units.extend(Arc::into_inner(source).into_iter().flat_map(|s| s.units));
            let count = state.units.len();
            state.names.resize(count, name.to_owned());
        }
        state.bytes += more;
        Ok(())
    }

    /// Links the inputs, and returns the image.
    pub(crate) fn complete(&self) -> Result<Arc<Vec<u8>>, LoadError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(image) = &state.image {
            return Ok(image.clone());
        }
        let units = std::mem::take(&mut state.units);
        let linked = source::link(units).and_then(|source| {
            let source = Arc::new(source);
            Program::new(source.clone(), Bases::default()).check()?;
            Ok(source)
        });
        let source = linked.map_err(|error| match &error {
            // Use the message of NVIDIA's linker, because some programs parse it.
            PtxError::Undefined { symbol, unit } => match state.names.get(*unit as usize) {
                Some(name) => LoadError::new(
                    CuError::INVALID_PTX,
                    format!("error   : Undefined reference to '{symbol}' in '{name}'"),
                ),
                None => error.into(),
            },
            _ => error.into(),
        })?;
        let image = Arc::new(elf::image(&source, capability()));
        state.image = Some(image.clone());
        Ok(image)
    }
}
