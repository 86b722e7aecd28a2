//! When batches of copies return. CUDA permits much: the source must be read before the call
//! returns only if the program asks for that. Otherwise, it suffices that the copies are in the
//! stream's order.

use super::cases;
use crate::cuda::{Cuda, cu};
use crate::synchrony::{Form, Kind, Order as When, Request, Rule, Shape, tables};
use cuda_api::sys::{
    CUDA_MEMCPY3D_BATCH_OP, CUextent3D, CUmemcpy3DOperand,
    CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1 as PointerOperand,
    CUmemcpy3DOperandType as Operand, CUmemcpyAttributes, CUmemcpySrcAccessOrder as Order,
};

const K: usize = 1 << 10;
const KINDS: &[Kind] = &[Kind::Pageable, Kind::Pinned, Kind::Managed, Kind::Device];

/// The lengths of the copies. Longer ones aren't tested, because NVIDIA's driver reads longer
/// pageable sources after the call has returned, even if the program allows it to read them only
/// during the call.
const SHAPES: &[Shape] = &[Shape::row(4), Shape::row(16 * K + 1), Shape::row(64 * K)];

const ANY: Form =
    Form { streamed: true, sources: KINDS, destinations: KINDS, shapes: SHAPES, ..Form::ANY };

/// Submits a batch that consists of one copy.
fn batch(cuda: &Cuda, r: &Request, order: Order) -> crate::cuda::Called {
    let how = CUmemcpyAttributes { srcAccessOrder: order, ..Default::default() };
    let (mut dst, mut src, mut size) = ([r.dst.address], [r.src.address], [r.shape.width]);
    let (mut how, mut first) = ([how], [0]);
    let (d, s, n) = (dst.as_mut_ptr(), src.as_mut_ptr(), size.as_mut_ptr());
    let (a, f) = (how.as_mut_ptr(), first.as_mut_ptr());
    cu!(cuda, cuMemcpyBatchAsync_v2(d, s, n, 1, a, f, 1, r.stream))
}

/// Returns the parameters of a batch that consists of one box.
fn box_batch(r: &Request, order: Order) -> CUDA_MEMCPY3D_BATCH_OP {
    let operand = |ptr| {
        let type_ = Operand::CU_MEMCPY_OPERAND_TYPE_POINTER;
        let mut operand = CUmemcpy3DOperand { type_, ..Default::default() };
        operand.op.ptr = PointerOperand { ptr, ..Default::default() };
        operand
    };
    CUDA_MEMCPY3D_BATCH_OP {
        src: operand(r.src.address),
        dst: operand(r.dst.address),
        extent: CUextent3D { width: r.shape.width, height: 1, depth: 1 },
        srcAccessOrder: order,
        flags: 0,
    }
}

cases! {
    fn batches(cuda) {
        tables(cuda, KINDS, &[
            Form {
                name: "cuMemcpyBatchAsync in stream order",
                rule: Rule::Batch(When::Stream),
                                call: |cuda, r| batch(cuda, r, Order::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM),
                ..ANY
            },
            Form {
                name: "cuMemcpyBatchAsync during the call",
                rule: Rule::Batch(When::DuringCall),
                                call: |cuda, r| batch(cuda, r, Order::CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL),
                ..ANY
            },
            Form {
                name: "cuMemcpyBatchAsync in any order",
                rule: Rule::Batch(When::Any),
                                call: |cuda, r| batch(cuda, r, Order::CU_MEMCPY_SRC_ACCESS_ORDER_ANY),
                ..ANY
            },
            Form {
                name: "cuMemcpy3DBatchAsync in stream order",
                rule: Rule::Batch(When::Stream),
                                call: |cuda, r| {
                    let mut op = box_batch(r, Order::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
                    cu!(cuda, cuMemcpy3DBatchAsync_v2(1, &mut op, 0, r.stream))
                },
                ..ANY
            },
            Form {
                name: "cuMemcpy3DBatchAsync during the call",
                rule: Rule::Batch(When::DuringCall),
                                call: |cuda, r| {
                    let mut op = box_batch(r, Order::CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
                    cu!(cuda, cuMemcpy3DBatchAsync_v2(1, &mut op, 0, r.stream))
                },
                ..ANY
            },
            Form {
                name: "cuMemcpy3DBatchAsync in any order",
                rule: Rule::Batch(When::Any),
                                call: |cuda, r| {
                    let mut op = box_batch(r, Order::CU_MEMCPY_SRC_ACCESS_ORDER_ANY);
                    cu!(cuda, cuMemcpy3DBatchAsync_v2(1, &mut op, 0, r.stream))
                },
                ..ANY
            },
        ])
    }
}
