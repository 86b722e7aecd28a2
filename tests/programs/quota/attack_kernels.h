// PTX of the attack's kernels. None of the kernels can fail: they access only memory that they have
// checked, and they don't recurse.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

// Returns PTX of a kernel that has this much local memory, and accesses 64 bytes of it. Each text
// contains a different number, so that the driver can't have compiled it before.
inline std::string with_local(size_t bytes, uint64_t salt, size_t globals = 4) {
    char text[2048];
    std::snprintf(text, sizeof text, R"(.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 salt = %u;
.visible .global .align 16 .b8 large[%zu];
.visible .entry k()
{
    .local .align 16 .b8 mine[%zu];
    .reg .pred %%p;
    .reg .b32 %%r<4>;
    .reg .b64 %%d<5>;
    mov.u64 %%d1, mine;
    mov.u64 %%d4, salt;
    ld.volatile.global.u32 %%r1, [%%d4];
    and.b32 %%r1, %%r1, 12;
LOOP:
    and.b32 %%r2, %%r1, 60;
    cvt.u64.u32 %%d2, %%r2;
    add.s64 %%d3, %%d1, %%d2;
    ld.local.u32 %%r3, [%%d3];
    add.u32 %%r3, %%r3, %%r1;
    st.local.u32 [%%d3], %%r3;
    add.u32 %%r1, %%r1, 4;
    setp.lt.u32 %%p, %%r1, 64;
    @%%p bra LOOP;
    st.global.u32 [%%d4], %%r3;
    ret;
}
)",
                  (unsigned)salt, globals, bytes);
    return text;
}

// PTX of a kernel that allocates 16 bytes, and frees them if the allocation succeeded.
inline const char *const ALLOCATING = R"(.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b64 r) malloc (.param .b64 n);
.extern .func free (.param .b64 p);
.visible .entry k()
{
    .reg .pred %p;
    .reg .b64 %d<3>;
    mov.u64 %d1, 16;
    {
        .param .b64 n1;
        st.param.b64 [n1], %d1;
        .param .b64 r;
        call.uni (r), malloc, (n1);
        ld.param.b64 %d2, [r];
    }
    setp.eq.u64 %p, %d2, 0;
    @%p bra OUT;
    {
        .param .b64 p1;
        st.param.b64 [p1], %d2;
        call.uni free, (p1);
    }
OUT:
    ret;
}
)";

// PTX of a kernel that prints an empty text.
inline const char *const PRINTING = R"(.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[2] = {32, 0};
.visible .entry k()
{
    .reg .b32 %r1;
    .reg .b64 %d<3>;
    mov.u64 %d1, text;
    cvta.global.u64 %d1, %d1;
    mov.u64 %d2, 0;
    {
        .param .b64 f;
        st.param.b64 [f], %d1;
        .param .b64 a;
        st.param.b64 [a], %d2;
        .param .b32 r;
        call.uni (r), vprintf, (f, a);
        ld.param.b32 %r1, [r];
    }
    ret;
}
)";
