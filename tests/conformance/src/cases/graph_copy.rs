//! Copies in graphs, from and to pageable memory.

use super::cases;
use super::graph::{add_copy, copy, graph, instantiate, run};
use crate::cuda::{cu, refused, same};
use cuda_api::sys::{CUDA_MEMCPY3D, CUmemorytype, CUstreamCaptureMode};
use std::ptr::null_mut;

const HOST: CUmemorytype = CUmemorytype::CU_MEMORYTYPE_HOST;
/// The number of words in a copy. They are too many to be inlined in a command, and don't fill a
/// whole number of pages.
const WORDS: usize = 100_001;

cases! {
    fn captured_copies_use_pageable_memory_as_it_is_at_the_launch(cuda, primary) {
        let (pointer, mut stream, mut graph) = (cuda.alloc(4 * WORDS)?, null_mut(), null_mut());
        let (mut source, mut result) = (vec![1u32; WORDS], vec![0u32; WORDS]);
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        cu!(cuda, cuStreamBeginCapture_v2(stream, CUstreamCaptureMode(0)))?;
        let bytes = 4 * WORDS;
        cu!(cuda, cuMemcpyHtoDAsync_v2(pointer, source.as_ptr().cast(), bytes, stream))?;
        cu!(cuda, cuMemsetD32Async(pointer, 7, 2, stream))?;
        cu!(cuda, cuMemcpyDtoHAsync_v2(result.as_mut_ptr().cast(), pointer, bytes, stream))?;
        cu!(cuda, cuStreamEndCapture(stream, &mut graph))?;
        let exec = instantiate(cuda, graph)?;
        for value in [2, 3, 4] {
            source.fill(value);
            std::hint::black_box(&mut source);
            cu!(cuda, cuGraphLaunch(exec, stream))?;
            cu!(cuda, cuStreamSynchronize(stream))?;
            std::hint::black_box(&mut result);
            same!((&result[..3], result[WORDS - 1]), (&[7, 7, value][..], value));
        }
        // The graph is destroyed while its last launch runs. The launch still copies the data.
        source.fill(5);
        std::hint::black_box(&mut source);
        cu!(cuda, cuGraphLaunch(exec, stream))?;
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        std::hint::black_box(&mut result);
        same!((&result[..3], result[WORDS - 1]), (&[7, 7, 5][..], 5));
    }

    fn copy_nodes_use_pageable_memory(cuda, primary) {
        let (pointer, graph) = (cuda.alloc(4096)?, graph(cuda)?);
        let (source, mut result) = ([1u32, 2, 3, 4, 5, 6, 7, 8], [0u32; 8]);
        let up = CUDA_MEMCPY3D {
            srcMemoryType: HOST,
            srcHost: source.as_ptr().cast(),
            srcDevice: 0,
            ..copy(pointer, 0, 32)
        };
        let first = add_copy(cuda, graph, &[], &up)?;
        let second = add_copy(cuda, graph, &[first], &copy(pointer + 64, pointer + 16, 16))?;
        // Copy two rows of two words.
        let down = CUDA_MEMCPY3D {
            dstMemoryType: HOST,
            dstHost: result.as_mut_ptr().cast(),
            dstDevice: 0,
            dstPitch: 16,
            dstHeight: 2,
            srcPitch: 8,
            srcHeight: 2,
            WidthInBytes: 8,
            Height: 2,
            ..copy(0, pointer + 64, 8)
        };
        add_copy(cuda, graph, &[second], &down)?;
        let mut found = CUDA_MEMCPY3D::default();
        cu!(cuda, cuGraphMemcpyNodeGetParams(first, &mut found))?;
        same!((found.srcHost, found.WidthInBytes), (source.as_ptr().cast(), 32));
        let (exec, mut enabled) = (instantiate(cuda, graph)?, 0);
        run(cuda, exec)?;
        std::hint::black_box(&mut result);
        same!(result, [5, 6, 0, 0, 7, 8, 0, 0]);
        cu!(cuda, cuGraphNodeGetEnabled(exec, first, &mut enabled))?;
        same!(enabled, 1);
        let mut none = null_mut();
        let empty = CUDA_MEMCPY3D { Height: 0, ..up };
        let added =
            cu!(cuda, cuGraphAddMemcpyNode(&mut none, null_mut(), &first, 1, &empty, null_mut()));
        refused!(added, INVALID_VALUE);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn an_update_changes_pageable_memory(cuda, primary) {
        let pointer = cuda.alloc(4096)?;
        let sources = [[1u32, 2], [3, 4]];
        let mut graphs = [null_mut(); 2];
        for (made, source) in graphs.iter_mut().zip(&sources) {
            *made = graph(cuda)?;
            let up = CUDA_MEMCPY3D {
                srcMemoryType: HOST,
                srcHost: source.as_ptr().cast(),
                srcDevice: 0,
                ..copy(pointer, 0, 8)
            };
            let node = add_copy(cuda, *made, &[], &up)?;
            add_copy(cuda, *made, &[node], &copy(pointer + 8, pointer, 8))?;
        }
        let (exec, mut info) = (instantiate(cuda, graphs[0])?, Default::default());
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 4)?, [1, 2, 1, 2]);
        cu!(cuda, cuGraphExecUpdate_v2(exec, graphs[1], &mut info))?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 4)?, [3, 4, 3, 4]);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        for graph in graphs {
            cu!(cuda, cuGraphDestroy(graph))?;
        }
    }

    fn a_captured_copy_within_the_device_needs_device_memory(cuda, primary) {
        let pointer = cuda.alloc(64)?;
        let host = [0u8; 64];
        let (mut stream, mut graph) = (null_mut(), null_mut());
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
        cu!(cuda, cuStreamBeginCapture_v2(stream, mode))?;
        let address = host.as_ptr() as u64;
        refused!(cu!(cuda, cuMemcpyDtoDAsync_v2(pointer, address, 64, stream)), INVALID_VALUE);
        // Ignore the result, because the failed copy may have invalidated the capture.
        let _ = cu!(cuda, cuStreamEndCapture(stream, &mut graph));
    }
}
