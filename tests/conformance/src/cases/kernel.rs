//! Kernels: launches, attributes, parameters, and occupancy.

use super::cases;
use super::peer::has_second;
use crate::cuda::parameter;
use crate::cuda::{Outcome, cu, ensure, get, refused, same};
use crate::kernels::{FILL, LONG_PARAMETER};
use cuda_api::sys::{
    CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT as POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT as SIZE,
    CUDA_LAUNCH_PARAMS, CUfunction_attribute as Attribute, CUstreamCaptureMode as Mode,
};
use std::ffi::c_void;
use std::ptr::null_mut;

cases! {
    fn a_launch_writes_memory(cuda, primary) {
        let (_, fill) = cuda.kernel(FILL, c"fill")?;
        let pointer = cuda.alloc(4000)?;
        cu!(cuda, cuMemsetD32_v2(pointer, 1, 1000))?;
        let (value, count) = (42u32, 900u32);
        let mut parameters = [parameter(&pointer), parameter(&value), parameter(&count)];
        cuda.launch(fill, [8, 128], null_mut(), &mut parameters)?;
        let values = cuda.download::<u32>(pointer, 1000)?;
        ensure!(values[..900].iter().all(|value| *value == 42), "an element wasn't filled");
        ensure!(values[900..].iter().all(|value| *value == 1), "an element past the end changed");
    }

    fn launches_with_invalid_dimensions_are_refused(cuda, primary) {
        let (_, fill) = cuda.kernel(FILL, c"fill")?;
        let pointer = cuda.alloc(16)?;
        let (value, count) = (0u32, 4u32);
        let mut parameters = [parameter(&pointer), parameter(&value), parameter(&count)];
        refused!(cuda.launch(fill, [0, 1], null_mut(), &mut parameters), INVALID_VALUE);
        refused!(cuda.launch(fill, [1, 0], null_mut(), &mut parameters), INVALID_VALUE);
        refused!(cuda.launch(fill, [1, 2048], null_mut(), &mut parameters), INVALID_VALUE);
        cuda.launch(fill, [1, 4], null_mut(), &mut parameters)?;
        cu!(cuda, cuCtxSynchronize())?;
    }

    /// If a kernel doesn't read the end of its last parameter, a program may omit that end from the
    /// parameter buffer, as NCCL does.
    fn a_parameter_buffer_may_be_shorter_than_the_parameters(cuda, primary) {
        let (_, store) = cuda.kernel(LONG_PARAMETER, c"store")?;
        let memory = cuda.alloc(8)?;
        let (mut stream, mut graph, mut exec) = (null_mut(), null_mut(), null_mut());
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        let launch = |offset: u64, value: u64| -> Outcome {
            let mut buffer = [memory + offset, value];
            let mut size = size_of_val(&buffer);
            let mut extra = [
                POINTER as usize as *mut c_void,
                buffer.as_mut_ptr().cast(),
                SIZE as usize as *mut c_void,
                (&raw mut size).cast(),
                null_mut(),
            ];
            cu!(
                cuda,
                cuLaunchKernel(
                    store, 1, 1, 1, 1, 1, 1, 0, stream, null_mut(), extra.as_mut_ptr(),
                )
            )?;
            Ok(())
        };
        launch(0, 7)?;
        cu!(cuda, cuStreamBeginCapture_v2(stream, Mode::CU_STREAM_CAPTURE_MODE_GLOBAL))?;
        launch(4, 8)?;
        cu!(cuda, cuStreamEndCapture(stream, &mut graph))?;
        cu!(cuda, cuGraphInstantiateWithFlags(&mut exec, graph, 0))?;
        cu!(cuda, cuGraphLaunch(exec, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(cuda.download::<u32>(memory, 2)?, [7, 8]);
    }

    fn parameters_have_offsets(cuda, primary) {
        let (_, fill) = cuda.kernel(FILL, c"fill")?;
        let (mut offset, mut size) = (9, 9);
        let mut seen = Vec::new();
        for index in 0..3 {
            cu!(cuda, cuFuncGetParamInfo(fill, index, &mut offset, &mut size))?;
            seen.push((offset, size));
        }
        same!(seen, [(0, 8), (8, 4), (12, 4)]);
        refused!(cu!(cuda, cuFuncGetParamInfo(fill, 3, &mut offset, &mut size)), INVALID_VALUE);
    }

    fn a_function_has_attributes(cuda, primary) {
        let (_, fill) = cuda.kernel(FILL, c"fill")?;
        let mut value = 0;
        let most = Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
        cu!(cuda, cuFuncGetAttribute(&mut value, most, fill))?;
        same!(value, 1024);
        let dynamic = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        cu!(cuda, cuFuncSetAttribute(fill, dynamic, 8192))?;
        cu!(cuda, cuFuncGetAttribute(&mut value, dynamic, fill))?;
        same!(value, 8192);
        refused!(cu!(cuda, cuFuncGetAttribute(&mut value, Attribute(999), fill)), INVALID_VALUE);
        refused!(cu!(cuda, cuFuncGetAttribute(null_mut(), most, fill)), INVALID_VALUE);
        refused!(cu!(cuda, cuFuncSetAttribute(fill, most, 64)), INVALID_VALUE);
        let blocks = get!(cuda, cuOccupancyMaxActiveBlocksPerMultiprocessor(@, fill, 1024, 0))?;
        ensure!((1..=2).contains(&blocks), "{blocks} blocks of 1024 threads fit");
        refused!(cu!(cuda, cuOccupancyMaxActiveBlocksPerMultiprocessor(null_mut(), fill, 32, 0)), INVALID_VALUE);
    }

    fn the_first_launch_interface_works(cuda, primary) {
        let (_, add) = cuda.kernel(FILL, c"add")?;
        let pointer = cuda.alloc(256)?;
        cu!(cuda, cuMemsetD32_v2(pointer, 1, 64))?;
        let mut address = pointer;
        cu!(cuda, cuParamSetSize(add, 16))?;
        cu!(cuda, cuParamSetv(add, 0, (&raw mut address).cast(), 8))?;
        cu!(cuda, cuParamSeti(add, 8, 2))?;
        cu!(cuda, cuParamSeti(add, 12, 48))?;
        cu!(cuda, cuFuncSetBlockShape(add, 16, 1, 1))?;
        cu!(cuda, cuLaunch(add))?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(cuda.download::<u32>(pointer, 17)?, [&[3; 16][..], &[1]].concat());
        cu!(cuda, cuLaunchGrid(add, 2, 1))?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(cuda.download::<u32>(pointer, 33)?, [&[5; 16][..], &[3; 16], &[1]].concat());
        let stream = get!(cuda, cuStreamCreate(@, 1))?;
        cu!(cuda, cuLaunchGridAsync(add, 4, 1, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(cuda.download::<u32>(pointer + 128, 17)?, [&[3; 16][..], &[1]].concat());
        refused!(cu!(cuda, cuFuncSetBlockShape(add, 0, 1, 1)), INVALID_VALUE);
        refused!(cu!(cuda, cuLaunchGrid(add, 0, 1)), INVALID_VALUE);
    }

    fn each_device_gets_one_cooperative_launch(cuda, primary) {
        let (_, add) = cuda.kernel(FILL, c"add")?;
        let (pointer, mut stream) = (cuda.alloc(128)?, std::ptr::null_mut());
        cu!(cuda, cuMemsetD32_v2(pointer, 1, 32))?;
        cu!(cuda, cuStreamCreate(&mut stream, 0))?;
        let (value, count) = (2u32, 16u32);
        let mut parameters = [parameter(&pointer), parameter(&value), parameter(&count)];
        let arguments = parameters.as_mut_ptr();
        let launch = |stream| CUDA_LAUNCH_PARAMS {
            function: add,
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: 32,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            hStream: stream,
            kernelParams: arguments,
        };
        let mut launches = [launch(stream), launch(stream)];
        let null = &mut launch(null_mut());
        let list = launches.as_mut_ptr();
        cu!(cuda, cuLaunchCooperativeKernelMultiDevice(list, 1, 0))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(cuda.download::<u32>(pointer, 17)?, [&[3; 16][..], &[1]].concat());
        refused!(cu!(cuda, cuLaunchCooperativeKernelMultiDevice(null, 1, 0)), INVALID_HANDLE);
        refused!(cu!(cuda, cuLaunchCooperativeKernelMultiDevice(list, 0, 0)), INVALID_VALUE);
        let twice = cu!(cuda, cuLaunchCooperativeKernelMultiDevice(list, 2, 0));
        match has_second(cuda)? {
            true => refused!(twice, INVALID_DEVICE),
            false => refused!(twice, INVALID_VALUE),
        }
    }
}
