//! Tests of managed variables, with requests that a hostile guest might make.

use super::claims::library;
use super::*;
use protocol::ids::{LibraryId, StreamId};

const INVALID_HANDLE: u32 = CuError::INVALID_HANDLE.0;
const INVALID_VALUE: u32 = CuError::INVALID_VALUE.0;
const NOT_FOUND: u32 = CuError::NOT_FOUND.0;

const VARIABLES: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .global .attribute(.managed) .align 4 .b8 table[3145728] = {7, 8, 9};
.visible .global .align 4 .u32 plain = 6;
";

fn get(number: u64, name: &str) -> VcudaLibraryGetManaged<'_> {
    VcudaLibraryGetManaged { library: LibraryId(number), name }
}

#[test]
fn calls_can_use_a_managed_variable_until_its_library_is_unloaded() {
    alone("calls_can_use_a_managed_variable_until_its_library_is_unloaded", |mut bench| {
        bench.set_quota(1 << 30);
        bench.good(&library(9, VARIABLES));
        assert_eq!(bench.call(&get(8, "table")).0, INVALID_HANDLE);
        assert_eq!(bench.call(&get(9, "plain")).0, NOT_FOUND);
        assert_eq!(bench.call(&get(9, "missing")).0, NOT_FOUND);
        let VcudaLibraryGetManagedAnswer { dptr, bytes } = bench.good(&get(9, "table"));
        assert_eq!(bytes, 3 << 20);
        assert_eq!(bench.good(&get(9, "table")).dptr, dptr);
        assert_eq!(bench.charged("module"), 4 * MIB);
        let out = |src, len| VcudaCopyOut { src, len, h_stream: StreamId(0) };
        assert_eq!(bench.good(&out(dptr, 4)).data, [7, 8, 9, 0]);
        for (src, len) in [(dptr - 1, 4), (dptr + bytes as u64 - 3, 4), (dptr + bytes as u64, 1)] {
            assert_eq!(bench.call(&out(src, len)).0, INVALID_VALUE, "{src:#x}");
        }
        bench.good(&CuLibraryUnload { library: LibraryId(9) });
        assert_eq!(bench.call(&out(dptr, 4)).0, INVALID_VALUE);
        assert_eq!(bench.call(&get(9, "table")).0, INVALID_HANDLE);
        assert_eq!(bench.used(), 0);
    });
}
