//! Starting virtual machines with the device attached.
//!
//! `vcuda-run` starts a virtual machine of one of three kinds, gives it one command to run,
//! and ends as that command ended. The same binary is the host's program and, inside the
//! guest, the first process (or a helper of the guest's own first process): host and guest
//! talk in [`frame`]s over a serial line.
//!
//! | module | what |
//! |---|---|
//! | [`options`] | the command line |
//! | [`plan`] | which kind of VM, with which files |
//! | [`uml`], [`qemu`], [`cloud_hypervisor`] | command lines of the three VMMs |
//! | [`kvm`] | whether KVM really runs a guest here |
//! | [`payload`], [`initramfs`], [`cpio`], [`tar`] | what is brought to a guest that does not see our files |
//! | [`vm`] | a running VM: its output, its end |
//! | [`folder`] | the run's own files |
//! | [`device`] | a device process started for the VM |
//! | [`job`], [`guest`] | the guest's half |

pub mod cloud_hypervisor;
pub mod cpio;
pub mod device;
pub mod error;
pub mod folder;
pub mod frame;
pub mod guest;
pub mod initramfs;
pub mod job;
pub mod kvm;
pub mod options;
pub mod payload;
pub mod plan;
pub mod process;
pub mod qemu;
pub mod tar;
pub mod uml;
pub mod vm;

pub use error::RunError;
