//! When copies of contiguous bytes return, for each entry point, kinds of memory, and length.

use super::cases;
use crate::cuda::{Cuda, cu};
use crate::synchrony::{Form, Kind, Request, Rule, Shape, tables};
use cuda_api::sys::{CUDA_MEMCPY3D_PEER, CUcontext, CUmemorytype as Memory};
use std::ptr::null_mut;

const K: usize = 1 << 10;
const M: usize = 1 << 20;

/// Lengths of copies, around the limits at which NVIDIA's driver or ours may stage a copy in a
/// different way.
const ALL: &[Shape] = &[
    Shape::row(1),
    Shape::row(16 * K),
    Shape::row(16 * K + 1),
    Shape::row(64 * K),
    Shape::row(64 * K + 1),
    Shape::row(M + 3),
    Shape { offsets: [3, 5], ..Shape::row(16 * K) },
    Shape { offsets: [3, 5], ..Shape::row(64 * K) },
];
const SOME: &[Shape] = &[Shape::row(4), Shape::row(16 * K + 1), Shape::row(64 * K + 1)];

fn current(cuda: &Cuda) -> CUcontext {
    let mut context = null_mut();
    let _ = cu!(cuda, cuCtxGetCurrent(&mut context));
    context
}

/// Returns the parameters of a copy of a row between contexts.
fn peer(cuda: &Cuda, r: &Request) -> CUDA_MEMCPY3D_PEER {
    let (unified, context) = (Memory::CU_MEMORYTYPE_UNIFIED, current(cuda));
    CUDA_MEMCPY3D_PEER {
        srcMemoryType: unified,
        srcDevice: r.src.address,
        srcContext: context,
        srcPitch: r.shape.width,
        srcHeight: 1,
        dstMemoryType: unified,
        dstDevice: r.dst.address,
        dstContext: context,
        dstPitch: r.shape.width,
        dstHeight: 1,
        WidthInBytes: r.shape.width,
        Height: 1,
        Depth: 1,
        ..Default::default()
    }
}

