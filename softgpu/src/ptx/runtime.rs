//! Device code that replaces CUDA's device runtime library, `libcudadevrt`. NVIDIA's library
//! contains only machine code, which softgpu can't run.

use super::error::PtxError;
use super::unit::{self, Unit};

/// The functions that implement the barrier of a cooperative grid. A grid's handle is the address
/// of the launch's workspace. When all blocks have arrived at the barrier, they have added
/// 0x80000000 to its word, so the word's top bit flips when the last block arrives.
const COOPERATIVE_GROUPS: &str = "
.version 7.0
.target sm_70
.address_size 64
.weak .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope) {
    .reg .pred %p;
    .reg .b32 %r<4>;
    .reg .b64 %d;
    ld.param.u32 %r1, [scope];
    mov.u32 %r2, %envreg1;
    mov.u32 %r3, %envreg2;
    mov.b64 %d, {%r3, %r2};
    setp.eq.u32 %p, %r1, 1;
    selp.b64 %d, %d, 0, %p;
    st.param.b64 [handle], %d;
    ret;
}
.weak .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags) {
    .reg .pred %p;
    .reg .b32 %r<10>;
    .reg .b64 %d;
    ld.param.u64 %d, [handle];
    setp.eq.u64 %p, %d, 0;
    @%p bra invalid;
    bar.sync 0;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %tid.y;
    or.b32 %r1, %r1, %r2;
    mov.u32 %r2, %tid.z;
    or.b32 %r1, %r1, %r2;
    setp.ne.u32 %p, %r1, 0;
    @%p bra arrived;
    mov.u32 %r3, %nctaid.x;
    mov.u32 %r4, %nctaid.y;
    mul.lo.u32 %r3, %r3, %r4;
    mov.u32 %r4, %nctaid.z;
    mul.lo.u32 %r3, %r3, %r4;
    mov.u32 %r5, %ctaid.x;
    mov.u32 %r6, %ctaid.y;
    or.b32 %r5, %r5, %r6;
    mov.u32 %r6, %ctaid.z;
    or.b32 %r5, %r5, %r6;
    sub.u32 %r6, 0x80000001, %r3;
    setp.eq.u32 %p, %r5, 0;
    selp.b32 %r6, %r6, 1, %p;
    membar.gl;
    atom.global.add.u32 %r7, [%d+4], %r6;
wait:
    ld.volatile.global.u32 %r8, [%d+4];
    xor.b32 %r9, %r7, %r8;
    setp.ge.s32 %p, %r9, 0;
    @%p bra wait;
    membar.gl;
arrived:
    bar.sync 0;
    st.param.b32 [error], 0;
    ret;
invalid:
    st.param.b32 [error], 1;
    ret;
}
";

/// The function that sets the value of a conditional node. The node's handle is the address of its
/// value.
const CONDITIONAL: &str = "
.version 7.0
.target sm_70
.address_size 64
.weak .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value) {
    .reg .b32 %r;
    .reg .b64 %d;
    ld.param.u64 %d, [handle];
    ld.param.u32 %r, [value];
    st.volatile.global.u32 [%d], %r;
    ret;
}
";

/// The parts of the library, each with the functions that it defines.
const PARTS: &[(&str, &[&str])] = &[
    (COOPERATIVE_GROUPS, &["cudaCGGetIntrinsicHandle", "cudaCGSynchronize"]),
    (CONDITIONAL, &["cudaGraphSetConditional"]),
];

/// Returns the parts of the device runtime library that define functions which `units` declare but
/// don't define.
pub(super) fn needed(units: &[Unit]) -> Result<Vec<Unit>, PtxError> {
    let declared = |names: &[&str]| {
        units
            .iter()
            .flat_map(|unit| &unit.functions)
            .any(|function| function.body.is_none() && names.contains(&function.name.as_str()))
    };
    let parts = PARTS.iter().filter(|(_, names)| declared(names));
    parts.map(|(code, _)| unit::parse((*code).to_owned())).collect()
}
