//! Tests of texture objects and surface objects: their cost, and requests that a hostile guest
//! might make.

use super::*;
use protocol::ids::{ArrayId, MipmapId};
use protocol::structs::{ArrayDescriptor, BoxSide, BoxSize, TextureResource};

const INVALID: u32 = CuError::INVALID_VALUE.0;
const INVALID_HANDLE: u32 = CuError::INVALID_HANDLE.0;
const ILLEGAL_ADDRESS: u32 = CuError::ILLEGAL_ADDRESS.0;
const FLOAT: u32 = 0x20;
/// CUDA_ARRAY3D_SURFACE_LDST.
const SURFACE: u32 = 2;
const ARRAY: u32 = 0;
const MIPMAP: u32 = 1;
const LINEAR: u32 = 2;
const PITCHED: u32 = 3;
/// The width and height of the arrays, in elements.
const SIDE: u64 = 8;

/// PTX text with the kernel `read(texture, _, to, _)`, which stores the texel at (3, 4) in `to`.
const READ: &[u8] = br"
.version 7.0
.target sm_70
.address_size 64
.visible .entry read(.param .u64 t, .param .u64 unused, .param .u64 to, .param .u32 n)
{
    .reg .b64 %d<3>;
    .reg .b32 %r<3>;
    .reg .f32 %f<5>;
    ld.param.u64 %d1, [t];
    ld.param.u64 %d2, [to];
    mov.u32 %r1, 3;
    mov.u32 %r2, 4;
    tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d1, {%r1, %r2}];
    st.global.f32 [%d2], %f1;
    ret;
}
";

pub(super) fn create(array: u64) -> VcudaArrayCreate {
    let descriptor = ArrayDescriptor {
        width: SIDE,
        height: SIDE,
        depth: 0,
        format: FLOAT,
        channels: 1,
        flags: SURFACE,
    };
    VcudaArrayCreate { array: ArrayId(array), descriptor }
}

pub(super) fn resource(kind: u32) -> TextureResource {
    TextureResource {
        kind,
        array: ArrayId(1),
        mipmap: MipmapId(1),
        address: 0,
        format: FLOAT,
        channels: 1,
        width: 0,
        height: 0,
        pitch: 0,
        bytes: 0,
        flags: 0,
    }
}

pub(super) fn texture(resource: TextureResource) -> VcudaTextureCreate {
    // All address modes are CU_TR_ADDRESS_MODE_CLAMP, and the coordinates aren't normalized.
    let mut texture = [0; 26];
    texture[..3].fill(1);
    VcudaTextureCreate { resource, texture, has_view: 0, view: [0; 14] }
}

impl Bench {
    fn texture(&mut self, resource: TextureResource) -> u64 {
        self.good(&texture(resource)).object
    }

    fn surface(&mut self, array: u64) -> u64 {
        self.good(&VcudaSurfaceCreate { array: ArrayId(array) }).object
    }
}

#[test]
fn objects_charge_nothing_and_belong_to_their_context() {
    alone("objects_charge_nothing_and_belong_to_their_context", |mut bench| {
        bench.good(&create(1));
        let used = bench.used();
        let (t, s) = (bench.texture(resource(ARRAY)), bench.surface(1));
        assert_eq!(bench.used(), used);
        let first = bench.ctx;
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(78) });
        bench.ctx = ContextId(78);
        // The guest can destroy neither another context's objects nor objects that don't exist.
        for object in [t, s, 0, 1, t + 1, t ^ 1 << 40, u64::MAX] {
            assert_eq!(bench.call(&VcudaTextureDestroy { object }).0, INVALID, "{object:#x}");
            assert_eq!(bench.call(&VcudaSurfaceDestroy { object }).0, INVALID, "{object:#x}");
        }
        bench.ctx = first;
        bench.good(&VcudaCtxDestroy { ctx: ContextId(78) });
        assert_eq!(bench.call(&VcudaSurfaceDestroy { object: t }).0, INVALID);
        for _ in 0..2 {
            let object = bench.texture(resource(ARRAY));
            bench.good(&VcudaTextureDestroy { object });
            assert_eq!(bench.call(&VcudaTextureDestroy { object }).0, INVALID);
        }
        bench.good(&VcudaTextureDestroy { object: t });
        bench.good(&VcudaSurfaceDestroy { object: s });
        bench.good(&VcudaArrayDestroy { array: ArrayId(1) });
        assert_eq!(bench.used(), 0);
    });
}

