//! The texts of `cuGetErrorName` and `cuGetErrorString`.

use crate::generated::results;
use core::ffi::CStr;

/// Returns the name of a `CUresult`, such as `CUDA_ERROR_INVALID_VALUE`. Unknown values have no
/// name: `cuGetErrorName` returns CUDA_ERROR_INVALID_VALUE for them.
pub fn name(result: u32) -> Option<&'static CStr> {
    lookup(results::ALL, result)
}

/// Returns the driver's description of a `CUresult`, or `None` for an unknown value.
pub fn description(result: u32) -> Option<&'static CStr> {
    lookup(DESCRIPTIONS, result)
}

fn lookup(table: &[(u32, &'static CStr)], result: u32) -> Option<&'static CStr> {
    let index = table.binary_search_by_key(&result, |&(value, _)| value).ok()?;
    Some(table[index].1)
}

/// The description of each `CUresult`. Programs compare and print these texts, so they are exactly
/// those of NVIDIA's driver.
#[rustfmt::skip]
static DESCRIPTIONS: &[(u32, &CStr)] = &[
    (0, c"no error"),
    (1, c"invalid argument"),
    (2, c"out of memory"),
    (3, c"initialization error"),
    (4, c"driver shutting down"),
    (5, c"profiler disabled while using external profiling tool"),
    (6, c"profiler not initialized: call cudaProfilerInitialize()"),
    (7, c"profiler already started"),
    (8, c"profiler already stopped"),
    (34, c"CUDA driver is a stub library"),
    (36, c"API call is not supported in the installed CUDA driver"),
    (46, c"CUDA-capable device(s) is/are busy or unavailable"),
    (100, c"no CUDA-capable device is detected"),
    (101, c"invalid device ordinal"),
    (102, c"device doesn't have valid Grid license"),
    (200, c"device kernel image is invalid"),
    (201, c"invalid device context"),
    (202, c"context already current"),
    (205, c"mapping of buffer object failed"),
    (206, c"unmapping of buffer object failed"),
    (207, c"array is mapped"),
    (208, c"resource already mapped"),
    (209, c"no kernel image is available for execution on the device"),
    (210, c"resource already acquired"),
    (211, c"resource not mapped"),
    (212, c"resource not mapped as array"),
    (213, c"resource not mapped as pointer"),
    (214, c"uncorrectable ECC error encountered"),
    (215, c"limit is not supported on this architecture"),
    (216, c"exclusive-thread device already in use by a different thread"),
    (217, c"peer access is not supported between these two devices"),
    (218, c"a PTX JIT compilation failed"),
    (219, c"invalid OpenGL or DirectX context"),
    (220, c"uncorrectable NVLink error detected during the execution"),
    (221, c"PTX JIT compiler library not found"),
    (222, c"the provided PTX was compiled with an unsupported toolchain."),
    (223, c"PTX JIT compilation was disabled"),
    (224, c"the provided execution affinity is not supported"),
    (225, c"the provided PTX contains unsupported call to cudaDeviceSynchronize"),
    (226, c"Invalid access of peer GPU memory over nvlink or a hardware error"),
    (300, c"device kernel image is invalid"),
    (301, c"file not found"),
    (302, c"shared object symbol not found"),
    (303, c"shared object initialization failed"),
    (304, c"OS call failed or operation not supported on this OS"),
    (400, c"invalid resource handle"),
    (401, c"the operation cannot be performed in the present state"),
    (402, c"attempted introspection would be semantically lossy"),
    (500, c"named symbol not found"),
    (600, c"device not ready"),
    (700, c"an illegal memory access was encountered"),
    (701, c"too many resources requested for launch"),
    (702, c"the launch timed out and was terminated"),
    (703, c"launch uses incompatible texturing mode"),
    (704, c"peer access is already enabled"),
    (705, c"peer access has not been enabled"),
    (708, c"cannot set while device is active in this process"),
    (709, c"context is destroyed"),
    (710, c"device-side assert triggered"),
    (711, c"peer mapping resources exhausted"),
    (712, c"part or all of the requested memory range is already mapped"),
    (713, c"pointer does not correspond to a registered memory region"),
    (714, c"hardware stack error"),
    (715, c"an illegal instruction was encountered"),
    (716, c"misaligned address"),
    (717, c"operation not supported on global/shared address space"),
    (718, c"invalid program counter"),
    (719, c"unspecified launch failure"),
    (720, c"too many blocks in cooperative launch"),
    (721, c"tensor memory not completely freed"),
    (800, c"operation not permitted"),
    (801, c"operation not supported"),
    (802, c"system not yet initialized"),
    (803, c"system has unsupported display driver / cuda driver combination"),
    (804, c"forward compatibility was attempted on non supported HW"),
    (805, c"MPS client failed to connect to the MPS control daemon or the MPS server"),
    (806, c"the remote procedural call between the MPS server and the MPS client failed"),
    (807, c"MPS server is not ready to accept new MPS client requests"),
    (808, c"the hardware resources required to create MPS client have been exhausted"),
    (809, c"the hardware resources required to support device connections have been exhausted"),
    (810, c"the MPS client has been terminated by the server"),
    (811, c"is using CUDA Dynamic Parallelism, but the current configuration, like MPS, does not support it"),
    (812, c"unsupported interaction between different versions of CUDA Dynamic Parallelism"),
    (900, c"operation not permitted when stream is capturing"),
    (901, c"operation failed due to a previous error during capture"),
    (902, c"operation would result in a merge of separate capture sequences"),
    (903, c"capture was not ended in the same stream as it began"),
    (904, c"capturing stream has unjoined work"),
    (905, c"dependency created on uncaptured work in another stream"),
    (906, c"operation would make the legacy stream depend on a capturing blocking stream"),
    (907, c"operation not permitted on an event last recorded in a capturing stream"),
    (908, c"attempt to terminate a thread-local capture sequence from another thread"),
    (909, c"wait operation timed out"),
    (910, c"the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"),
    (911, c"an async error has occured in external entity outside of CUDA"),
    (912, c"a kernel launch error has occurred due to cluster misconfiguration"),
    (913, c"the function handle is not loaded when calling an API that requires a loaded function"),
    (914, c"one or more resources passed in are not valid resource types for the operation"),
    (915, c"one or more resources are insufficient or non-applicable for the operation"),
    (916, c"an error happened during the key rotation sequence"),
    (999, c"unknown error"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_result_has_a_name_and_a_description() {
        let values = |table: &[(u32, &CStr)]| table.iter().map(|&(v, _)| v).collect::<Vec<_>>();
        assert_eq!(values(DESCRIPTIONS), values(results::ALL));
        assert!(values(DESCRIPTIONS).is_sorted());
    }

    #[test]
    fn known_results_have_the_drivers_texts() {
        assert_eq!(name(1), Some(c"CUDA_ERROR_INVALID_VALUE"));
        assert_eq!(description(1), Some(c"invalid argument"));
        assert_eq!(description(2), Some(c"out of memory"));
        assert_eq!(name(801), Some(c"CUDA_ERROR_NOT_SUPPORTED"));
        assert_eq!(description(801), Some(c"operation not supported"));
        assert_eq!((name(12345), description(12345)), (None, None));
    }
}
