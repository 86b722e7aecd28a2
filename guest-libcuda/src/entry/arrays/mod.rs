//! Arrays, textures, surfaces, and tensor maps.

pub(crate) mod array;
pub(crate) mod array_copy;
pub(crate) mod tensor_map;
pub(crate) mod texture;
pub(crate) mod texture_ref;
