//! Entry points that not every device or driver supports.

use super::cases;
use crate::cuda::{cu, ensure, refused};
use cuda_api::sys::{
    CUdevice_attribute as Attribute, CUmemRangeHandleType as Kind, CUprocessState,
};
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr::null_mut;

/// A process ID that doesn't exist, because Linux's process IDs have at most 22 bits.
const NOBODY: i32 = i32::MAX;

cases! {
    fn a_range_of_memory_can_become_a_dma_buf_if_the_device_says_so(cuda, primary = (device, _)) {
        const LEN: usize = 2 << 20;
        let memory = cuda.alloc(LEN)?;
        let (mut descriptor, dma_buf) = (-1i32, Kind::CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
        let to = (&raw mut descriptor).cast();
        let exported = cu!(cuda, cuMemGetHandleForAddressRange(to, memory, LEN, dma_buf, 0));
        if cuda.attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED)? == 1 {
            exported?;
            ensure!(descriptor >= 0, "the descriptor is {descriptor}");
            // SAFETY: the library has created the descriptor for this program, so nothing else owns
            // it.
            drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
        } else {
            refused!(exported, NOT_SUPPORTED);
        }
        let unknown = cu!(cuda, cuMemGetHandleForAddressRange(to, memory, LEN, Kind(99), 0));
        refused!(unknown, INVALID_VALUE | NOT_SUPPORTED);
        cu!(cuda, cuMemFree_v2(memory))?;
    }

    fn processes_that_do_not_exist_have_no_checkpoint(cuda, primary) {
        let (mut thread, mut state, null) = (0, CUprocessState(0), null_mut());
        for called in [
            cu!(cuda, cuCheckpointProcessGetRestoreThreadId(NOBODY, &mut thread)),
            cu!(cuda, cuCheckpointProcessGetState(NOBODY, &mut state)),
            cu!(cuda, cuCheckpointProcessLock(NOBODY, null)),
            cu!(cuda, cuCheckpointProcessUnlock(NOBODY, null_mut())),
            cu!(cuda, cuCheckpointProcessCheckpoint(NOBODY, null_mut())),
            cu!(cuda, cuCheckpointProcessRestore(NOBODY, null_mut())),
        ] {
            refused!(called, NOT_SUPPORTED | OPERATING_SYSTEM | INVALID_VALUE | ILLEGAL_STATE);
        }
    }
}
