//! The memory of managed variables. All contexts that use a library share its managed variables.
//! They exist even before there is a context.

use std::sync::Once;

use cuda_api::error::CuResult;

use super::memory;
use crate::ptx::source::{Bases, Source};

/// The managed variables of a module, or of all modules of a library.
pub(crate) struct ManagedVariables {
    /// The address of the first managed variable.
    base: u64,
    /// Completed when addresses of variables that aren't managed have been stored in the managed
    /// variables.
    linked: Once,
}

impl Drop for ManagedVariables {
    fn drop(&mut self) {
        memory::forget(self.base);
    }
}

impl ManagedVariables {
    /// Allocates the managed variables of a module and stores their initial values. Returns `None`
    /// if the module has no managed variables.
    pub(crate) fn new(source: &Source) -> CuResult<Option<Self>> {
        if source.managed_size == 0 {
            return Ok(None);
        }
        let base = memory::allocate_managed_variables(source.managed_size as u64)?;
        let bases = Bases { device: 0, managed: base };
        for (variable, at) in source.variables(bases).filter(|(v, _)| v.managed) {
            let initial = &variable.initial;
            // SAFETY: the variables are within the memory that was just allocated for them.
            unsafe {
                std::ptr::copy_nonoverlapping(initial.as_ptr(), at as *mut u8, initial.len());
            }
        }
        let made = Self { base, linked: Once::new() };
        made.store_words(source, bases, |_| true);
        Ok(Some(made))
    }

    /// Returns the address of the first managed variable.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Stores the addresses of variables that aren't managed in the managed variables that must
    /// contain them. These addresses are known only when the first module of a library is loaded.
    /// Does nothing for later modules.
    pub(crate) fn link(&self, source: &Source, bases: Bases) {
        let before = Bases { device: 0, ..bases };
        self.linked.call_once(|| {
            let unlinked: Vec<u64> = source.words(before).map(|word| word.value).collect();
            let mut unlinked = unlinked.into_iter();
            self.store_words(source, bases, |value| unlinked.next() != Some(value));
        });
    }

    /// Stores the addresses that managed variables contain initially. Calls `wanted` with the value
    /// of each word that contains an address, in order, and stores only the words for which it
    /// returns true.
    fn store_words(&self, source: &Source, bases: Bases, mut wanted: impl FnMut(u64) -> bool) {
        for word in source.words(bases) {
            if wanted(word.value) && word.managed {
                // SAFETY: the word is within a managed variable, whose memory is allocated as long
                // as `self` exists.
                unsafe { word.store() };
            }
        }
    }
}
