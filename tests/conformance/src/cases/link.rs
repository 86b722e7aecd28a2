//! The linker, and the options of the JIT compiler.

use super::cases;
use crate::cuda::{Called, Cuda, Outcome, parameter};
use crate::cuda::{cu, ensure, get, refused, same};
use crate::file::File;
use crate::kernels::FILL;
use cuda_api::sys::{CUjit_option, CUjitInputType, CUlinkState};
use std::ffi::{CStr, c_void};
use std::ptr::{null_mut, without_provenance_mut};

/// PTX that calls the function `plus` and reads the variable `factor`, both of which [`CALLED`]
/// defines. Its own function `picked` is weak, so `CALLED` can replace it.
const CALLER: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b32 sum) plus(.param .b32 a, .param .b32 b);
.extern .global .u32 factor;
.weak .func (.param .b32 value) picked() {
    st.param.b32 [value], 1;
    ret;
}
.visible .entry test(.param .u64 pointer) {
    .reg .b64 %rd<3>;
    .reg .b32 %r<4>;
    ld.param.u64 %rd1, [pointer];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.u32 %r1, [factor];
    {
        .param .b32 a;
        .param .b32 b;
        .param .b32 sum;
        st.param.b32 [a], %r1;
        st.param.b32 [b], 5;
        call.uni (sum), plus, (a, b);
        ld.param.b32 %r2, [sum];
    }
    {
        .param .b32 value;
        call.uni (value), picked, ();
        ld.param.b32 %r3, [value];
    }
    st.global.u32 [%rd2], %r2;
    st.global.u32 [%rd2+4], %r3;
    ret;
}
";
const CALLED: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .global .u32 factor = 37;
.visible .func (.param .b32 sum) plus(.param .b32 a, .param .b32 b) {
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [a];
    ld.param.b32 %r2, [b];
    add.u32 %r3, %r1, %r2;
    st.param.b32 [sum], %r3;
    ret;
}
.visible .func (.param .b32 value) picked() {
    st.param.b32 [value], 2;
    ret;
}
";

fn create(cuda: &Cuda) -> Outcome<CUlinkState> {
    Ok(get!(cuda, cuLinkCreate_v2(0, null_mut(), null_mut(), @))?)
}

fn add(cuda: &Cuda, link: CUlinkState, kind: CUjitInputType, bytes: &[u8]) -> Called {
    let (data, name) = (bytes.as_ptr().cast_mut().cast::<c_void>(), c"input".as_ptr());
    let none = (null_mut(), null_mut());
    cu!(cuda, cuLinkAddData_v2(link, kind, data, bytes.len(), name, 0, none.0, none.1))
}

const PTX: CUjitInputType = CUjitInputType::CU_JIT_INPUT_PTX;

cases! {
    fn linked_texts_share_functions_and_variables(cuda, primary) {
        let link = create(cuda)?;
        add(cuda, link, PTX, CALLER.to_bytes_with_nul())?;
        add(cuda, link, PTX, CALLED.to_bytes_with_nul())?;
        let (mut image, mut size) = (null_mut(), 0);
        cu!(cuda, cuLinkComplete(link, &mut image, &mut size))?;
        ensure!(size > 0, "the image is empty");
        let (mut module, mut function) = (null_mut(), null_mut());
        cu!(cuda, cuModuleLoadData(&mut module, image))?;
        cu!(cuda, cuLinkDestroy(link))?;
        cu!(cuda, cuModuleGetFunction(&mut function, module, c"test".as_ptr()))?;
        let pointer = cuda.alloc(8)?;
        cuda.launch(function, [1, 1], null_mut(), &mut [parameter(&pointer)])?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(cuda.download::<u32>(pointer, 2)?, [42, 2]);
        let (mut factor, mut bytes) = (0, 0);
        cu!(cuda, cuModuleGetGlobal_v2(&mut factor, &mut bytes, module, c"factor".as_ptr()))?;
        same!(bytes, 4);
        same!(cuda.download::<u32>(factor, 1)?, [37]);
        cu!(cuda, cuModuleUnload(module))?;
    }

    fn a_file_can_be_linked(cuda, primary) {
        let link = create(cuda)?;
        let file = File::new("fill.ptx", FILL.to_bytes())?;
        let (path, none) = (file.name(), (null_mut(), null_mut()));
        cu!(cuda, cuLinkAddFile_v2(link, PTX, path.as_ptr(), 0, none.0, none.1))?;
        file.remove();
        let gone = cu!(cuda, cuLinkAddFile_v2(link, PTX, path.as_ptr(), 0, none.0, none.1));
        refused!(gone, FILE_NOT_FOUND);
        let (mut image, mut size, mut module, mut function) = (null_mut(), 0, null_mut(), null_mut());
        cu!(cuda, cuLinkComplete(link, &mut image, &mut size))?;
        cu!(cuda, cuModuleLoadData(&mut module, image))?;
        cu!(cuda, cuModuleGetFunction(&mut function, module, c"fill".as_ptr()))?;
        cu!(cuda, cuLinkDestroy(link))?;
    }

    fn a_broken_text_is_refused_with_a_log(cuda, primary) {
        let mut log = vec![0u8; 8192];
        let mut options = [
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        let mut values = [log.as_mut_ptr().cast(), without_provenance_mut(log.len())];
        let mut link = null_mut();
        cu!(cuda, cuLinkCreate_v2(2, options.as_mut_ptr(), values.as_mut_ptr(), &mut link))?;
        let broken = c".version 7.0\n.target sm_70\n.address_size 64\nnonsense;\n";
        refused!(add(cuda, link, PTX, broken.to_bytes_with_nul()), INVALID_PTX);
        ensure!(log[0] != 0, "the log is empty");
        cu!(cuda, cuLinkDestroy(link))?;
        // An input with an undefined symbol is accepted. The error occurs only when the link is
        // completed.
        let link = create(cuda)?;
        add(cuda, link, PTX, CALLER.to_bytes_with_nul())?;
        let (mut image, mut size) = (null_mut(), 0);
        let completed = cu!(cuda, cuLinkComplete(link, &mut image, &mut size));
        ensure!(completed.is_err(), "undefined symbols were accepted");
        cu!(cuda, cuLinkDestroy(link))?;
    }

    fn loading_writes_back_the_time_and_the_info_log(cuda, primary) {
        let mut log = vec![1u8; 4096];
        let mut options = [
            CUjit_option::CU_JIT_WALL_TIME,
            CUjit_option::CU_JIT_INFO_LOG_BUFFER,
            CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
            CUjit_option::CU_JIT_OPTIMIZATION_LEVEL,
        ];
        let unset: *mut c_void = without_provenance_mut(usize::MAX);
        let text = log.as_mut_ptr().cast();
        let mut values =
            [unset, text, without_provenance_mut(log.len()), without_provenance_mut(4)];
        let (mut module, image) = (null_mut(), FILL.as_ptr().cast());
        let (names, settings) = (options.as_mut_ptr(), values.as_mut_ptr());
        cu!(cuda, cuModuleLoadDataEx(&mut module, image, 4, names, settings))?;
        let time = f32::from_bits(values[0].addr() as u32);
        ensure!((0.0..600_000.0).contains(&time), "the wall time is {time} ms");
        ensure!(values[2].addr() < log.len(), "the info log's size is {}", values[2].addr());
        ensure!(log.contains(&0), "the info log doesn't end");
        cu!(cuda, cuModuleUnload(module))?;
    }
}
