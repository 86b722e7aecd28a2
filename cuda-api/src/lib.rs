//! The code that both implementations of libcuda.so.1 share: guest-libcuda and softgpu.
//!
//! * [`symbols`] lists the symbols that a libcuda.so.1 exports; [`proc_address`] resolves names as
//!   `cuGetProcAddress` does.
//! * [`sys`] has the driver API's types, [`prototypes`] its functions' types, [`error`] its errors,
//!   and [`description`] all of that as data for code generators.
//! * [`entries`] declares the functions of a library.
//! * [`exports`] exports the functions that a library registers, and a stub for every other symbol;
//!   [`signature`] compares each function with its prototype, at compile time.
//! * [`arrays`] computes the sizes of arrays.
//! * [`attributes`] has the attributes of streams and kernels.
//! * [`callback`] marks the threads that run functions of the program for a stream.
//! * [`clusters`] checks questions about clusters.
//! * [`compute_cache`] keeps code that NVIDIA's compilers have generated.
//! * [`coredump`] keeps the attributes of GPU core dumps.
//! * [`cooperative`] checks cooperative launches on several devices.
//! * [`copies`] has the entry points of copies.
//! * [`device_links`] has the atomic operations between devices; [`devices`] formats UUIDs and
//!   selects devices.
//! * [`export_tables`] has the private tables that NVIDIA's own libraries request.
//! * [`args`] has the arguments of entry points, as types that safe code can use.
//! * [`error_text`] has names and descriptions of `CUresult` values.
//! * [`fatbin`] parses the images that programs pass to the module loaders.
//! * [`fills`] has the entry points that fill memory.
//! * [`first_versions`] has functions that CUDA 3.2 replaced.
//! * [`graph`] has graphs, and streams that are being captured.
//! * [`green`] has green contexts.
//! * [`ipc`] counts how often a program has opened another process's memory.
//! * [`launch_event`] has the events that launches record.
//! * [`legacy_launch`] has CUDA's first launch interface.
//! * [`library_options`] checks the options of libraries.
//! * [`logs`] is the log of failed calls: [`log_buffer`] has its messages, [`log_entries`] its
//!   entry points.
//! * [`machine_code`] explains why softgpu can't load some images.
//! * [`managed`] records the hints for managed memory; [`managed_batch`] reads batches of them, and
//!   [`managed_entries`] has the entry points.
//! * [`notifications`] registers callbacks.
//! * [`pointers`] has the attributes of pointers.
//! * [`pool`] has memory pools.
//! * [`ptx_image`] makes an ELF file that contains PTX.
//! * [`texture_refs`] has texture references and surface references.
//! * [`thread_end`] calls a function when a thread exits.
//! * [`unsupported`] has the results of functions that aren't implemented.
//!
//! Without the feature `runtime`, only the modules that depend on nothing but std are built.

pub mod args;
pub mod arrays;
pub mod callback;
pub mod clusters;
pub mod compute_cache;
pub mod cooperative;
pub mod coredump;
pub mod description;
pub mod device_links;
pub mod devices;
pub mod entries;
pub mod error;
pub mod error_text;
pub mod exports;
pub mod fills;
pub mod first_versions;
pub mod notifications;
pub mod proc_address;
pub mod signature;
pub mod symbols;
pub mod unsupported;

#[cfg(feature = "runtime")]
pub mod attributes;
#[cfg(feature = "runtime")]
pub mod copies;
#[cfg(feature = "runtime")]
pub mod export_tables;
#[cfg(feature = "runtime")]
pub mod fatbin;
#[cfg(feature = "runtime")]
pub mod graph;
#[cfg(feature = "runtime")]
pub mod green;
#[cfg(feature = "runtime")]
pub mod ipc;
#[cfg(feature = "runtime")]
pub mod launch_event;
#[cfg(feature = "runtime")]
pub mod legacy_launch;
#[cfg(feature = "runtime")]
pub mod library_options;
#[cfg(feature = "runtime")]
pub mod log_buffer;
#[cfg(feature = "runtime")]
pub mod log_entries;
#[cfg(feature = "runtime")]
pub mod logs;
#[cfg(feature = "runtime")]
pub mod machine_code;
#[cfg(feature = "runtime")]
pub mod managed;
#[cfg(feature = "runtime")]
pub mod managed_batch;
#[cfg(feature = "runtime")]
pub mod managed_entries;
pub mod pointers;
#[cfg(feature = "runtime")]
pub mod pool;
#[cfg(feature = "runtime")]
pub mod ptx_image;
#[cfg(feature = "runtime")]
pub mod texture_refs;
#[cfg(feature = "runtime")]
pub mod thread_end;

pub use generated::{prototypes, sys};

mod generated;
