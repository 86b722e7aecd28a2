//! The rules of `cuGetProcAddress`: they map a base name to an exported function, depending on the
//! program's CUDA version and default stream.

use crate::symbols::{CUDA_VERSION, variants};
use crate::sys::{CUdriverProcAddress_flags as Flags, CUdriverProcAddressQueryResult as Status};

/// The flag `CU_GET_PROC_ADDRESS_LEGACY_STREAM`. A driver treats this flag as if no flag were set.
/// (In programs that are compiled for per-thread default streams, the headers pass the per-thread
/// flag if the program passes no flag.)
pub const LEGACY_STREAM: u64 = Flags::CU_GET_PROC_ADDRESS_LEGACY_STREAM.0 as u64;
/// The flag `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
pub const PER_THREAD_DEFAULT_STREAM: u64 =
    Flags::CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM.0 as u64;

/// The result of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// The exported name of the function.
    Found(&'static str),
    /// There is no function with this base name.
    SymbolNotFound,
    /// The function exists, but is newer than the requested version.
    VersionNotSufficient,
}

impl Lookup {
    /// Returns the status that `cuGetProcAddress_v2` reports.
    pub fn status(self) -> Status {
        match self {
            Lookup::Found(_) => Status::CU_GET_PROC_ADDRESS_SUCCESS,
            Lookup::SymbolNotFound => Status::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND,
            Lookup::VersionNotSufficient => Status::CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT,
        }
    }

    /// Returns the exported name, if there is one.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Lookup::Found(name) => Some(name),
            _ => None,
        }
    }
}

/// The reasons for which a lookup returns CUDA_ERROR_INVALID_VALUE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookupError {
    /// There are flags other than [`LEGACY_STREAM`] and [`PER_THREAD_DEFAULT_STREAM`].
    Flags(u64),
    /// The program requests a CUDA version that this library doesn't know yet. The program must not
    /// get an older variant of the function, since a newer variant may have other parameters.
    Version(i32),
}

impl std::fmt::Display for LookupError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LookupError::Flags(flags) => {
                write!(f, "cuGetProcAddress: unknown flags {flags:#x}; use 0 to 3")
            }
            LookupError::Version(version) => write!(
                f,
                "cuGetProcAddress: asked for CUDA version {version}, newer than {CUDA_VERSION}"
            ),
        }
    }
}

impl std::error::Error for LookupError {}

