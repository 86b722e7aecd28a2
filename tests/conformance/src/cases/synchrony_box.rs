//! When copies of rectangles, boxes, and arrays return.

use super::cases;
use crate::cuda::cu;
use crate::synchrony::{Form, Kind, Request, Rule, Shape, Spot, tables};
use cuda_api::sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUmemorytype as Memory};

const K: usize = 1 << 10;
const M: usize = 1 << 20;

/// A short row, rows without gaps between them, and short and long rows with gaps.
const RECTANGLES: &[Shape] =
    &[Shape::row(3), Shape { height: 16, ..Shape::row(K) }, rows(2, 3, 1), rows(20 * K, 3, 1)];
const BOXES: &[Shape] = &[
    Shape::row(64 * K + 1),
    Shape { height: 4, depth: 4, ..Shape::row(K) },
    rows(2, 3, 2),
    rows(20 * K, 3, 2),
];
const ROWS: &[Shape] =
    &[Shape::row(16), Shape::row(16 * K + 16), Shape::row(64 * K + 16), Shape::row(M + 16)];
const ARRAY: &[Kind] = &[Kind::Array];
const WITH_ARRAY: &[Kind] = &[
    Kind::Pageable,
    Kind::Pinned,
    Kind::Registered,
    Kind::WriteCombined,
    Kind::Managed,
    Kind::Device,
    Kind::Mapped,
    Kind::Array,
];

/// Returns a shape that consists of rows with gaps between them.
const fn rows(width: usize, height: usize, depth: usize) -> Shape {
    Shape { width, height, depth, pitch: width + 61, offsets: [1, 2] }
}

fn kind(spot: &Spot) -> Memory {
    match spot.kind {
        Kind::Array => Memory::CU_MEMORYTYPE_ARRAY,
        Kind::Pageable => Memory::CU_MEMORYTYPE_HOST,
        _ => Memory::CU_MEMORYTYPE_UNIFIED,
    }
}

fn rectangle(r: &Request) -> CUDA_MEMCPY2D {
    CUDA_MEMCPY2D {
        srcMemoryType: kind(&r.src),
        srcHost: r.src.address as *const _,
        srcDevice: r.src.address,
        srcArray: r.src.array,
        srcPitch: r.shape.pitch,
        dstMemoryType: kind(&r.dst),
        dstHost: r.dst.address as *mut _,
        dstDevice: r.dst.address,
        dstArray: r.dst.array,
        dstPitch: r.shape.pitch,
        WidthInBytes: r.shape.width,
        Height: r.shape.height,
        ..Default::default()
    }
}

fn cuboid(r: &Request) -> CUDA_MEMCPY3D {
    CUDA_MEMCPY3D {
        srcMemoryType: kind(&r.src),
        srcHost: r.src.address as *const _,
        srcDevice: r.src.address,
        srcArray: r.src.array,
        srcPitch: r.shape.pitch,
        srcHeight: r.shape.height,
        dstMemoryType: kind(&r.dst),
        dstHost: r.dst.address as *mut _,
        dstDevice: r.dst.address,
        dstArray: r.dst.array,
        dstPitch: r.shape.pitch,
        dstHeight: r.shape.height,
        WidthInBytes: r.shape.width,
        Height: r.shape.height,
        Depth: r.shape.depth,
        ..Default::default()
    }
}

