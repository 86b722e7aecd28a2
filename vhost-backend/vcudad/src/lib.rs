//! vcudad, the broker. It starts and reaps device processes and workers, and keeps the ledger. It
//! doesn't access guest memory, and isn't linked against CUDA.
//!
//! | module | contents |
//! |---|---|
//! | `run` | the broker from its start to its end |
//! | `validate`, `check`, `running` | the checks of a configuration; checking one without serving it; asking a vcudad that is running |
//! | `chosen`, `last_good` | the configuration to start with: the file, or the last one that was applied |
//! | `service` | the coordinator: it composes the parts and dispatches events to them |
//! | `watches`, `timer` | the event loop's descriptors |
//! | `roster`, `state`, `saver` | the configured VMs, with run-time changes; the file that saves the changes, and its thread |
//! | `changes` | run-time changes that are being saved, or wait for that |
//! | `reread`, `reload`, `differences` | reading the configuration file again; what that changes |
//! | `start` | creating new VMs, at the broker's start and at run time |
//! | `vms`, `device` | the VMs, and each one's device process |
//! | `resources`, `socket`, `cgroup` | what the spawner creates for a VM; sockets; limits of cgroups |
//! | `sessions` | all sessions, from their start to the end of their worker |
//! | `accounts` | the ledger, and the pages on which workers see its state |
//! | `session`, `worker`, `cause` | a session and the start queue; workers and the warm pool; why sessions end |
//! | `refusals` | sessions and front ends that were refused |
//! | `privileges`, `spawner` | dropping root's privileges; the process that keeps them |
//! | `process`, `launcher` | child processes; starting device processes and workers |
//! | `supervisor`, `devices` | the supervisor of workers; the device files of GPUs |
//! | `output` | the output of child processes |
//! | `gpus`, `faults`, `driver`, `nvidia` | the GPUs and their faults; the driver library, and whether it's NVIDIA's |
//! | `handover`, `kept_fd` | another vcudad that takes this one's place; the descriptors that it inherits |
//! | `placement` | which GPUs a VM gets |
//! | `compute`, `scheduler` | the scheduler's thread; the scheduler by the broker's ids |
//! | `mps`, `mps_group`, `fair_share` | clients of MPS; VMs that are one to the scheduler; promised shares |
//! | `nvml`, `audit`, `comparison`, `leftovers`, `time_account` | NVML; the comparison of its samples with the ledger and the scheduler; ended workers that the driver still reports |
//! | `reports`, `activity`, `guest_facts` | reports for operators, and for a VM's guest |
//! | `event`, `rate` | events for operators; rate limits |

mod accounts;
mod activity;
mod audit;
mod budgets;
mod cause;
mod cgroup;
mod changes;
mod check;
mod chosen;
mod comparison;
mod compute;
pub mod config;
mod crash;
mod device;
mod devices;
mod differences;
mod driver;
mod error;
mod event;
mod eviction;
mod fair_share;
mod faults;
mod gpus;
mod guest_facts;
pub mod handover;
mod journal;
mod kept_fd;
mod last_good;
mod launcher;
mod leftovers;
mod mps;
mod mps_group;
mod nvidia;
mod nvml;
mod output;
mod pause;
mod placement;
mod privileges;
mod process;
mod rate;
mod record;
mod refusals;
mod reload;
mod reports;
mod reread;
mod resources;
mod roster;
mod run;
mod running;
mod saver;
mod scheduler;
mod service;
mod session;
mod sessions;
mod socket;
mod spawner;
mod start;
mod state;
mod supervisor;
mod time_account;
mod timer;
mod touched;
mod validate;
mod vms;
mod watches;
mod worker;

pub use check::check;
pub use error::BrokerError;
pub use reread::Reader;
pub use run::{Origin, run, run_one};
pub use state::StateError;
