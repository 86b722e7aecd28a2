//! Arrays, textures, surfaces, and tensor maps.
//!
//! | module | contents |
//! |---|---|
//! | `array`, `array_calls`, `array_copy` | arrays and mipmapped arrays; copies from and to them |
//! | `texture`, `texture_ref`, `tensor_map` | texture and surface objects and references; tensor maps |

pub(crate) mod array;
pub(crate) mod array_calls;
pub(crate) mod array_copy;
pub(crate) mod tensor_map;
pub(crate) mod texture;
pub(crate) mod texture_ref;
