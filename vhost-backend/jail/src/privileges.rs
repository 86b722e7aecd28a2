//! Resource limits and capabilities.

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities,
};

/// The capabilities of a process that doesn't have a VM yet, so that it can switch to the VM's user
/// later.
const KEPT: CapabilitySet = CapabilitySet::SETUID.union(CapabilitySet::SETGID);

/// Sets the limits that no honest process of a VM reaches: no core dumps, which would contain guest
/// data, and no POSIX message queues, which outlive their process.
pub fn limit() -> io::Result<()> {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none)?;
    // SAFETY: the pointer is to a local variable.
    let done = unsafe {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_MSGQUEUE, &none)
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Drops all capabilities except those that a process needs to switch to another user, permanently.
/// Must be called by root while the process has a single thread.
pub fn keep_only_switching_users() -> io::Result<()> {
    for (_, capability) in CapabilitySet::all().difference(KEPT).iter_names() {
        match remove_capability_from_bounding_set(capability) {
            // This kernel is older than the capability.
            Err(rustix::io::Errno::INVAL) => {}
            done => done?,
        }
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: KEPT, permitted: KEPT, inheritable: none };
    Ok(set_capabilities(None, sets)?)
}
