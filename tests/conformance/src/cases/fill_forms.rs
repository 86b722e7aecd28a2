//! Memsets of rows, and memsets in streams.

use super::cases;
use crate::cuda::{cu, refused, same};
use std::ptr::null_mut;

cases! {
    fn rows_are_filled_and_the_space_between_them_is_not(cuda, primary) {
        let pointer = cuda.alloc(64)?;
        cu!(cuda, cuMemsetD8_v2(pointer, 0, 64))?;
        cu!(cuda, cuMemsetD2D8_v2(pointer, 16, 1, 3, 2))?;
        cu!(cuda, cuMemsetD2D16_v2(pointer + 4, 16, 0x0302, 2, 2))?;
        cu!(cuda, cuMemsetD2D32_v2(pointer + 8, 16, 0x0706_0504, 1, 2))?;
        let row = [1, 1, 1, 0, 2, 3, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0];
        same!(cuda.download::<u8>(pointer, 48)?, [row, row, [0; 16]].concat());
        refused!(cu!(cuda, cuMemsetD2D16_v2(pointer + 1, 16, 0, 1, 2)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemsetD2D32_v2(pointer + 2, 16, 0, 1, 2)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemsetD2D8_v2(16, 16, 0, 1, 2)), INVALID_VALUE);
        same!(cuda.download::<u8>(pointer, 48)?, [row, row, [0; 16]].concat());
    }

    fn memsets_run_in_their_stream(cuda, primary) {
        let (pointer, flag, mut stream) = (cuda.alloc(64)?, cuda.alloc(4)?, null_mut());
        let mut other = null_mut();
        cu!(cuda, cuMemsetD8_v2(pointer, 0, 64))?;
        cu!(cuda, cuMemsetD32_v2(flag, 0, 1))?;
        cu!(cuda, cuCtxSynchronize())?;
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        cu!(cuda, cuStreamCreate(&mut other, 1))?;
        // The memsets in this stream wait for the write to `flag` in the other stream below.
        cu!(cuda, cuStreamWaitValue32_v2(stream, flag, 1, 1))?;
        cu!(cuda, cuMemsetD8Async(pointer, 1, 1, stream))?;
        cu!(cuda, cuMemsetD16Async(pointer + 2, 0x0302, 1, stream))?;
        cu!(cuda, cuMemsetD32Async(pointer + 4, 0x0706_0504, 1, stream))?;
        cu!(cuda, cuMemsetD2D8Async(pointer + 16, 16, 1, 3, 2, stream))?;
        cu!(cuda, cuMemsetD2D16Async(pointer + 20, 16, 0x0302, 2, 2, stream))?;
        cu!(cuda, cuMemsetD2D32Async(pointer + 24, 16, 0x0706_0504, 1, 2, stream))?;
        refused!(cu!(cuda, cuStreamQuery(stream)), NOT_READY);
        cu!(cuda, cuStreamWriteValue32_v2(other, flag, 1, 0))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        let first = [1, 0, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0];
        let row = [1, 1, 1, 0, 2, 3, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0];
        same!(cuda.download::<u8>(pointer, 64)?, [first, row, row, [0; 16]].concat());
        refused!(cu!(cuda, cuMemsetD8Async(16, 0, 1, stream)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemsetD16Async(pointer + 1, 0, 1, stream)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemsetD32Async(pointer + 2, 0, 1, stream)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemsetD2D8Async(16, 16, 0, 1, 2, stream)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemsetD2D16Async(pointer + 1, 16, 0, 1, 2, stream)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemsetD2D32Async(pointer + 2, 16, 0, 1, 2, stream)), INVALID_VALUE);
    }
}
