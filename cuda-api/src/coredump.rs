//! The attributes of GPU core dumps.
//!
//! Neither guest-libcuda nor softgpu can write a core dump: the state of a GPU after an exception
//! is not visible to them. The attributes are kept, so that programs that set them work.

use crate::args::Out;
use crate::error::{CuError, CuResult};
use crate::sys::{CUCoredumpGenerationFlags as Flags, CUcoredumpSettings as Attribute};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The size of a text attribute in bytes.
const TEXT_BYTES: usize = 1024;
const LIGHTWEIGHT: u32 = Flags::CU_COREDUMP_LIGHTWEIGHT_FLAGS.0;
/// All known flags.
const FLAGS: u32 = LIGHTWEIGHT | Flags::CU_COREDUMP_SKIP_ABORT.0;

/// The attributes that the program has set for one context, or for the process.
#[derive(Debug, Default)]
pub struct Settings(Mutex<BTreeMap<u32, Vec<u8>>>);

/// The attributes of the process, which contexts have unless they are set there.
pub static GLOBAL: Settings = Settings(Mutex::new(BTreeMap::new()));

/// Returns the size of an attribute's value in bytes.
fn size_of_value(attribute: Attribute) -> CuResult<usize> {
    match attribute {
        Attribute::CU_COREDUMP_ENABLE_ON_EXCEPTION
        | Attribute::CU_COREDUMP_TRIGGER_HOST
        | Attribute::CU_COREDUMP_LIGHTWEIGHT
        | Attribute::CU_COREDUMP_ENABLE_USER_TRIGGER => Ok(1),
        Attribute::CU_COREDUMP_FILE | Attribute::CU_COREDUMP_PIPE => Ok(TEXT_BYTES),
        Attribute::CU_COREDUMP_GENERATION_FLAGS => Ok(size_of::<u32>()),
        _ => Err(CuError::INVALID_VALUE),
    }
}

/// Returns whether an attribute applies only to the process.
fn is_global(attribute: Attribute) -> bool {
    let global = [Attribute::CU_COREDUMP_ENABLE_USER_TRIGGER, Attribute::CU_COREDUMP_PIPE];
    global.contains(&attribute)
}

/// Returns the value of an attribute that was never set.
fn default(attribute: Attribute) -> Vec<u8> {
    match attribute {
        Attribute::CU_COREDUMP_TRIGGER_HOST => vec![1],
        Attribute::CU_COREDUMP_FILE | Attribute::CU_COREDUMP_PIPE => vec![],
        Attribute::CU_COREDUMP_GENERATION_FLAGS => vec![0; size_of::<u32>()],
        _ => vec![0],
    }
}

fn flags_of(value: &[u8]) -> u32 {
    value.try_into().map_or(0, u32::from_ne_bytes)
}

impl Settings {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value of an attribute. `CU_COREDUMP_LIGHTWEIGHT` is set if all flags of a
    /// lightweight dump are.
    fn value(&self, attribute: Attribute) -> Vec<u8> {
        if attribute == Attribute::CU_COREDUMP_LIGHTWEIGHT {
            let flags = flags_of(&self.value(Attribute::CU_COREDUMP_GENERATION_FLAGS));
            return vec![u8::from(flags & LIGHTWEIGHT == LIGHTWEIGHT)];
        }
        let own = self.lock().get(&attribute.0).cloned();
        let of_process = || GLOBAL.lock().get(&attribute.0).cloned();
        own.or_else(of_process).unwrap_or_else(|| default(attribute))
    }

    fn set_value(&self, attribute: Attribute, value: &[u8]) -> CuResult {
        let mut value = value.to_vec();
        let mut attribute = attribute;
        match attribute {
            Attribute::CU_COREDUMP_LIGHTWEIGHT => {
                let flags = flags_of(&self.value(Attribute::CU_COREDUMP_GENERATION_FLAGS));
                let flags = if value[0] != 0 { flags | LIGHTWEIGHT } else { flags & !LIGHTWEIGHT };
                attribute = Attribute::CU_COREDUMP_GENERATION_FLAGS;
                value = flags.to_ne_bytes().to_vec();
            }
            Attribute::CU_COREDUMP_GENERATION_FLAGS if flags_of(&value) & !FLAGS != 0 => {
                return Err(CuError::INVALID_VALUE);
            }
            Attribute::CU_COREDUMP_FILE | Attribute::CU_COREDUMP_PIPE => {
                let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
                value.truncate(end.min(TEXT_BYTES - 1));
            }
            _ => {}
        }
        self.lock().insert(attribute.0, value);
        Ok(())
    }

