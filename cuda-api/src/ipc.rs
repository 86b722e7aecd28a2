//! Memory of other processes that this process has opened. A program may open the same memory
//! several times in a context; each time, it gets the same address. It must close the memory as
//! often as it opened it.

use std::collections::HashMap;
use std::ffi::c_char;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{CuError, CuResult};
use crate::sys::{CUipcEventHandle, CUipcMemHandle};

/// The bytes of a `CUipcMemHandle` or `CUipcEventHandle`.
pub type HandleBytes = [u8; 64];

/// Converts between a handle's C structure and its bytes.
macro_rules! conversions {
    ($($handle:ident),*) => {$(
        impl From<HandleBytes> for $handle {
            fn from(bytes: HandleBytes) -> Self {
                Self { reserved: bytes.map(|byte| byte as c_char) }
            }
        }

        impl From<$handle> for HandleBytes {
            fn from(handle: $handle) -> Self {
                handle.reserved.map(|byte| byte as u8)
            }
        }
    )*};
}

conversions!(CUipcMemHandle, CUipcEventHandle);

/// The handle of opened memory, and the id of the context in which it was opened.
type Key = (HandleBytes, u64);

struct Opened {
    address: u64,
    times: u32,
}

/// The version of `cuIpcOpenMemHandle`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// The first version, which fails if the memory is already open in the context.
    First,
    Second,
}

/// The memory of other processes that this process has opened.
#[derive(Default)]
pub struct Imports {
    opened: Mutex<HashMap<Key, Opened>>,
}

impl Imports {
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Opened>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens memory in a context, and returns its address. `open` maps the memory, and is called if
    /// the memory isn't mapped in the context yet. If the memory is mapped already,
    /// [`Version::First`] fails. `is_open` returns whether the memory at an address is still
    /// mapped, which ends when its context is destroyed.
    pub fn open(
        &self,
        version: Version,
        handle: HandleBytes,
        context: u64,
        is_open: impl Fn(u64) -> bool,
        open: impl FnOnce() -> CuResult<u64>,
    ) -> CuResult<u64> {
        // The lock is held while the memory is being mapped, so that it isn't mapped twice.
        let mut all = self.lock();
        all.retain(|_, opened| is_open(opened.address));
        if let Some(opened) = all.get_mut(&(handle, context)) {
            if version == Version::First {
                return Err(CuError::ALREADY_MAPPED);
            }
            opened.times += 1;
            return Ok(opened.address);
        }
        let address = open()?;
        all.insert((handle, context), Opened { address, times: 1 });
        Ok(address)
    }

    /// Closes memory once. `close` unmaps it when it has been closed as often as it was opened.
    pub fn close(&self, address: u64, close: impl FnOnce() -> CuResult) -> CuResult {
        let mut all = self.lock();
        let found = all.iter_mut().find(|(_, opened)| opened.address == address);
        let (key, opened) = found.ok_or(CuError::INVALID_VALUE)?;
        if opened.times > 1 {
            opened.times -= 1;
            return Ok(());
        }
        let key = *key;
        close()?;
        all.remove(&key);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_mapped_once_per_context_until_it_is_closed_as_often_as_opened() {
        let imports = Imports::default();
        let (a, b) = ([1; 64], [2; 64]);
        let open = |handle, context, address| {
            imports.open(Version::Second, handle, context, |_| true, || Ok(address)).unwrap()
        };
        assert_eq!(open(a, 1, 0x1000), 0x1000);
        assert_eq!(open(a, 1, 0x2000), 0x1000);
        let first = imports.open(Version::First, a, 1, |_| true, || panic!("is open"));
        assert_eq!(first, Err(CuError::ALREADY_MAPPED));
        assert_eq!(open(a, 2, 0x3000), 0x3000);
        assert_eq!(open(b, 1, 0x4000), 0x4000);
        assert_eq!(imports.close(0x5000, || Ok(())), Err(CuError::INVALID_VALUE));
        assert_eq!(imports.close(0x1000, || panic!("is still open")), Ok(()));
        assert_eq!(imports.close(0x1000, || Ok(())), Ok(()));
        assert_eq!(imports.close(0x1000, || Ok(())), Err(CuError::INVALID_VALUE));
        assert_eq!(open(a, 1, 0x6000), 0x6000);
        // If `is_open` returns false, the contexts have been destroyed, so the memory is mapped
        // again.
        assert_eq!(imports.open(Version::First, a, 2, |_| false, || Ok(0x7000)), Ok(0x7000));
        assert_eq!(imports.close(0x6000, || Ok(())), Err(CuError::INVALID_VALUE));
    }
}
