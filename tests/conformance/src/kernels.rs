//! The PTX and fat binaries that the cases load, for every GPU since Volta.

use std::ffi::CStr;

/// A fat binary from nvcc with the kernel `twice(float *values, int count)`, which doubles each
/// value.
pub const FAT_BINARY: &[u8] = include_bytes!("../../../cuda-api/tests/data/plain.fatbin");

/// `fill(pointer, value, count)` stores a 32-bit value in each element. `add(pointer, value,
/// count)` adds the value to each element. `step` is a 32-bit variable whose initial value is 5.
pub const FILL: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 step = 5;
.visible .entry fill(.param .u64 pointer, .param .u32 value, .param .u32 count) {
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [pointer];
    ld.param.u32 %r1, [value];
    ld.param.u32 %r2, [count];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r3, %r3, %r4, %r5;
    setp.ge.u32 %p1, %r3, %r2;
    @%p1 bra done;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r3, 4;
    add.s64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r1;
done:
    ret;
}
.visible .entry add(.param .u64 pointer, .param .u32 value, .param .u32 count) {
    .reg .pred %p<2>;
    .reg .b32 %r<7>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [pointer];
    ld.param.u32 %r1, [value];
    ld.param.u32 %r2, [count];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r3, %r3, %r4, %r5;
    setp.ge.u32 %p1, %r3, %r2;
    @%p1 bra done;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r3, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.u32 %r6, [%rd4];
    add.u32 %r6, %r6, %r1;
    st.global.u32 [%rd4], %r6;
done:
    ret;
}
";

/// `store(args)` has 4096 bytes of parameters. It stores the 32-bit value at offset 8 of the
/// parameters at the address that is at offset 0.
pub const LONG_PARAMETER: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .entry store(.param .align 8 .b8 args[4096]) {
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [args];
    ld.param.u32 %r1, [args+8];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.u32 [%rd2], %r1;
    ret;
}
";

/// `double_and_add(pointer, value)` waits for the kernels before it, even if they are connected by
/// programmatic edges. After that, it doubles the 32-bit word and adds `value`. It lets the next
/// kernel start early. One thread does all the work.
pub const DEPENDENT: &CStr = c"
.version 7.8
.target sm_90
.address_size 64
.visible .entry double_and_add(.param .u64 pointer, .param .u32 value) {
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    griddepcontrol.launch_dependents;
    griddepcontrol.wait;
    ld.param.u64 %rd1, [pointer];
    ld.param.u32 %r1, [value];
    cvta.to.global.u64 %rd1, %rd1;
    ld.global.u32 %r2, [%rd1];
    mad.lo.u32 %r2, %r2, 2, %r1;
    st.global.u32 [%rd1], %r2;
    ret;
}
";

/// `count(pointer, limit, handle)` adds 1 to the 32-bit word, and sets the value of a conditional
/// node to 1 if the result is less than `limit`, and otherwise to 0. `choose(pointer, handle)` sets
/// the value of a conditional node to the 32-bit word. One thread does all the work.
pub const CONDITIONAL: &CStr = c"
.version 8.3
.target sm_90
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry count(.param .u64 pointer, .param .u32 limit, .param .u64 handle) {
    .reg .pred %p;
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [pointer];
    ld.param.u32 %r1, [limit];
    ld.param.u64 %rd2, [handle];
    cvta.to.global.u64 %rd1, %rd1;
    ld.global.u32 %r2, [%rd1];
    add.u32 %r2, %r2, 1;
    st.global.u32 [%rd1], %r2;
    setp.lt.u32 %p, %r2, %r1;
    selp.u32 %r3, 1, 0, %p;
    {
        .param .b64 first;
        .param .b32 second;
        st.param.b64 [first], %rd2;
        st.param.b32 [second], %r3;
        call.uni cudaGraphSetConditional, (first, second);
    }
    ret;
}
.visible .entry choose(.param .u64 pointer, .param .u64 handle) {
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [pointer];
    ld.param.u64 %rd2, [handle];
    cvta.to.global.u64 %rd1, %rd1;
    ld.global.u32 %r1, [%rd1];
    {
        .param .b64 first;
        .param .b32 second;
        st.param.b64 [first], %rd2;
        st.param.b32 [second], %r1;
        call.uni cudaGraphSetConditional, (first, second);
    }
    ret;
}
";