cases! {
    fn copies_by_address(cuda) {
        tables(cuda, Kind::LINEAR, &[
            Form {
                name: "cuMemcpy",
                shapes: ALL,
                call: |cuda, r| cu!(cuda, cuMemcpy(r.dst.address, r.src.address, r.shape.width)),
                ..Form::ANY
            },
            Form {
                name: "cuMemcpyAsync",
                streamed: true,
                shapes: ALL,
                call: |cuda, r| {
                    cu!(cuda, cuMemcpyAsync(r.dst.address, r.src.address, r.shape.width, r.stream))
                },
                ..Form::ANY
            },
        ])
    }

    fn copies_to_and_from_the_device(cuda) {
        tables(cuda, Kind::LINEAR, &[
            Form {
                name: "cuMemcpyHtoD",
                rule: Rule::CopyFromHost,
                sources: Kind::HOST,
                destinations: Kind::DEVICE,
                shapes: SOME,
                call: |cuda, r| {
                    let src = r.src.address as *const _;
                    cu!(cuda, cuMemcpyHtoD_v2(r.dst.address, src, r.shape.width))
                },
                ..Form::ANY
            },
            Form {
                name: "cuMemcpyHtoDAsync",
                rule: Rule::CopyFromHost,
                streamed: true,
                sources: Kind::HOST,
                destinations: Kind::DEVICE,
                shapes: SOME,
                call: |cuda, r| {
                    let src = r.src.address as *const _;
                    cu!(cuda, cuMemcpyHtoDAsync_v2(r.dst.address, src, r.shape.width, r.stream))
                },
            },
            Form {
                name: "cuMemcpyDtoH",
                rule: Rule::CopyToHost,
                sources: Kind::DEVICE,
                destinations: Kind::HOST,
                shapes: SOME,
                call: |cuda, r| {
                    let dst = r.dst.address as *mut _;
                    cu!(cuda, cuMemcpyDtoH_v2(dst, r.src.address, r.shape.width))
                },
                ..Form::ANY
            },
            Form {
                name: "cuMemcpyDtoHAsync",
                rule: Rule::CopyToHost,
                streamed: true,
                sources: Kind::DEVICE,
                destinations: Kind::HOST,
                shapes: SOME,
                call: |cuda, r| {
                    let dst = r.dst.address as *mut _;
                    cu!(cuda, cuMemcpyDtoHAsync_v2(dst, r.src.address, r.shape.width, r.stream))
                },
            },
            Form {
                name: "cuMemcpyDtoD",
                sources: Kind::DEVICE,
                destinations: Kind::DEVICE,
                shapes: SOME,
                call: |cuda, r| {
                    cu!(cuda, cuMemcpyDtoD_v2(r.dst.address, r.src.address, r.shape.width))
                },
                ..Form::ANY
            },
            Form {
                name: "cuMemcpyDtoDAsync",
                streamed: true,
                sources: Kind::DEVICE,
                destinations: Kind::DEVICE,
                shapes: SOME,
                call: |cuda, r| {
                    let (dst, src) = (r.dst.address, r.src.address);
                    cu!(cuda, cuMemcpyDtoDAsync_v2(dst, src, r.shape.width, r.stream))
                },
                ..Form::ANY
            },
        ])
    }

    fn copies_between_contexts(cuda) {
        tables(cuda, Kind::LINEAR, &[
            Form {
                name: "cuMemcpyPeer",
                sources: Kind::DEVICE,
                destinations: Kind::DEVICE,
                shapes: SOME,
                call: |cuda, r| {
                    let (context, len) = (current(cuda), r.shape.width);
                    cu!(cuda, cuMemcpyPeer(r.dst.address, context, r.src.address, context, len))
                },
                ..Form::ANY
            },
            Form {
                name: "cuMemcpyPeerAsync",
                streamed: true,
                sources: Kind::DEVICE,
                destinations: Kind::DEVICE,
                shapes: SOME,
                call: |cuda, r| {
                    let (at, len, stream) = (current(cuda), r.shape.width, r.stream);
                    let (dst, src) = (r.dst.address, r.src.address);
                    cu!(cuda, cuMemcpyPeerAsync(dst, at, src, at, len, stream))
                },
                ..Form::ANY
            },
            Form {
                name: "cuMemcpy3DPeer",
                shapes: SOME,
                call: |cuda, r| cu!(cuda, cuMemcpy3DPeer(&peer(cuda, r))),
                ..Form::ANY
            },
            Form {
                name: "cuMemcpy3DPeerAsync",
                streamed: true,
                shapes: SOME,
                call: |cuda, r| cu!(cuda, cuMemcpy3DPeerAsync(&peer(cuda, r), r.stream)),
                ..Form::ANY
            },
        ])
    }

    fn managed_variables(cuda) {
        let shapes = const { &[Shape::row(4), Shape::row(16 * K + 4)] };
        let variable = &[Kind::Variable];
        let kinds = &[Kind::Pageable, Kind::Pinned, Kind::Managed, Kind::Device, Kind::Variable];
        let by_address = Form {
            name: "cuMemcpy",
            shapes,
            call: |cuda, r| cu!(cuda, cuMemcpy(r.dst.address, r.src.address, r.shape.width)),
            ..Form::ANY
        };
        let set = Form {
            name: "cuMemsetD8",
            rule: Rule::Memset,
            shapes,
            sources: &[],
            destinations: variable,
            call: |cuda, r| cu!(cuda, cuMemsetD8_v2(r.dst.address, r.value, r.shape.width)),
            ..Form::ANY
        };
        tables(cuda, kinds, &[
            Form { sources: kinds, destinations: variable, ..by_address },
            Form { sources: variable, destinations: kinds, ..by_address },
            set,
        ])
    }
}
