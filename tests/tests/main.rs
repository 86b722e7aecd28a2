//! The end-to-end tests, in one program, because linking a program for each file would take longer.
//! The program's name is unique, so `cargo test --test proofs` needs no `--package`, with which
//! Cargo would select other features, and so compile most dependencies again.

mod arguments;
mod bench;
mod control;
mod credit;
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
