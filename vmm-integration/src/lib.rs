//! Starts virtual machines with the device attached.
//!
//! `vcuda-run` starts a VM with one of three VMMs, runs one command in it, and exits with that
//! command's exit code. The same binary runs on the host and in the guest, where it is the
//! first process (or a helper that the guest's own init starts). The guest reports to the host
//! in [`frame`]s over a serial line.
//!
//! | module | purpose |
//! |---|---|
//! | [`options`] | the command line |
//! | [`plan`] | which kind of VM, with which files |
//! | [`uml`], [`qemu`], [`cloud_hypervisor`] | command lines of the three VMMs |
//! | [`files`] | where images/ caches what it builds |
//! | [`kvm`] | whether KVM can run a guest here |
//! | [`payload`], [`initramfs`], [`cpio`], [`tar`] | files copied to a guest that can't see the host's |
//! | [`vm`] | a running VM: its output and how it ends |
//! | [`folder`] | the run's temporary folder |
//! | [`device`] | a device process started for the VM |
//! | [`job`], [`guest`] | the guest side |

pub mod cloud_hypervisor;
pub mod cpio;
pub mod device;
pub mod error;
pub mod files;
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
