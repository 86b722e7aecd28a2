//! The results of functions that neither guest-libcuda nor softgpu implements.
//!
//! Most of these functions return CUDA_ERROR_NOT_SUPPORTED. Some return another error, as NVIDIA's
//! driver does: for arguments that it refuses, and for interfaces, such as OpenGL's, that aren't
//! available.

use crate::sys::CUresult;
use std::path::Path;

/// The number of arguments that are passed in registers. Only these can be checked.
pub const REGISTERS: usize = 6;

/// The argument registers. Bits of a register that aren't part of its argument are undefined.
pub type Arguments = [u64; REGISTERS];

/// A condition for which an argument is wrong. The first number is the index of the parameter.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    Null(usize),
    /// The array is null, but the parameter with the second index says that it has elements.
    NullArray(usize, usize),
    /// Some of the bits in the second number are set.
    Flags(usize, u64),
}

impl Wrong {
    fn is_in(self, arguments: &Arguments) -> bool {
        match self {
            Self::Null(index) => arguments[index] == 0,
            // Compare the lower 32 bits of the count, because a parameter with 32 bits leaves the
            // upper bits undefined. A 64-bit count that is a multiple of 2^32 doesn't occur.
            Self::NullArray(index, count) => arguments[index] == 0 && arguments[count] as u32 != 0,
            Self::Flags(index, unknown) => arguments[index] & unknown != 0,
        }
    }
}

use CUresult as R;
use Wrong::{Flags, Null, NullArray};

/// The bits of a 32-bit parameter that aren't known flags of a context. [`OF_RESOURCE`] has those
/// that aren't known flags of a graphics resource.
const OF_CONTEXT: u64 = u32::MAX as u64 & !0xff;
const OF_RESOURCE: u64 = u32::MAX as u64 & !0xf;

/// Functions that always return the same error.
const ALWAYS: &[(R, &[&str])] = &[
    (
        // The call takes a handle of an object that can't exist here.
        R::CUDA_ERROR_INVALID_HANDLE,
        &[
            "cuEGLStreamConsumerAcquireFrame",
            "cuEGLStreamConsumerConnect",
            "cuEGLStreamConsumerConnectWithFlags",
            "cuEGLStreamConsumerDisconnect",
            "cuEGLStreamConsumerReleaseFrame",
            "cuEGLStreamProducerConnect",
            "cuEGLStreamProducerDisconnect",
            "cuEGLStreamProducerPresentFrame",
            "cuEGLStreamProducerReturnFrame",
            "cuGraphicsResourceGetMappedEglFrame",
            "cuGraphicsResourceGetMappedMipmappedArray",
            "cuGraphicsResourceGetMappedPointer",
            "cuGraphicsResourceGetMappedPointer_v2",
            "cuGraphicsResourceSetMapFlags",
            "cuGraphicsResourceSetMapFlags_v2",
            "cuGraphicsSubResourceGetMappedArray",
            "cuGraphicsUnregisterResource",
        ],
    ),
    (
        // The call requires an OpenGL context, and there is none.
        R::CUDA_ERROR_OPERATING_SYSTEM,
        &["cuGLGetDevices", "cuGLGetDevices_v2", "cuGLInit", "cuGLRegisterBufferObject"],
    ),
    (
        R::CUDA_ERROR_INVALID_CONTEXT,
        &[
            "cuGLMapBufferObject",
            "cuGLMapBufferObjectAsync",
            "cuGraphicsVDPAURegisterOutputSurface",
            "cuGraphicsVDPAURegisterVideoSurface",
        ],
    ),
    (
        R::CUDA_ERROR_INVALID_VALUE,
        &[
            "cuDestroyExternalMemory",
            "cuDestroyExternalSemaphore",
            "cuExternalMemoryGetMappedBuffer",
            "cuExternalMemoryGetMappedMipmappedArray",
            "cuGLMapBufferObjectAsync_v2",
            "cuGLMapBufferObject_v2",
            "cuGLSetBufferObjectMapFlags",
            "cuGLUnmapBufferObject",
            "cuGLUnmapBufferObjectAsync",
            "cuGLUnregisterBufferObject",
            "cuGraphExecExternalSemaphoresSignalNodeSetParams",
            "cuGraphExecExternalSemaphoresWaitNodeSetParams",
            "cuGraphExternalSemaphoresSignalNodeGetParams",
            "cuGraphExternalSemaphoresSignalNodeSetParams",
            "cuGraphExternalSemaphoresWaitNodeGetParams",
            "cuGraphExternalSemaphoresWaitNodeSetParams",
            "cuGraphicsGLRegisterImage",
            "cuVDPAUGetDevice",
            "cuWaitExternalSemaphoresAsync",
        ],
    ),
];

/// A function whose arguments are checked: its name, the arguments that are wrong, the result for
/// wrong arguments, and the result for all other arguments.
type Checked = (&'static str, &'static [Wrong], R, R);

const VALUE: R = R::CUDA_ERROR_INVALID_VALUE;
const HANDLE: R = R::CUDA_ERROR_INVALID_HANDLE;
const NONE: R = R::CUDA_ERROR_NOT_SUPPORTED;
const SYSTEM: R = R::CUDA_ERROR_OPERATING_SYSTEM;

/// The prefix of the functions whose first parameter is the id of a process.
const OF_PROCESSES: &str = "cuCheckpointProcess";

