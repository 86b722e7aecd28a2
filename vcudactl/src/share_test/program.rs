//! The CUDA program of `test`. It runs in its own process, so that a crash or a hang of the library
//! is only a result of the test. Its standard input is the library. It reports each step on
//! standard output as soon as the step is done.

use std::ffi::c_int;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::ptr::null_mut;
use std::time::Instant;

use super::child::{Failure, Outcome, Step};
use crate::cli::NAME;
use crate::cuda::{Cuda, Failed, Handle, Pointer, STDIN_LIBRARY};

/// Number of values that the kernel computes.
const COUNT: u32 = 1 << 20;
const BLOCK: u32 = 256;
const BYTES: usize = COUNT as usize * 4;

/// A kernel that computes 3x + 7 for each value, as PTX for every GPU that CUDA 13 supports.
const PTX: &str = "\
.version 7.0
.target sm_75
.address_size 64
.visible .entry affine(.param .u64 in, .param .u64 out, .param .u32 count)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<6>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [count];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra DONE;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mul.wide.u32 %rd3, %r4, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.u32 %r6, [%rd4];
    mad.lo.s32 %r7, %r6, 3, 7;
    st.global.u32 [%rd5], %r7;
DONE:
    ret;
}
\0";

/// Runs the test's steps, and reports each of them.
pub(crate) fn main() -> ExitCode {
    // The process's name becomes the session's name. By default, it would be that of
    // /proc/self/exe.
    let _ = std::fs::write("/proc/self/comm", NAME);
    let mut steps = Steps { gpu: None };
    match run(&mut steps) {
        Ok(()) => ExitCode::SUCCESS,
        Err((step, (code, text))) => {
            let failure = Failure { step: step.into(), gpu: steps.gpu, code, text };
            report(&Outcome::Failed(failure));
            ExitCode::FAILURE
        }
    }
}

fn report(outcome: &Outcome) {
    let text = serde_json::to_string(outcome).unwrap_or_default();
    // Ignore an error: if nothing reads the output any longer, no one needs the result.
    let _ = writeln!(std::io::stdout(), "{text}");
}

struct Steps {
    gpu: Option<u32>,
}

impl Steps {
    /// Performs a step, and reports how long it took.
    fn take<T>(
        &mut self,
        step: &'static str,
        action: impl FnOnce() -> Result<T, Failed>,
    ) -> Result<T, (&'static str, Failed)> {
        report(&Outcome::Began(step.into(), self.gpu));
        let began = Instant::now();
        let value = action().map_err(|error| (step, error))?;
        let ns = began.elapsed().as_nanos().try_into().unwrap_or(u64::MAX);
        report(&Outcome::Done(Step { step: step.into(), gpu: self.gpu, ns }));
        Ok(value)
    }
}

fn run(steps: &mut Steps) -> Result<(), (&'static str, Failed)> {
    let (cuda, count) = steps.take("connect", || {
        let cuda = Cuda::load(Path::new(STDIN_LIBRARY))?;
        let mut count = 0;
        // SAFETY: cuInit has no preconditions.
        unsafe { cuda.init(0) }?;
        // SAFETY: `count` is writable.
        unsafe { cuda.device_count(&mut count) }?;
        Ok((cuda, count))
    })?;
    for device in 0..count {
        steps.gpu = device.try_into().ok();
        use_gpu(&cuda, device, steps)?;
    }
    Ok(())
}

fn use_gpu(cuda: &Cuda, device: c_int, steps: &mut Steps) -> Result<(), (&'static str, Failed)> {
    let input: Vec<u32> = (0..COUNT).map(|index| index.wrapping_mul(2_654_435_761)).collect();
    let mut output = vec![0u32; input.len()];
    let (mut context, mut module, mut kernel): (Handle, Handle, Handle) =
        (null_mut(), null_mut(), null_mut());
    let (mut from, mut to): (Pointer, Pointer) = (0, 0);
    steps.take("session", || {
        // SAFETY: `context` is writable, and the call that sets it has succeeded before the next
        // call uses it.
        unsafe {
            cuda.retain(&mut context, device)?;
            cuda.set_current(context)
        }
    })?;
    steps.take("allocate", || {
        // SAFETY: both pointers are to live variables.
        unsafe {
            cuda.alloc(&mut from, BYTES)?;
            cuda.alloc(&mut to, BYTES)
        }
    })?;
    steps.take("copy", || {
        // SAFETY: `input` and the allocation have this many bytes.
        unsafe { cuda.copy_to(from, input.as_ptr().cast(), BYTES) }
    })?;
    steps.take("load", || {
        // SAFETY: the handles are writable, and the PTX and the name end with a null byte.
        unsafe {
            cuda.load_module(&mut module, PTX.as_ptr().cast())?;
            let name = c"affine".as_ptr();
            cuda.function(&mut kernel, module, name)
        }
    })?;
    steps.take("launch", || {
        let mut count = COUNT;
        let mut arguments = [(&raw mut from).cast(), (&raw mut to).cast(), (&raw mut count).cast()];
        let (blocks, null) = (COUNT.div_ceil(BLOCK), null_mut());
        let arguments = arguments.as_mut_ptr();
        // SAFETY: there is a pointer to a variable for each of the kernel's parameters. The call
        // copies the variables before it returns.
        unsafe {
            cuda.launch(kernel, blocks, 1, 1, BLOCK, 1, 1, 0, null, arguments, null_mut())?;
            cuda.synchronize()
        }
    })?;
    steps.take("verify", || {
        // SAFETY: `output` and the allocation have this many bytes.
        unsafe { cuda.copy_from(output.as_mut_ptr().cast(), to, BYTES) }?;
        let expected = input.iter().map(|value| value.wrapping_mul(3).wrapping_add(7));
        let mut all = output.iter().zip(expected).enumerate();
        match all.find(|(_, (found, expected))| *found != expected) {
            None => Ok(()),
            Some((index, (found, expected))) => {
                Err((0, format!("value {index} is {found:#x} instead of {expected:#x}")))
            }
        }
    })?;
    steps.take("free", || {
        // SAFETY: these objects exist, and nothing uses them any longer, because all work has
        // finished.
        unsafe {
            cuda.free(from)?;
            cuda.free(to)?;
            cuda.unload_module(module)?;
            cuda.release_primary(device)
        }
    })
}
