//! Resource limits and capabilities.

use std::io;

use rustix::process::{Gid, Resource, Rlimit, Uid, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities,
    set_keep_capabilities, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

/// The capabilities that a process without a VM keeps, so that it can later switch to its VM's
/// user.
const KEPT: CapabilitySet = CapabilitySet::SETUID.union(CapabilitySet::SETGID);

/// Sets resource limits that an uncompromised process of a VM never reaches. They forbid core
/// dumps, because these would contain guest data; POSIX message queues, because these outlive their
/// process; and raising the process's priority.
pub fn limit() -> io::Result<()> {
    for resource in [Resource::Core, Resource::Nice, Resource::Rtprio] {
        setrlimit(resource, Rlimit { current: Some(0), maximum: Some(0) })?;
    }
    // SAFETY: the pointer is to a local variable, which the kernel only reads.
    let done = unsafe {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_MSGQUEUE, &none)
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Drops all capabilities except those that a process needs to switch to another user, permanently.
/// Must be called by root while the process has a single thread.
pub fn keep_only_switching_users() -> io::Result<()> {
    remove_from_bounding_set_except(KEPT)?;
    set(KEPT)
}

/// The user ID of a process that inspects other processes: nobody, who owns no files.
const NOBODY: u32 = 65534;

/// Switches to a user without files, and permanently drops all capabilities except CAP_SYS_PTRACE,
/// which permits reading and writing the memory of other users' processes. Must be called by root
/// while the process has a single thread.
pub fn keep_only_inspecting() -> io::Result<()> {
    remove_from_bounding_set_except(CapabilitySet::SYS_PTRACE)?;
    // Keep the capabilities until `set`. By default, switching from root to another user drops all
    // of them.
    set_keep_capabilities(true)?;
    set_thread_groups(&[])?;
    let group = Gid::from_raw(NOBODY);
    set_thread_res_gid(group, group, group)?;
    let user = Uid::from_raw(NOBODY);
    set_thread_res_uid(user, user, user)?;
    set(CapabilitySet::SYS_PTRACE)
}

fn remove_from_bounding_set_except(kept: CapabilitySet) -> io::Result<()> {
    for (_, capability) in CapabilitySet::all().difference(kept).iter_names() {
        match remove_capability_from_bounding_set(capability) {
            // The kernel doesn't know this capability, because the kernel is older.
            Err(rustix::io::Errno::INVAL) => {}
            done => done?,
        }
    }
    Ok(())
}

fn set(kept: CapabilitySet) -> io::Result<()> {
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: none };
    Ok(set_capabilities(None, sets)?)
}
