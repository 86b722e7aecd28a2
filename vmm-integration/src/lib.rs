//! Starts virtual machines with the device attached.
//!
//! `vcuda-run` starts a VM, runs one command in it, and exits with that command's exit code. It
//! supports QEMU and user-mode Linux; for cloud-hypervisor, it prints the command line. The same
//! binary runs on the host and in the guest, where it's the first process or is started by the
//! guest's own init. The guest side reports to the host over a serial line, in [`frame`]s.
//!
//! | module | purpose |
//! |---|---|
//! | [`options`] | command-line options |
//! | [`plan`] | chooses the kind of VM and prepares its files |
//! | [`uml`], [`qemu`], [`cloud_hypervisor`] | command lines of the three VMMs |
//! | [`files`] | finds files given by options or cached by images/ |
//! | [`kvm`] | checks whether KVM can run a guest on this host |
//! | [`payload`], [`initramfs`], [`cpio`], [`tar`] | files for a guest that can't see the host's file system |
//! | [`vm`] | runs a VM and relays its output |
//! | [`process`] | child processes and signals |
//! | [`folder`] | the run's temporary directory |
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