    /// Implements `cuCoredumpGetAttribute` for a context, and `cuCoredumpGetAttributeGlobal` for
    /// [`GLOBAL`].
    ///
    /// # Safety
    ///
    /// There must be as many bytes at `to` as `size` says.
    pub unsafe fn get(&self, attribute: Attribute, to: Out<c_void>, size: Out<usize>) -> CuResult {
        let expected = size_of_value(attribute)?;
        self.check(attribute)?;
        if !to.is_wanted() {
            return size.set(expected);
        }
        // The buffer for a text attribute may be shorter than the longest possible text.
        let (room, text) = (size.read()?, expected == TEXT_BYTES);
        let mut value = self.value(attribute);
        if text {
            value.push(0);
        }
        if text && room < value.len() || !text && room != expected {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the caller promises that there are this many bytes.
        unsafe { to.cast::<u8>().array(room) }.set_all(value)
    }

    /// Implements `cuCoredumpSetAttribute` for a context, and `cuCoredumpSetAttributeGlobal` for
    /// [`GLOBAL`].
    ///
    /// # Safety
    ///
    /// There must be as many bytes at `from` as `size` says.
    pub unsafe fn set(
        &self,
        attribute: Attribute,
        from: Out<c_void>,
        size: Out<usize>,
    ) -> CuResult {
        let expected = size_of_value(attribute)?;
        self.check(attribute)?;
        if !from.is_wanted() {
            return size.set(expected);
        }
        let len = size.read()?;
        let fits = if expected == TEXT_BYTES { 1..=TEXT_BYTES } else { expected..=expected };
        if !fits.contains(&len) {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the caller promises that there are this many bytes.
        self.set_value(attribute, &unsafe { from.cast::<u8>().as_input().array(len) }.to_vec()?)
    }

    /// Fails if a context can't have the attribute.
    fn check(&self, attribute: Attribute) -> CuResult {
        let of_process = std::ptr::eq(self, &GLOBAL);
        if is_global(attribute) && !of_process { Err(CuError::INVALID_VALUE) } else { Ok(()) }
    }
}

/// Exports the entry points of this module. The arguments are the library's
/// [`EntryPoint`](crate::entries::EntryPoint), a function that fails unless the library is
/// initialized, and a function that passes the current context's [`Settings`] to a closure.
#[macro_export]
macro_rules! coredump_entries {
    ($entry_point:ty, $initialized:path, $with_current:path) => {
        $crate::entries! { $entry_point;
            fn cuCoredumpGetAttribute(
                attribute: $crate::sys::CUcoredumpSettings,
                to: $crate::args::Out<::std::ffi::c_void>, size: $crate::args::Out<usize>,
            ) {
                // SAFETY: the program passes a buffer of `size` bytes.
                $with_current(|settings| unsafe { settings.get(attribute, to, size) })
            }
            fn cuCoredumpGetAttributeGlobal(
                attribute: $crate::sys::CUcoredumpSettings,
                to: $crate::args::Out<::std::ffi::c_void>, size: $crate::args::Out<usize>,
            ) {
                $initialized()?;
                // SAFETY: the program passes a buffer of `size` bytes.
                unsafe { $crate::coredump::GLOBAL.get(attribute, to, size) }
            }
            fn cuCoredumpSetAttribute(
                attribute: $crate::sys::CUcoredumpSettings,
                from: $crate::args::Out<::std::ffi::c_void>, size: $crate::args::Out<usize>,
            ) {
                // SAFETY: the program passes a buffer of `size` bytes.
                $with_current(|settings| unsafe { settings.set(attribute, from, size) })
            }
            fn cuCoredumpSetAttributeGlobal(
                attribute: $crate::sys::CUcoredumpSettings,
                from: $crate::args::Out<::std::ffi::c_void>, size: $crate::args::Out<usize>,
            ) {
                $initialized()?;
                // SAFETY: the program passes a buffer of `size` bytes.
                unsafe { $crate::coredump::GLOBAL.set(attribute, from, size) }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lightweight_dump_is_a_combination_of_flags() {
        let settings = Settings::default();
        settings.set_value(Attribute::CU_COREDUMP_LIGHTWEIGHT, &[1]).unwrap();
        let flags = flags_of(&settings.value(Attribute::CU_COREDUMP_GENERATION_FLAGS));
        assert_eq!(flags, LIGHTWEIGHT);
        settings.set_value(Attribute::CU_COREDUMP_GENERATION_FLAGS, &[1, 0, 0, 0]).unwrap();
        assert_eq!(settings.value(Attribute::CU_COREDUMP_LIGHTWEIGHT), [0]);
        let unknown = settings.set_value(Attribute::CU_COREDUMP_GENERATION_FLAGS, &[0, 1, 0, 0]);
        assert_eq!(unknown, Err(CuError::INVALID_VALUE));
    }

    #[test]
    fn a_context_has_the_values_of_the_process_until_it_gets_its_own() {
        let (first, second) = (Settings::default(), Settings::default());
        let file = Attribute::CU_COREDUMP_FILE;
        GLOBAL.set_value(file, b"global\0").unwrap();
        first.set_value(file, b"own\0").unwrap();
        assert_eq!((first.value(file), second.value(file)), (b"own".to_vec(), b"global".to_vec()));
        assert_eq!(second.value(Attribute::CU_COREDUMP_TRIGGER_HOST), [1]);
    }
}
