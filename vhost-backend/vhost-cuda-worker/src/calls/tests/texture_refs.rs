//! Tests of texture references and surface references, with requests that a hostile guest might
//! make.

use super::claims::module;
use super::*;
use protocol::ids::{ArrayId, MipmapId, SurfRefId, TexRefId};
use protocol::structs::{ArrayDescriptor, TextureResource};

const INVALID_HANDLE: u32 = CuError::INVALID_HANDLE.0;
const NOT_FOUND: u32 = CuError::NOT_FOUND.0;
const FLOAT: u32 = 0x20;
const LINEAR: u32 = 2;
const ROWS: u32 = 3;

const REFERENCES: &str = "
.version 7.0
.target sm_70
.address_size 64
.global .texref image;
.global .surfref plane;
";

fn get(texref: u64, hmod: u64) -> VcudaModuleGetTexRef<'static> {
    VcudaModuleGetTexRef { texref: TexRefId(texref), hmod: ModuleId(hmod), name: "image" }
}

/// Returns a call that binds a texture reference to an array or, if `array` is 0, to linear memory.
pub(super) fn bind(texref: u64, array: u64, address: u64) -> VcudaTexRefBind {
    let resource = TextureResource {
        kind: if array == 0 { LINEAR } else { 0 },
        array: ArrayId(array),
        mipmap: MipmapId(0),
        address,
        format: FLOAT,
        channels: 1,
        width: 0,
        height: 0,
        pitch: 0,
        bytes: 1024,
        flags: 0,
    };
    VcudaTexRefBind { texref: TexRefId(texref), resource, texture: [0; 26] }
}

fn create(array: u64) -> VcudaArrayCreate {
    let descriptor =
        ArrayDescriptor { width: 8, height: 0, depth: 0, format: FLOAT, channels: 1, flags: 2 };
    VcudaArrayCreate { array: ArrayId(array), descriptor }
}

#[test]
fn a_reference_ends_with_its_module() {
    alone("a_reference_ends_with_its_module", |mut bench| {
        bench.good(&module(1, REFERENCES));
        bench.good(&create(5));
        assert_eq!(bench.call(&get(2, 9)).0, INVALID_HANDLE);
        bench.good(&get(2, 1));
        let plane =
            VcudaModuleGetSurfRef { surfref: SurfRefId(3), hmod: ModuleId(1), name: "plane" };
        bench.good(&plane);
        assert_eq!(bench.call(&VcudaModuleGetTexRef { name: "plane", ..get(4, 1) }).0, NOT_FOUND);
        let of_plane = |surfref, array| VcudaSurfRefBind {
            surfref: SurfRefId(surfref),
            array: ArrayId(array),
        };
        bench.good(&bind(2, 5, 0));
        bench.good(&of_plane(3, 5));
        bench.good(&CuModuleUnload { hmod: ModuleId(1) });
        assert_eq!(bench.call(&bind(2, 5, 0)).0, INVALID_HANDLE);
        assert_eq!(bench.call(&of_plane(3, 5)).0, INVALID_HANDLE);
    });
}

#[test]
fn a_reference_reads_only_memory_of_the_session() {
    alone("a_reference_reads_only_memory_of_the_session", |mut bench| {
        bench.good(&module(1, REFERENCES));
        bench.good(&get(2, 1));
        for address in [0, 4096, 0x7fff_0000_0000, u64::MAX - 511] {
            assert_ne!(bench.call(&bind(2, 0, address)).0, 0, "{address:#x}");
        }
        assert_eq!(bench.call(&bind(2, 77, 0)).0, INVALID_HANDLE);
        assert_eq!(bench.call(&bind(99, 0, 0)).0, INVALID_HANDLE);
        let memory = bench.good(&CuMemAllocV2 { bytesize: 1024 }).dptr;
        bench.good(&bind(2, 0, memory));
        bench.good(&create(5));
        bench.good(&bind(2, 5, 0));
        bench.good(&VcudaArrayDestroy { array: ArrayId(5) });
        assert_eq!(bench.call(&bind(2, 5, 0)).0, INVALID_HANDLE);
        // The driver's texture reference still contains the array, which has been destroyed.
        bench.good(&bind(2, 0, memory));
        bench.good(&create(6));
        bench.good(&bind(2, 6, 0));
        bench.good(&VcudaArrayDestroy { array: ArrayId(6) });
        let mut rows = bind(2, 0, memory);
        let resource = &mut rows.resource;
        (resource.kind, resource.width, resource.height, resource.pitch) = (ROWS, 8, 2, 512);
        bench.good(&rows);
    });
}
