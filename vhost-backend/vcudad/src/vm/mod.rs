//! VMs and their device processes.
//!
//! | module | contents |
//! |---|---|
//! | `start` | creating new VMs, at the broker's start and at run time |
//! | `vms`, `device` | the VMs, and each one's device process |
//! | `resources`, `socket`, `cgroup` | what the spawner creates for a VM; sockets; limits of cgroups |
//! | `placement` | which GPUs a VM gets |
//! | `pause`, `swap` | whether the VM is paused; whether its memory is on its GPUs |
//! | `host_memory` | how much more host memory a VM's processes can use |
//! | `front_ends` | how many front ends are connected |
//! | `guest_facts` | reports for a VM's guest |

pub(crate) mod cgroup;
pub(crate) mod device;
mod front_ends;
pub(crate) mod guest_facts;
pub(crate) mod host_memory;
pub(crate) mod pause;
pub(crate) mod placement;
pub(crate) mod resources;
pub(crate) mod socket;
pub(crate) mod start;
pub(crate) mod swap;
pub(crate) mod touched;
pub(crate) mod vms;
