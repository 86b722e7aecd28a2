//! A type for the ids of each kind of handle.

use super::model::HANDLES;
use std::fmt::Write;

/// The code of `protocol/src/generated/ids.rs`.
pub fn generate() -> String {
    let mut code = String::from(
        "//! Made from the kinds of handles in xtask by `cargo xtask codegen`; not to be edited.\n\
         //!\n//! Ids of handles: the guest mints them, the worker knows the driver's handles.\n\n\
         use crate::codec::{DecodeError, Word};\n\n\
         macro_rules! ids {\n($($(#[$doc:meta])* $name:ident)*) => { $(\n$(#[$doc])*\n\
         #[repr(transparent)]\n\
         #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]\n\
         pub struct $name(pub u64);\n\n\
         impl Word for $name {\nfn to_word(self) -> u64 {\nself.0\n}\n\
         fn from_word(word: u64) -> Result<Self, DecodeError> {\nOk(Self(word))\n}\n}\n\n\
         impl From<u64> for $name {\nfn from(id: u64) -> Self {\nSelf(id)\n}\n}\n\n\
         impl core::fmt::Display for $name {\n\
         fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {\nself.0.fmt(f)\n}\n}\n\
         )* };\n}\n\nids! {\n",
    );
    for handle in HANDLES {
        let _ = writeln!(code, "/// Id of {}.\n{}", handle.noun, handle.id);
    }
    code.push_str("}\n");
    code
}
