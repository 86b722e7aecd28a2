//! The end-to-end tests. They are modules of one program, because linking a program for each file
//! would take longer. The program has a unique name, so that `cargo test --test proofs` works
//! without `--package`. With `--package`, Cargo would select other features and compile most
//! dependencies again.

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
mod swapping;
mod upgrade;
mod usage;
mod waiting;
mod without_vm;
