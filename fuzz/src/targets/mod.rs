//! The fuzz targets.

mod charges;
mod command;
mod control_api;
mod control_request;
mod decoders;
mod fatbin;
mod image;
mod ledger;
mod vhost_user;

/// A fuzz target.
pub struct Target {
    /// The name on the command line and in `corpus/`.
    pub name: &'static str,
    /// Prepares the process, before the first run.
    pub prepare: fn(),
    /// Runs the target on a fuzzer's bytes. Panics if the code under test violates one of the
    /// target's checks.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "control_request", prepare: || {}, run: control_request::run },
    Target { name: "vhost_user", prepare: vhost_user::prepare, run: vhost_user::run },
    Target { name: "command", prepare: command::prepare, run: command::run },
    Target { name: "graph", prepare: command::prepare, run: command::run_graphs },
    Target { name: "charges", prepare: charges::prepare, run: charges::run },
    Target { name: "ledger", prepare: || {}, run: ledger::run },
    Target { name: "decoders", prepare: || {}, run: decoders::run },
    Target { name: "fatbin", prepare: || {}, run: fatbin::run },
    Target { name: "cubin", prepare: image::prepare, run: image::run_cubin },
    Target { name: "fatbin_charge", prepare: image::prepare, run: image::run_fatbin },
    Target { name: "ptx_charge", prepare: image::prepare, run: image::run_ptx },
    Target { name: "control_api", prepare: control_api::prepare, run: control_api::run },
];
