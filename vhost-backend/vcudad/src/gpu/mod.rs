//! GPUs, the scheduler, and the comparison with what NVML reports.
//!
//! | module | contents |
//! |---|---|
//! | `devices` | the device files of GPUs |
//! | `gpus`, `faults`, `driver`, `nvidia` | the GPUs and their faults; the driver library, and whether it's NVIDIA's |
//! | `compute`, `scheduler` | the scheduler thread; its interface with the broker's ids |
//! | `mps`, `mps_group`, `fair_share` | clients of MPS; VMs that the scheduler treats as one; promised shares |
//! | `nvml`, `audit`, `comparison`, `leftovers`, `time_account` | NVML; the comparison of its samples with the ledger and the scheduler; ended workers that the driver still reports |

pub(crate) mod audit;
pub(crate) mod comparison;
pub(crate) mod compute;
pub(crate) mod devices;
pub(crate) mod driver;
pub(crate) mod eviction;
pub(crate) mod fair_share;
pub(crate) mod faults;
pub(crate) mod gpus;
pub(crate) mod leftovers;
pub(crate) mod mps;
pub(crate) mod mps_group;
pub(crate) mod nvidia;
pub(crate) mod nvml;
pub(crate) mod scheduler;
pub(crate) mod time_account;