#[rustfmt::skip]
const CHECKED: &[Checked] = &[
    ("cuCheckpointProcessGetRestoreThreadId", &[Null(1)], VALUE, NONE),
    ("cuCheckpointProcessGetState", &[Null(1)], VALUE, NONE),
    ("cuDeviceGetNvSciSyncAttributes", &[Null(0)], HANDLE, VALUE),
    ("cuGLCtxCreate", &[Null(0), Flags(1, OF_CONTEXT)], VALUE, SYSTEM),
    ("cuGLCtxCreate_v2", &[Null(0), Flags(1, OF_CONTEXT)], VALUE, SYSTEM),
    ("cuGraphAddExternalSemaphoresSignalNode",
        &[Null(0), Null(1), NullArray(2, 3), Null(4)], VALUE, NONE),
    ("cuGraphAddExternalSemaphoresWaitNode",
        &[Null(0), Null(1), NullArray(2, 3), Null(4)], VALUE, NONE),
    ("cuGraphicsEGLRegisterImage",
        &[Null(0), Flags(2, OF_RESOURCE)], VALUE, R::CUDA_ERROR_UNKNOWN),
    ("cuGraphicsGLRegisterBuffer", &[Null(0), Flags(2, OF_RESOURCE)], VALUE, SYSTEM),
    ("cuGraphicsMapResources", &[NullArray(1, 0)], VALUE, HANDLE),
    ("cuGraphicsUnmapResources", &[NullArray(1, 0)], VALUE, HANDLE),
    ("cuImportExternalMemory", &[Null(0), Null(1)], VALUE, NONE),
    ("cuImportExternalSemaphore", &[Null(0), Null(1)], VALUE, NONE),
    ("cuMemGetHandleForAddressRange", &[Null(0), Flags(4, !1)], VALUE, NONE),
    ("cuMemMapArrayAsync", &[NullArray(0, 1)], VALUE, NONE),
    ("cuSignalExternalSemaphoresAsync", &[NullArray(0, 2), NullArray(1, 2)], VALUE, NONE),
    ("cuVDPAUCtxCreate",
        &[Null(0), Flags(1, OF_CONTEXT)], VALUE, R::CUDA_ERROR_OUT_OF_MEMORY),
    ("cuVDPAUCtxCreate_v2", &[Null(0), Flags(1, OF_CONTEXT)], VALUE, NONE),
];

/// Returns the result of a call of a function that isn't implemented.
#[cold]
pub fn result(name: &str, arguments: &Arguments) -> CUresult {
    // The result doesn't depend on the default stream, so remove the suffix that says which one is
    // meant.
    let name = ["_ptds", "_ptsz"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    if let Some((result, _)) = ALWAYS.iter().find(|(_, names)| names.contains(&name)) {
        return *result;
    }
    match CHECKED.iter().find(|(of, ..)| *of == name) {
        Some((_, wrong, result, _)) if wrong.iter().any(|wrong| wrong.is_in(arguments)) => *result,
        _ if name.starts_with(OF_PROCESSES) && !exists(arguments[0] as i32) => SYSTEM,
        Some((.., result)) => *result,
        None => R::CUDA_ERROR_NOT_SUPPORTED,
    }
}

/// Returns whether there is a process with this id.
fn exists(process: i32) -> bool {
    process > 0 && Path::new("/proc").join(process.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::{PROTOTYPES, Prototype, prototype};

    fn find(name: &str) -> &'static Prototype {
        prototype(name).unwrap_or_else(|| panic!("there is no {name}"))
    }

    #[test]
    fn the_tables_fit_the_prototypes() {
        let is_pointer = |type_: &str| type_.starts_with('*') || type_ == "CUgraph";
        for name in ALWAYS.iter().flat_map(|(_, names)| *names) {
            find(name);
        }
        for (name, wrong, ..) in CHECKED {
            let parameters = find(name).parameters;
            for wrong in *wrong {
                match wrong {
                    Null(index) => assert!(is_pointer(parameters[*index].1), "{name}"),
                    NullArray(index, count) => {
                        assert!(is_pointer(parameters[*index].1), "{name}");
                        assert!(parameters[*count].0.starts_with(['n', 'c']), "{name}");
                    }
                    Flags(index, _) => {
                        assert!(parameters[*index].0.eq_ignore_ascii_case("flags"), "{name}");
                    }
                }
            }
            assert!(parameters[..parameters.len().min(REGISTERS)].iter().all(|(_, t)| *t != "f32"));
        }
    }

    #[test]
    fn wrong_arguments_have_another_result() {
        let of = |name, arguments| result(name, &arguments);
        assert_eq!(of("cuGLCtxCreate_v2", [8, 0xffff_0000_0000_0000, 0, 0, 0, 0]), SYSTEM);
        assert_eq!(of("cuGLCtxCreate_v2", [8, 0x100, 0, 0, 0, 0]), VALUE);
        assert_eq!(of("cuGLCtxCreate_v2", [0; 6]), VALUE);
        assert_eq!(of("cuGraphicsMapResources_ptsz", [1, 0, 0, 0, 0, 0]), VALUE);
        assert_eq!(of("cuGraphicsMapResources", [1, 8, 0, 0, 0, 0]), HANDLE);
        assert_eq!(of("cuMemMapArrayAsync", [0, 1 << 32, 0, 0, 0, 0]), NONE);
        assert_eq!(of("cuGLMapBufferObject_v2_ptds", [8; 6]), VALUE);
        let own = std::process::id().into();
        assert_eq!(of("cuCheckpointProcessLock", [own, 0, 0, 0, 0, 0]), NONE);
        assert_eq!(of("cuCheckpointProcessLock", [i32::MAX as u64, 0, 0, 0, 0, 0]), SYSTEM);
        assert_eq!(of("cuCheckpointProcessGetState", [i32::MAX as u64, 0, 0, 0, 0, 0]), VALUE);
        let unknown = PROTOTYPES.iter().find(|found| found.name == "cuMulticastCreate").unwrap();
        assert_eq!(of(unknown.name, [0; 6]), NONE);
    }
}
