//! Modules, functions, and launches.
//!
//! | module | contents |
//! |---|---|
//! | `image`, `jit`, `blob`, `module` | code images, modules and libraries |
//! | `kernel`, `layout`, `library_kernels`, `launch` | functions, kernels, and their launches |
//! | `link`, `link_state` | the linker |
//! | `output`, `printing` | kernel output |

pub(crate) mod blob;
pub(crate) mod image;
pub(crate) mod jit;
pub(crate) mod kernel;
pub(crate) mod launch;
pub(crate) mod layout;
pub(crate) mod library_kernels;
pub(crate) mod link;
pub(crate) mod link_state;
pub(crate) mod module;
pub(crate) mod output;
pub(crate) mod printing;