cases! {
    fn rectangles(cuda) {
        tables(cuda, Kind::LINEAR, &[
            Form {
                name: "cuMemcpy2D",
                shapes: RECTANGLES,
                call: |cuda, r| cu!(cuda, cuMemcpy2D_v2(&rectangle(r))),
                ..Form::ANY
            },
            Form {
                name: "cuMemcpy2DUnaligned",
                shapes: RECTANGLES,
                call: |cuda, r| cu!(cuda, cuMemcpy2DUnaligned_v2(&rectangle(r))),
                ..Form::ANY
            },
            Form {
                name: "cuMemcpy2DAsync",
                streamed: true,
                shapes: RECTANGLES,
                call: |cuda, r| cu!(cuda, cuMemcpy2DAsync_v2(&rectangle(r), r.stream)),
                ..Form::ANY
            },
        ])
    }

    fn boxes(cuda) {
        tables(cuda, Kind::LINEAR, &[
            Form {
                name: "cuMemcpy3D",
                shapes: BOXES,
                call: |cuda, r| cu!(cuda, cuMemcpy3D_v2(&cuboid(r))),
                ..Form::ANY
            },
            Form {
                name: "cuMemcpy3DAsync",
                streamed: true,
                shapes: BOXES,
                call: |cuda, r| cu!(cuda, cuMemcpy3DAsync_v2(&cuboid(r), r.stream)),
                ..Form::ANY
            },
        ])
    }

    fn arrays(cuda) {
        let (host, device) = (Kind::HOST, Kind::DEVICE);
        tables(cuda, WITH_ARRAY, &[
            Form {
                name: "cuMemcpyHtoA",
                rule: Rule::CopyFromHost,
                sources: host,
                destinations: ARRAY,
                call: |cuda, r| {
                    cu!(cuda, cuMemcpyHtoA_v2(r.dst.array, 0, r.src.address as *const _, r.shape.width))
                },
                shapes: ROWS,
                ..Form::ANY
            },
            Form {
                name: "cuMemcpyHtoAAsync",
                rule: Rule::CopyFromHost,
                streamed: true,
                sources: host,
                destinations: ARRAY,
                call: |cuda, r| {
                    let (src, len) = (r.src.address as *const _, r.shape.width);
                    cu!(cuda, cuMemcpyHtoAAsync_v2(r.dst.array, 0, src, len, r.stream))
                },
                shapes: ROWS,
            },
            Form {
                name: "cuMemcpyAtoH",
                rule: Rule::CopyToHost,
                sources: ARRAY,
                destinations: host,
                call: |cuda, r| {
                    cu!(cuda, cuMemcpyAtoH_v2(r.dst.address as *mut _, r.src.array, 0, r.shape.width))
                },
                shapes: ROWS,
                ..Form::ANY
            },
            Form {
                name: "cuMemcpyAtoHAsync",
                rule: Rule::CopyToHost,
                streamed: true,
                sources: ARRAY,
                destinations: host,
                call: |cuda, r| {
                    let (dst, len) = (r.dst.address as *mut _, r.shape.width);
                    cu!(cuda, cuMemcpyAtoHAsync_v2(dst, r.src.array, 0, len, r.stream))
                },
                shapes: ROWS,
            },
            Form {
                name: "cuMemcpyDtoA",
                sources: device,
                destinations: ARRAY,
                call: |cuda, r| {
                    cu!(cuda, cuMemcpyDtoA_v2(r.dst.array, 0, r.src.address, r.shape.width))
                },
                shapes: ROWS,
                ..Form::ANY
            },
            Form {
                name: "cuMemcpyAtoD",
                sources: ARRAY,
                destinations: device,
                call: |cuda, r| {
                    cu!(cuda, cuMemcpyAtoD_v2(r.dst.address, r.src.array, 0, r.shape.width))
                },
                shapes: ROWS,
                ..Form::ANY
            },
            Form {
                name: "cuMemcpyAtoA",
                sources: ARRAY,
                destinations: ARRAY,
                call: |cuda, r| {
                    cu!(cuda, cuMemcpyAtoA_v2(r.dst.array, 0, r.src.array, 0, r.shape.width))
                },
                shapes: ROWS,
                ..Form::ANY
            },
            Form {
                name: "cuMemcpy2D of arrays",
                sources: ARRAY,
                destinations: WITH_ARRAY,
                call: |cuda, r| cu!(cuda, cuMemcpy2D_v2(&rectangle(r))),
                shapes: ROWS,
                ..Form::ANY
            },
            Form {
                name: "cuMemcpy2D of arrays",
                sources: Kind::LINEAR,
                destinations: ARRAY,
                call: |cuda, r| cu!(cuda, cuMemcpy2D_v2(&rectangle(r))),
                shapes: ROWS,
                ..Form::ANY
            },
            Form {
                name: "cuMemcpy3DAsync of arrays",
                streamed: true,
                sources: ARRAY,
                destinations: WITH_ARRAY,
                call: |cuda, r| cu!(cuda, cuMemcpy3DAsync_v2(&cuboid(r), r.stream)),
                shapes: ROWS,
                ..Form::ANY
            },
            Form {
                name: "cuMemcpy3DAsync of arrays",
                streamed: true,
                sources: Kind::LINEAR,
                destinations: ARRAY,
                call: |cuda, r| cu!(cuda, cuMemcpy3DAsync_v2(&cuboid(r), r.stream)),
                shapes: ROWS,
                ..Form::ANY
            },
        ])
    }
}
