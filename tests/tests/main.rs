//! The proofs, in one program: linking one for each file takes longer, and with a name of its own,
//! Cargo needs no `--package`, with which it would select other features and so compile most
//! dependencies again.

mod arguments;
mod control;
mod device_restart;
mod gpu_faults;
mod guest_driver;
mod host_limits;
mod hostile;
mod isolation;
mod nvml;
mod quota;
mod restart;
mod round_trips;
mod scheduling;
mod share_test;
mod shares;
mod sharing;
mod sudden_ends;
mod upgrade;
mod usage;
mod waiting;
mod without_vm;
