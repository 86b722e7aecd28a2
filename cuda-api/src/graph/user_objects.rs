//! User objects: resources of a program whose destructor runs when the last reference is released.
//! Programs, graphs, and executable graphs hold references.

use super::host_call::HostCall;
use crate::error::{CuError, CuResult};
use std::collections::{BTreeMap, HashMap};

const INVALID: CuError = CuError::INVALID_VALUE;

/// A user object's handle.
pub type UserId = usize;
/// The number of references to each user object that a graph holds.
pub type References = BTreeMap<UserId, u64>;

struct UserObject {
    destructor: HostCall,
    references: u64,
}

/// All user objects of a process.
#[derive(Default)]
pub struct UserObjects {
    objects: HashMap<UserId, UserObject>,
    /// The destructors that must be called once the table of graphs is unlocked.
    due: Vec<HostCall>,
}

impl UserObjects {
    pub(super) fn create(&mut self, id: UserId, destructor: HostCall, references: u64) {
        self.objects.insert(id, UserObject { destructor, references });
    }

    pub(super) fn retain(&mut self, id: UserId, count: u64) -> CuResult {
        let object = self.objects.get_mut(&id).ok_or(INVALID)?;
        object.references = object.references.checked_add(count).ok_or(INVALID)?;
        Ok(())
    }

    /// Fails unless the object has at least this many references.
    pub(super) fn check(&self, id: UserId, count: u64) -> CuResult {
        let object = self.objects.get(&id).ok_or(INVALID)?;
        if object.references >= count { Ok(()) } else { Err(INVALID) }
    }

    pub(super) fn release(&mut self, id: UserId, count: u64) -> CuResult {
        let object = self.objects.get_mut(&id).ok_or(INVALID)?;
        object.references = object.references.checked_sub(count).ok_or(INVALID)?;
        if object.references == 0
            && let Some(object) = self.objects.remove(&id)
        {
            self.due.push(object.destructor);
        }
        Ok(())
    }

    /// Adds a reference for each reference in the list.
    pub(super) fn retain_all(&mut self, references: &References) {
        for (id, count) in references {
            // Ignore errors: the owner of the list holds references, so the object exists.
            let _ = self.retain(*id, *count);
        }
    }

    /// Releases all references in the list.
    pub(super) fn release_all(&mut self, references: &References) {
        for (id, count) in references {
            let _ = self.release(*id, *count);
        }
    }

    /// Removes and returns the destructors to call.
    pub(super) fn take_due(&mut self) -> Vec<HostCall> {
        std::mem::take(&mut self.due)
    }
}
