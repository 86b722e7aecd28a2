//! Fuzz targets for everything that parses data from a guest or from a client of the control API.
//!
//! A target turns a fuzzer's bytes into requests, messages or calls, runs the real code on them,
//! and panics if the code violates one of the target's checks. `tests/fuzz.sh` runs the targets
//! with libFuzzer. In other builds, the program runs a target on the files in `corpus/`, which
//! `cargo test` does, too.
//!
//! | module | contents |
//! |---|---|
//! | `targets` | the targets, one module each |
//! | `input` | numbers and choices from a fuzzer's bytes |
//! | `requests` | generates requests for the device's queues |
//! | `broker` | the broker and the workers of a device that runs in this process |
//! | `world`, `arguments`, `graphs`, `ptx`, `images` | generate arguments of calls, graphs, PTX text, cubins, and fatbins |
//! | `workload` | generates calls that make the driver take memory for a context |
//! | `session` | a worker's session on softgpu, with an account of device memory |
//! | `softgpu` | softgpu's library, and how much memory it has allocated |
//! | `oracle` | compares the account with the memory that softgpu has allocated |
//! | `child` | runs code in a child process and passes on its coverage |

mod arguments;
mod broker;
mod child;
mod graphs;
mod images;
mod input;
mod oracle;
mod ptx;
mod requests;
mod session;
mod softgpu;
mod targets;
mod workload;
mod world;

pub use targets::{TARGETS, Target};
