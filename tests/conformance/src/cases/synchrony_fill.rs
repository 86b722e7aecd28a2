//! When memsets return.

use super::cases;
use crate::cuda::cu;
use crate::synchrony::{Form, Kind, Request, Rule, Shape, tables};

const K: usize = 1 << 10;

const ROWS: &[Shape] = &[Shape::row(4), Shape::row(64 * K + 4), Shape::row((1 << 20) + 4)];
const RECTANGLES: &[Shape] = &[Shape::row(4), rows(4, 3), rows(64 * K, 8)];

/// Returns a shape that consists of rows with gaps between them.
const fn rows(width: usize, height: usize) -> Shape {
    Shape { height, pitch: width + 64, ..Shape::row(width) }
}

const ANY: Form = Form {
    rule: Rule::Memset,
    sources: &[],
    destinations: Kind::DEVICE,
    shapes: ROWS,
    ..Form::ANY
};

impl Request {
    fn word(&self) -> u32 {
        u32::from_ne_bytes([self.value; 4])
    }

    fn half(&self) -> u16 {
        u16::from_ne_bytes([self.value; 2])
    }
}

cases! {
    fn rows_of_memory(cuda) {
        tables(cuda, Kind::DEVICE, &[
            Form {
                name: "cuMemsetD8",
                call: |cuda, r| cu!(cuda, cuMemsetD8_v2(r.dst.on_gpu, r.value, r.shape.width)),
                ..ANY
            },
            Form {
                name: "cuMemsetD16",
                call: |cuda, r| cu!(cuda, cuMemsetD16_v2(r.dst.on_gpu, r.half(), r.shape.width / 2)),
                ..ANY
            },
            Form {
                name: "cuMemsetD32",
                call: |cuda, r| cu!(cuda, cuMemsetD32_v2(r.dst.on_gpu, r.word(), r.shape.width / 4)),
                ..ANY
            },
            Form {
                name: "cuMemsetD8Async",
                streamed: true,
                call: |cuda, r| {
                    cu!(cuda, cuMemsetD8Async(r.dst.on_gpu, r.value, r.shape.width, r.stream))
                },
                ..ANY
            },
            Form {
                name: "cuMemsetD16Async",
                streamed: true,
                call: |cuda, r| {
                    let count = r.shape.width / 2;
                    cu!(cuda, cuMemsetD16Async(r.dst.on_gpu, r.half(), count, r.stream))
                },
                ..ANY
            },
            Form {
                name: "cuMemsetD32Async",
                streamed: true,
                call: |cuda, r| {
                    let count = r.shape.width / 4;
                    cu!(cuda, cuMemsetD32Async(r.dst.on_gpu, r.word(), count, r.stream))
                },
                ..ANY
            },
        ])
    }

    fn rectangles_of_memory(cuda) {
        tables(cuda, Kind::DEVICE, &[
            Form {
                name: "cuMemsetD2D8",
                shapes: RECTANGLES,
                call: |cuda, r| {
                    let (at, Shape { pitch, width, height, .. }) = (r.dst.on_gpu, r.shape);
                    cu!(cuda, cuMemsetD2D8_v2(at, pitch, r.value, width, height))
                },
                ..ANY
            },
            Form {
                name: "cuMemsetD2D16",
                shapes: RECTANGLES,
                call: |cuda, r| {
                    let (at, Shape { pitch, width, height, .. }) = (r.dst.on_gpu, r.shape);
                    cu!(cuda, cuMemsetD2D16_v2(at, pitch, r.half(), width / 2, height))
                },
                ..ANY
            },
            Form {
                name: "cuMemsetD2D32",
                shapes: RECTANGLES,
                call: |cuda, r| {
                    let (at, Shape { pitch, width, height, .. }) = (r.dst.on_gpu, r.shape);
                    cu!(cuda, cuMemsetD2D32_v2(at, pitch, r.word(), width / 4, height))
                },
                ..ANY
            },
            Form {
                name: "cuMemsetD2D8Async",
                streamed: true,
                shapes: RECTANGLES,
                call: |cuda, r| {
                    let (at, Shape { pitch, width, height, .. }) = (r.dst.on_gpu, r.shape);
                    cu!(cuda, cuMemsetD2D8Async(at, pitch, r.value, width, height, r.stream))
                },
                ..ANY
            },
            Form {
                name: "cuMemsetD2D16Async",
                streamed: true,
                shapes: RECTANGLES,
                call: |cuda, r| {
                    let (at, Shape { pitch, width, height, .. }) = (r.dst.on_gpu, r.shape);
                    cu!(cuda, cuMemsetD2D16Async(at, pitch, r.half(), width / 2, height, r.stream))
                },
                ..ANY
            },
            Form {
                name: "cuMemsetD2D32Async",
                streamed: true,
                shapes: RECTANGLES,
                call: |cuda, r| {
                    let (at, Shape { pitch, width, height, .. }) = (r.dst.on_gpu, r.shape);
                    cu!(cuda, cuMemsetD2D32Async(at, pitch, r.word(), width / 4, height, r.stream))
                },
                ..ANY
            },
        ])
    }
}