#[test]
fn textures_begin_in_memory_of_the_session() {
    alone("textures_begin_in_memory_of_the_session", |mut bench| {
        let len = 4096;
        let a = bench.alloc(len as usize);
        let linear = |address, bytes| TextureResource { address, bytes, ..resource(LINEAR) };
        let pitched = |address, width, height, pitch| TextureResource {
            address,
            width,
            height,
            pitch,
            ..resource(PITCHED)
        };
        // As with NVIDIA's driver, a texture in linear memory may end beyond the allocation.
        for bytes in [0, len, 4 << 20, u64::MAX] {
            bench.texture(linear(a, bytes));
        }
        bench.texture(pitched(a, 8, 128, 32));
        let own = (&raw const len) as u64 & !511;
        for refused in [
            linear(own, 512),
            linear(0, 512),
            linear(u64::MAX - 511, 512),
            pitched(own, 8, 8, 32),
            pitched(a, 8, 1 << 20, 32),
            pitched(a, 8, u64::MAX, u64::MAX),
            pitched(a, u64::MAX, 8, 32),
            TextureResource { format: 99, ..linear(a, len) },
            TextureResource { channels: 3, ..pitched(a, 8, 8, 128) },
            TextureResource { flags: 1, ..linear(a, len) },
            resource(99),
        ] {
            assert_eq!(bench.call(&texture(refused)).0, INVALID, "{refused:?}");
        }
        for unknown in [resource(ARRAY), resource(MIPMAP)] {
            assert_eq!(bench.call(&texture(unknown)).0, INVALID_HANDLE);
        }
        let unknown = VcudaSurfaceCreate { array: ArrayId(1) };
        assert_eq!(bench.call(&unknown).0, INVALID_HANDLE);
    });
}

#[test]
fn a_texture_can_outlive_its_array() {
    alone("a_texture_can_outlive_its_array", |mut bench| {
        bench.good(&create(1));
        let [from, to] = [(); 2].map(|()| bench.alloc((SIDE * SIDE * 4) as usize));
        let data = floats((0..SIDE * SIDE).map(|i| i as f32));
        bench.post(&VcudaCopyIn { dst: from, data: &data, h_stream: StreamId(0) });
        let at = |array, address| BoxSide {
            array: ArrayId(array),
            address,
            pitch: SIDE * 4,
            height: SIDE,
            x: 0,
            y: 0,
            z: 0,
        };
        let size = BoxSize { width: SIDE * 4, height: SIDE, depth: 1 };
        let (dst, src) = (BoxSide { pitch: 0, height: 0, ..at(1, 0) }, at(0, from));
        bench.post(&VcudaCopyBox { dst, src, size, h_stream: StreamId(0) });
        let object = bench.texture(resource(ARRAY));
        let load = VcudaModuleLoad {
            module: ModuleId(1001),
            blob: BlobId(0),
            image: READ,
            options: Default::default(),
            log_max: 4096,
        };
        let answer = bench.call(&load);
        assert_eq!(answer.0, 0, "{}", String::from_utf8_lossy(&answer.1.error));
        bench.good(&VcudaModuleGetFunction {
            hfunc: FunctionId(1002),
            hmod: ModuleId(1001),
            name: "read",
        });
        bench.launch(1002, object, 0, to, 1, 0);
        let answer = bench.good(&VcudaCopyOut { src: to, len: 4, h_stream: StreamId(0) });
        assert_eq!(answer.data, (4.0 * SIDE as f32 + 3.0).to_le_bytes());
        // Once the array has been destroyed, a kernel that uses the object may read anything, or
        // fault. The worker must not crash, and only this session may be affected.
        bench.good(&VcudaArrayDestroy { array: ArrayId(1) });
        assert_eq!(bench.call(&texture(resource(ARRAY))).0, INVALID_HANDLE);
        bench.launch(1002, object, 0, to, 1, 0);
        let (result, _) = bench.call(&CuCtxSynchronize {});
        assert!(matches!(result, 0 | ILLEGAL_ADDRESS), "{result}");
    });
}
