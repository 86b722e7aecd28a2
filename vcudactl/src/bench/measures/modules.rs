//! Measures how long it takes to load and unload code.

use std::ptr::null_mut;
use std::time::{SystemTime, UNIX_EPOCH};

use super::p50;
use crate::bench::gpu::{Gpu, image};
use crate::bench::sample::{Measured, samples};
use crate::cuda::Failed;

/// The value of CU_JIT_INPUT_PTX.
const PTX: i32 = 1;
/// Number of kernels in the cubin that is loaded.
const KERNELS: usize = 100;

/// Returns PTX with this number of kernels, each of which writes `constant`.
fn ptx(constant: u32, kernels: usize) -> String {
    let mut text = ".version 7.0\n.target sm_75\n.address_size 64\n".to_owned();
    for number in 0..kernels {
        text += &format!(
            ".visible .entry k{number}(.param .u64 out)\n{{\n.reg .b32 %r<3>;\n.reg .b64 %rd<2>;\n\
             ld.param.u64 %rd1, [out];\nld.global.u32 %r1, [%rd1];\nmad.lo.s32 %r2, %r1, {}, \
             {constant};\nst.global.u32 [%rd1], %r2;\nret;\n}}\n",
            number + 3
        );
    }
    text
}

/// Measures loading the same PTX repeatedly.
pub(in crate::bench) fn same_ptx(gpu: &Gpu) -> Measured {
    let image = image(&ptx(7, 1));
    Ok(p50(&samples(gpu.count(100), || gpu.time_load(&image))?))
}

/// Measures loading PTX that hasn't been loaded before.
pub(in crate::bench) fn new_ptx(gpu: &Gpu) -> Measured {
    // NVIDIA's driver caches compiled PTX in files, so the constant must differ from that of
    // earlier runs.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut constant = now.as_nanos() as u32;
    let times = samples(gpu.count(40), || {
        constant = constant.wrapping_add(1);
        gpu.time_load(&image(&ptx(constant & 0x7fff_ffff, 1)))
    })?;
    Ok(p50(&times))
}

/// Measures loading the same cubin repeatedly.
pub(in crate::bench) fn cubin(gpu: &Gpu) -> Measured {
    let cubin = link(gpu, image(&ptx(7, gpu.count(KERNELS))))?;
    Ok(p50(&samples(gpu.count(100), || gpu.time_load(&cubin))?))
}

/// Returns the cubin that the linker creates from PTX.
fn link(gpu: &Gpu, mut ptx: Vec<u8>) -> Result<Vec<u8>, Failed> {
    let (mut state, mut cubin, mut bytes) = (null_mut(), null_mut(), 0);
    let cuda = &gpu.cuda;
    // SAFETY: the pointers are to live variables, and there are no options. The cubin is copied
    // before the link that owns it is destroyed.
    unsafe {
        cuda.link_create(0, null_mut(), null_mut(), &mut state)?;
        let (data, size) = (ptx.as_mut_ptr().cast(), ptx.len());
        cuda.link_add(state, PTX, data, size, c"bench".as_ptr(), 0, null_mut(), null_mut())?;
        cuda.link_complete(state, &mut cubin, &mut bytes)?;
        let cubin = std::slice::from_raw_parts(cubin.cast::<u8>(), bytes).to_vec();
        cuda.link_destroy(state)?;
        Ok(cubin)
    }
}
