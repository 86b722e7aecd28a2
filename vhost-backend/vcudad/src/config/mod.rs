//! The configuration: a TOML file, or command-line arguments for one VM. See
//! `docs/configuration.md`.
//!
//! | module | contents |
//! |---|---|
//! | `host` | the whole configuration |
//! | `file` | the configuration file |
//! | `lines` | the lines of keys in that file |
//! | `settings` | the settings of VMs in that file |
//! | `args` | command-line arguments |
//! | `vm`, `vm_set` | one VM's settings; what no two VMs may share |
//! | `users` | choosing a user ID for each VM |
//! | `library`, `policy` | the driver library; settings for all VMs together |
//! | `ratio` | overcommit ratios |
//! | `error` | errors |

mod args;
mod error;
#[cfg(test)]
mod every_setting;
mod file;
mod host;
mod library;
mod lines;
mod policy;
mod ratio;
mod settings;
#[cfg(test)]
mod tests;
mod users;
mod vm;
mod vm_set;

pub use args::{BrokerArgs, DriverArgs, VmArgs};
pub use error::{ConfigError, of_vm};
pub use host::Config;
pub use library::DriverLibrary;
pub use policy::{EvictionMode, JailMode, OnExcess, Policy};
pub use ratio::{BadRatio, Ratio};
pub use users::choose_uids;
pub use vm::{ALLOWED_ENV, Vm};
pub use vm_set::{VmSet, check_vms};
