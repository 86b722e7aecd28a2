//! Charges for device memory that a session takes without allocating it: contexts, code and
//! variables, stacks and local memory, the heap for malloc in kernels, streams, graphs.
//!
//! | module | contents |
//! |---|---|
//! | `session` | the session's charges, by context |
//! | `reserve` | reserving memory for each kind of charge, and releasing it |
//! | `account` | the resources that a context uses, and the memory that they take |
//! | `footprint`, `cubin`, `ptx` | the memory that a module or library takes, computed from its
//! image |
//! | `load`, `taken` | types for a loaded module or library, and for the memory that it takes |
//! | `loads` | charges for modules and libraries |
//! | `parts` | the charges for a module or library in one context |
//! | `eager` | charges for libraries that are loaded into every context |
//! | `kernels` | charges for the code and local memory of kernels |
//! | `limits` | charges for the limits of a context, such as the stack size |
//! | `clearing` | the GPU time in which the driver clears memory |
//! | `settle` | types that prove that a call has accounted for the memory that it takes |
//!
//! All memory is reserved before the driver is asked to allocate it, and released after the driver
//! has freed it, so the VM's quota is never exceeded. docs/memory.md explains the bound for each
//! kind of charge.

mod account;
mod clearing;
mod cubin;
mod eager;
mod footprint;
mod kernels;
mod limits;
mod load;
mod loads;
mod parts;
mod ptx;
mod reserve;
mod session;
mod settle;
mod taken;

pub(in crate::calls) use account::GraphSize;
pub(in crate::calls) use clearing::{owe_clearing, wait_to_free};
#[cfg(test)]
pub(in crate::calls) use cubin::tests::forged_frame;
pub(in crate::calls) use eager::begin_context;
pub(in crate::calls) use footprint::is_text;
#[cfg(test)]
pub(in crate::calls) use footprint::tests::fatbin;
pub(in crate::calls) use kernels::{
    Admitted, admit_kernel, func, function_of, reserve_kernel, reserve_kernel_on, reserve_listed,
    reserve_need,
};
pub(in crate::calls) use limits::cu_ctx_set_limit;
pub(in crate::calls) use load::{Code, Load, Need};
pub(in crate::calls) use loads::{
    capabilities, give_back_library, new_load, new_load_during, reserve_load, reserve_module,
};
pub(in crate::calls) use parts::give_back_module;
pub(in crate::calls) use reserve::{
    adopt_charges, begin_charges, charge_green_context, end_charges, forget_graph, forget_stream,
    give_back_array, give_back_context, give_back_parameters, reserve_array, reserve_context,
    reserve_graph, reserve_memory, reserve_parameters, reserve_stream,
};
pub(in crate::calls) use session::Charges;
pub(in crate::calls) use settle::{ChargedReply, Reservation, Settled, kind};