/// Finds the exported function for `base` at `cuda_version`.
///
/// The newest variant that is not newer than `cuda_version` is selected. With
/// [`PER_THREAD_DEFAULT_STREAM`], a name that has per-thread variants is resolved only among those,
/// so the result is VersionNotSufficient below CUDA 7.0. A negative version means the newest.
/// Driver 580 was observed to follow these rules (`examples/compare.rs` queries a driver).
///
/// On an error `cuGetProcAddress_v2` returns CUDA_ERROR_INVALID_VALUE and writes nothing. Otherwise
/// it returns CUDA_SUCCESS, with a null address if the function was not found. In that case the
/// older `cuGetProcAddress` returns CUDA_ERROR_NOT_FOUND and writes nothing.
pub fn resolve(base: &str, cuda_version: i32, flags: u64) -> Result<Lookup, LookupError> {
    if flags & !(LEGACY_STREAM | PER_THREAD_DEFAULT_STREAM) != 0 {
        return Err(LookupError::Flags(flags));
    }
    let per_thread = flags & PER_THREAD_DEFAULT_STREAM != 0;
    let version = u32::try_from(cuda_version).unwrap_or(CUDA_VERSION);
    if version > CUDA_VERSION {
        return Err(LookupError::Version(cuda_version));
    }
    let variants = variants(base);
    if variants.is_empty() {
        return Ok(Lookup::SymbolNotFound);
    }
    let per_thread = per_thread && variants.iter().any(|symbol| symbol.per_thread);
    let newest = variants
        .iter()
        .rev()
        .find(|symbol| symbol.per_thread == per_thread && symbol.since <= version);
    Ok(newest.map_or(Lookup::VersionNotSufficient, |symbol| Lookup::Found(symbol.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_pairs_resolve_as_in_the_driver() {
        for (base, version, flags, name) in [
            ("cuMemAlloc", 2000, 0, "cuMemAlloc"),
            ("cuMemAlloc", 3010, 0, "cuMemAlloc"),
            ("cuMemAlloc", 3020, 0, "cuMemAlloc_v2"),
            ("cuMemAlloc", 12000, 2, "cuMemAlloc_v2"),
            ("cuStreamSynchronize", 12000, 0, "cuStreamSynchronize"),
            ("cuStreamSynchronize", 12000, 1, "cuStreamSynchronize"),
            ("cuStreamSynchronize", 12000, 2, "cuStreamSynchronize_ptsz"),
            ("cuMemcpyHtoD", 12000, 2, "cuMemcpyHtoD_v2_ptds"),
            ("cuMemcpy", 4000, 0, "cuMemcpy"),
            ("cuMemcpy", 7000, 2, "cuMemcpy_ptds"),
            ("cuGetProcAddress", 11030, 0, "cuGetProcAddress"),
            ("cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"),
            ("cuGetExportTable", 3000, 0, "cuGetExportTable"),
            ("cuCtxCreate", 2000, 0, "cuCtxCreate"),
            ("cuCtxCreate", 3020, 0, "cuCtxCreate_v2"),
            ("cuCtxCreate", 11040, 0, "cuCtxCreate_v3"),
            ("cuCtxCreate", 13000, 0, "cuCtxCreate_v4"),
            ("cuCtxSynchronize", 12090, 0, "cuCtxSynchronize"),
            ("cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2"),
            ("cuCtxGetDevice", 13000, 2, "cuCtxGetDevice_v2"),
            ("cuStreamGetCaptureInfo", 10010, 0, "cuStreamGetCaptureInfo"),
            ("cuStreamGetCaptureInfo", 11030, 0, "cuStreamGetCaptureInfo_v2"),
            ("cuStreamGetCaptureInfo", 11030, 2, "cuStreamGetCaptureInfo_v2_ptsz"),
            ("cuStreamGetCaptureInfo", 12030, 0, "cuStreamGetCaptureInfo_v3"),
            ("cuStreamGetCaptureInfo", 13000, 2, "cuStreamGetCaptureInfo_v3_ptsz"),
            ("cuGraphInstantiate", 10000, 0, "cuGraphInstantiate"),
            ("cuGraphInstantiate", 13000, 0, "cuGraphInstantiate_v2"),
            ("cuCtxCreate", -1, 0, "cuCtxCreate_v4"),
            ("cuMemcpyHtoD", 12000, 3, "cuMemcpyHtoD_v2_ptds"),
            ("cuDeviceGetUuid", 9020, 0, "cuDeviceGetUuid"),
            ("cuDeviceGetUuid", 11040, 0, "cuDeviceGetUuid_v2"),
        ] {
            assert_eq!(
                resolve(base, version, flags),
                Ok(Lookup::Found(name)),
                "{base} at {version} with flags {flags}"
            );
        }
    }

    #[test]
    fn a_failed_lookup_has_a_reason() {
        assert_eq!(resolve("cuNoSuchFunction", 12000, 0), Ok(Lookup::SymbolNotFound));
        // A base name has no version suffix, so this is not one, even though a symbol with that
        // name is exported.
        assert_eq!(resolve("cuMemAlloc_v2", 12000, 0), Ok(Lookup::SymbolNotFound));
        assert_eq!(resolve("", 12000, 0), Ok(Lookup::SymbolNotFound));
        assert_eq!(resolve("cuLibraryLoadData", 11080, 0), Ok(Lookup::VersionNotSufficient));
        assert_eq!(resolve("cuInit", 1999, 0), Ok(Lookup::VersionNotSufficient));
        assert_eq!(resolve("cuInit", 0, 0), Ok(Lookup::VersionNotSufficient));
        assert_eq!(resolve("cuStreamSynchronize", 6050, 2), Ok(Lookup::VersionNotSufficient));
        assert_eq!(resolve("cuInit", 12000, 4), Err(LookupError::Flags(4)));
        assert_eq!(resolve("cuInit", 99990, 0), Err(LookupError::Version(99990)));
    }

    #[test]
    fn every_symbol_is_found_at_its_own_version() {
        for symbol in crate::symbols::ALL {
            let flags = if symbol.per_thread { PER_THREAD_DEFAULT_STREAM } else { 0 };
            assert_eq!(
                resolve(symbol.base, symbol.since as i32, flags),
                Ok(Lookup::Found(symbol.name))
            );
        }
    }
}
