//! Tests of arrays: their charges, and copies that a hostile guest might make.

use super::*;
use protocol::ids::{ArrayId, ContextId, MipmapId, StreamId};
use protocol::structs::{ArrayDescriptor, BoxSide, BoxSize};

const INVALID: u32 = CuError::INVALID_VALUE.0;
const INVALID_HANDLE: u32 = CuError::INVALID_HANDLE.0;
const OUT_OF_MEMORY: u32 = CuError::OUT_OF_MEMORY.0;
const FLOAT: u32 = 0x20;

pub(super) fn descriptor(width: u64, height: u64) -> ArrayDescriptor {
    ArrayDescriptor { width, height, depth: 0, format: FLOAT, channels: 1, flags: 0 }
}

pub(super) fn create(array: u64, width: u64, height: u64) -> VcudaArrayCreate {
    VcudaArrayCreate { array: ArrayId(array), descriptor: descriptor(width, height) }
}

pub(super) fn destroy(array: u64) -> VcudaArrayDestroy {
    VcudaArrayDestroy { array: ArrayId(array) }
}

fn in_array(array: u64, x: u64, y: u64) -> BoxSide {
    BoxSide { array: ArrayId(array), address: 0, pitch: 0, height: 0, x, y, z: 0 }
}

fn at_address(address: u64, pitch: u64) -> BoxSide {
    BoxSide { array: ArrayId(0), address, pitch, height: 64, x: 0, y: 0, z: 0 }
}

#[test]
fn arrays_are_charged_until_they_are_destroyed() {
    alone("arrays_are_charged_until_they_are_destroyed", |mut bench| {
        bench.set_quota(16 * MIB);
        bench.good(&create(1, 1024, 1024));
        assert_eq!(bench.charged("memory"), 4 * MIB);
        // Small arrays share blocks in the driver. But each is charged as a whole block, because it
        // can be the last one in its block.
        bench.good(&create(2, 16, 16));
        assert_eq!(bench.charged("memory"), 6 * MIB);
        assert_eq!(bench.call(&create(3, 2048, 2048)).0, OUT_OF_MEMORY);
        assert_eq!(bench.call(&create(2, 16, 16)).0, INVALID);
        assert_eq!(bench.call(&create(4, 1 << 40, 16)).0, INVALID);
        assert_eq!(bench.charged("memory"), 6 * MIB);
        let mipmap = MipmapId(9);
        let levels =
            VcudaMipmappedArrayCreate { mipmap, descriptor: descriptor(1024, 1024), levels: 11 };
        bench.good(&levels);
        assert_eq!(bench.charged("memory"), 12 * MIB);
        bench.good(&VcudaMipmappedArrayGetLevel { array: ArrayId(5), mipmap, level: 3 });
        assert_eq!(bench.call(&destroy(5)).0, INVALID);
        bench.good(&VcudaMipmappedArrayDestroy { mipmap });
        assert_eq!(bench.call(&destroy(5)).0, INVALID_HANDLE);
        bench.good(&destroy(1));
        assert_eq!(bench.call(&destroy(1)).0, INVALID_HANDLE);
        bench.good(&destroy(2));
        assert_eq!(bench.used(), 0);
    });
}

#[test]
fn arrays_are_released_together_with_their_context() {
    alone("arrays_are_released_together_with_their_context", |mut bench| {
        bench.set_quota(64 * MIB);
        let first = bench.ctx;
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(78) });
        bench.good(&create(1, 16, 16));
        bench.ctx = ContextId(78);
        bench.good(&create(2, 16, 16));
        assert_eq!(bench.charged("memory"), 4 * MIB);
        bench.ctx = first;
        bench.good(&VcudaCtxDestroy { ctx: ContextId(78) });
        assert_eq!(bench.charged("memory"), 2 * MIB);
        assert_eq!(bench.call(&destroy(2)).0, INVALID_HANDLE);
        bench.good(&destroy(1));
        assert_eq!(bench.used(), 0);
    });
}

#[test]
fn copies_outside_an_array_or_the_sessions_memory_are_refused() {
    alone("copies_outside_an_array_or_the_sessions_memory_are_refused", |mut bench| {
        bench.set_quota(64 * MIB);
        bench.good(&create(1, 64, 64));
        let a = bench.alloc(64 * 64 * 4);
        let size = |width, height, depth| BoxSize { width, height, depth };
        let mut copy = |dst, src, size| {
            bench.post(&VcudaCopyBox { dst, src, size, h_stream: StreamId(0) });
            bench.posted_error()
        };
        let whole = size(256, 64, 1);
        assert_eq!(copy(in_array(1, 0, 0), at_address(a, 256), whole), 0);
        let own = (&raw const whole) as u64;
        for (dst, src, size) in [
            (in_array(1, 4, 0), at_address(a, 256), whole),
            (in_array(1, 0, 1), at_address(a, 256), whole),
            (in_array(1, u64::MAX, 0), at_address(a, 256), whole),
            (in_array(1, 0, 0), at_address(a, 256), size(256, 64, 2)),
            (in_array(1, 0, 0), at_address(a, 256), size(256, 64, 0)),
            (in_array(1, 0, 0), at_address(a + 1, 256), whole),
            (in_array(1, 0, 0), at_address(a, u64::MAX), whole),
            (in_array(1, 0, 0), at_address(a, 128), whole),
            (in_array(1, 0, 0), at_address(own, 256), size(4, 1, 1)),
            (at_address(own, 256), in_array(1, 0, 0), size(4, 1, 1)),
        ] {
            assert_eq!(copy(dst, src, size), INVALID);
        }
        assert_eq!(copy(in_array(2, 0, 0), at_address(a, 256), whole), INVALID_HANDLE);
        bench.good(&destroy(1));
        bench.post(&VcudaCopyBox {
            dst: in_array(1, 0, 0),
            src: at_address(a, 256),
            size: whole,
            h_stream: StreamId(0),
        });
        assert_eq!(bench.posted_error(), INVALID_HANDLE);
    });
}
