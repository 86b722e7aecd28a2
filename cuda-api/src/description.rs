//! The driver API's functions and types as data, for code generators.

pub use crate::generated::description::{ALIASES, ENUMERATIONS, PROTOTYPES, STRUCTURES};

/// An exported function. All functions return CUresult.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prototype {
    /// The exported name, such as `cuMemAlloc_v2`.
    pub name: &'static str,
    /// The name and Rust type of each parameter; the types are those of `sys`.
    pub parameters: &'static [(&'static str, &'static str)],
}

/// A structure or union.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Structure {
    /// The name in `sys`.
    pub name: &'static str,
    /// Whether it is a union.
    pub is_union: bool,
    /// The name and Rust type of each member.
    pub fields: &'static [(&'static str, &'static str)],
}

/// An enumeration. In `sys` it is a structure with one integer, and has a constant for each member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enumeration {
    /// The name in `sys`.
    pub name: &'static str,
    /// The name and value of each member.
    pub members: &'static [(&'static str, i64)],
}

/// Returns the prototype of an exported function.
pub fn prototype(name: &str) -> Option<&'static Prototype> {
    let index = PROTOTYPES.binary_search_by_key(&name, |prototype| prototype.name).ok()?;
    Some(&PROTOTYPES[index])
}

/// If `name` is an alias of a type, returns the name of that type; otherwise returns `name`.
pub fn canonical(name: &str) -> &str {
    let mut name = name;
    while let Ok(index) = ALIASES.binary_search_by_key(&name, |(alias, _)| alias) {
        name = ALIASES[index].1;
    }
    name
}

/// Returns a structure or union, by its name in `sys` or by an alias.
pub fn structure(name: &str) -> Option<&'static Structure> {
    let name = canonical(name);
    let index = STRUCTURES.binary_search_by_key(&name, |structure| structure.name).ok()?;
    Some(&STRUCTURES[index])
}

/// Returns an enumeration, by its name in `sys` or by an alias.
pub fn enumeration(name: &str) -> Option<&'static Enumeration> {
    let name = canonical(name);
    let index = ENUMERATIONS.binary_search_by_key(&name, |enumeration| enumeration.name).ok()?;
    Some(&ENUMERATIONS[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_symbol_has_a_prototype() {
        for symbol in crate::symbols::ALL {
            assert!(prototype(symbol.name).is_some(), "{}", symbol.name);
        }
        assert_eq!(PROTOTYPES.len(), crate::symbols::ALL.len());
    }

    #[test]
    fn an_alias_is_found_as_its_type() {
        assert_eq!(enumeration("CUstreamAttrID"), enumeration("CUlaunchAttributeID"));
        assert_eq!(enumeration("CUstreamAttrID").unwrap().name, "CUlaunchAttributeID");
        assert_eq!(structure("CUDA_MEMCPY2D_v2").unwrap().name, "CUDA_MEMCPY2D");
        assert_eq!(canonical("CUdeviceptr_v2"), "u64");
        assert_eq!(canonical("CUcontext"), "CUcontext");
    }

    #[test]
    fn functions_structures_and_enumerations_are_found_by_name() {
        let alloc = prototype("cuMemAlloc_v2").unwrap();
        assert_eq!(alloc.parameters, [("dptr", "*mut CUdeviceptr"), ("bytesize", "usize")]);
        let uuid = structure("CUuuid").unwrap();
        assert_eq!(uuid.fields, [("bytes", "[c_char; 16]")]);
        assert!(enumeration("CUresult").unwrap().members.contains(&("CUDA_ERROR_UNKNOWN", 999)));
        assert!(prototype("cuNoSuchFunction").is_none());
    }
}
