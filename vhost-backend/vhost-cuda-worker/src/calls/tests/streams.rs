//! Tests of streams with many commands, kernel output, host functions, and stream attributes.

use super::*;
use protocol::ids::{BlobId, KernelId, LibraryId, StreamId};

#[test]
fn the_reader_is_not_stopped_by_a_full_stream() {
    alone("the_reader_is_not_stopped_by_a_full_stream", |mut bench| {
        let f = bench.vector_add();
        let a = bench.alloc(16);
        for ph_stream in 500..504 {
            bench.post(&CuStreamCreateWithPriority {
                ph_stream: StreamId(ph_stream),
                flags: 1,
                priority: 0,
            });
        }
        bench.post(&VcudaHostFunc { h_stream: StreamId(500), token: 42 });
        // After the host function, queue more commands than a channel can hold, and large copies.
        for i in 0..3000 {
            bench.launch(f, a, a, a, 1, 500);
            if i % 10 == 0 {
                bench.post(&VcudaCopyIn { dst: a, data: &[i as u8; 16], h_stream: StreamId(500) });
            }
        }
        bench.run_host_func(42);
        bench.good(&CuStreamSynchronize { h_stream: StreamId(500) });
        let last = bench.good(&VcudaCopyOut { src: a, len: 16, h_stream: StreamId(500) }).data;
        // The last copy is followed by 9 launches, each of which doubles the first float.
        let expected = f32::from_le_bytes([2990_u32 as u8; 4]) * 512.0;
        assert_eq!(last[..4], expected.to_le_bytes());
        for i in 0..4000 {
            bench.launch(f, a, a, a, 1, 500 + i % 4);
        }
        for h_stream in 500..504 {
            bench.post(&CuStreamDestroyV2 { h_stream: StreamId(h_stream) });
        }
        bench.good(&CuCtxSynchronize {});
    });
}

#[test]
fn the_reader_continues_when_streams_with_few_held_commands_are_empty() {
    let test = "the_reader_continues_when_streams_with_few_held_commands_are_empty";
    alone(test, |mut bench| {
        let f = bench.vector_add();
        let a = bench.alloc(16);
        // Stream 504 reaches its host function first, so the guest gets that function to run until
        // it has finished it.
        for h_stream in [504, 500, 501, 502, 503] {
            let ph_stream = h_stream;
            bench.post(&CuStreamCreateWithPriority {
                ph_stream: StreamId(ph_stream),
                flags: 1,
                priority: 0,
            });
            bench.post(&VcudaHostFunc { h_stream: StreamId(h_stream), token: h_stream });
            assert_eq!(bench.host_func(), 504);
        }
        // Queue so many commands that the driver counts as full, but too few in each stream for a
        // mark.
        for h_stream in 500..504 {
            for _ in 0..206 {
                bench.launch(f, a, a, a, 1, h_stream);
            }
        }
        for _ in 0..10 {
            bench.launch(f, a, a, a, 1, 504);
        }
        // Stream 504 becomes empty before the others. The worker must notice that.
        bench.run_host_func(504);
        for _ in 0..100 {
            std::thread::sleep(std::time::Duration::from_millis(1));
            bench.executor.poll();
        }
        for _ in 500..504 {
            bench.host_func();
            bench.executor.host_func_ended();
        }
        bench.good(&CuCtxSynchronize {});
    });
}

#[test]
fn untaken_kernel_output_is_bounded() {
    use std::os::fd::{AsRawFd, BorrowedFd};
    alone("untaken_kernel_output_is_bounded", |mut bench| {
        // SAFETY: standard output stays open, because nothing in this process closes descriptor 1.
        let out = unsafe { BorrowedFd::borrow_raw(1) };
        let mut file = std::fs::File::from(out.try_clone_to_owned().unwrap());
        std::io::Write::write_all(&mut file, &vec![b'x'; 40 << 20]).unwrap();
        bench.post(&VcudaHostUnregister { vaddr: 4096 });
        let start = std::time::Instant::now();
        let kept = || std::os::unix::fs::MetadataExt::blocks(&file.metadata().unwrap()) * 512;
        while kept() > 17 << 20 {
            assert!(start.elapsed().as_secs() < 10, "{} bytes of {}", kept(), out.as_raw_fd());
        }
    });
}

#[test]
fn kernel_output_is_reported_and_fetched() {
    alone("kernel_output_is_reported_and_fetched", |mut bench| {
        bench.set_quota(200 * MIB);
        let load = VcudaLibraryLoad {
            library: LibraryId(900),
            blob: BlobId(0),
            image: SAY,
            options: Default::default(),
            library_options: Default::default(),
            log_max: 0,
        };
        bench.good(&load);
        // cudart makes this call without a current context, before it creates one.
        let ctx = std::mem::take(&mut bench.ctx);
        bench.good(&VcudaLibraryGetKernels {
            p_kernel: KernelId(901),
            library: LibraryId(900),
            name: "say",
            more: 0,
        });
        bench.ctx = ctx;
        bench.post(&CuStreamCreateWithPriority { ph_stream: StreamId(500), flags: 1, priority: 0 });
        for stream in [0, 500] {
            assert_eq!(bench.good(&VcudaTakeOutput {}).text, b"");
            bench.good(&CuStreamSynchronize { h_stream: StreamId(stream) });
            assert_eq!(
                bench.state().load(Ordering::Relaxed),
                1,
                "the answer must not say that kernels printed"
            );
            bench.launch(901, 0, 0, 0, 2, stream);
            bench.good(&CuStreamSynchronize { h_stream: StreamId(stream) });
            assert_eq!(bench.state().load(Ordering::Relaxed), 3, "stream {stream}");
            let text = bench.good(&VcudaTakeOutput {}).text;
            assert_eq!(text, b"hello\n".repeat(128), "stream {stream}");
        }
    });
}

#[test]
fn a_stream_stops_for_a_host_function() {
    alone("a_stream_stops_for_a_host_function", |mut bench| {
        bench.post(&CuStreamCreateWithPriority { ph_stream: StreamId(500), flags: 1, priority: 0 });
        bench.post(&VcudaHostFunc { h_stream: StreamId(500), token: 42 });
        assert_eq!(bench.host_func(), 42);
        assert_eq!(bench.call(&CuStreamQuery { h_stream: StreamId(500) }).0, CuError::NOT_READY.0);
        bench.executor.host_func_ended();
        bench.good(&CuStreamSynchronize { h_stream: StreamId(500) });
    });
}

#[test]
fn attributes_of_streams_are_set_for_each_stream() {
    alone("attributes_of_streams_are_set_for_each_stream", |mut bench| {
        bench.post(&CuStreamCreateWithPriority { ph_stream: StreamId(500), flags: 1, priority: 0 });
        let value = |first| [first, 0, 0, 0, 0, 0, 0, 0];
        let get = |bench: &mut Bench, h_stream, attr| {
            bench.call(&CuStreamGetAttribute { h_stream: StreamId(h_stream), attr })
        };
        let set = |bench: &mut Bench, h_stream, attr, first| {
            let param = value(first);
            bench.call(&CuStreamSetAttribute { h_stream: StreamId(h_stream), attr, param }).0
        };
        // The attribute is the synchronization policy. At first, it's automatic in all streams.
        // Then it's set to blocking in one stream.
        assert_eq!(get(&mut bench, 500, 3).1.value, value(1));
        assert_eq!(set(&mut bench, 500, 3, 4), 0);
        assert_eq!(get(&mut bench, 500, 3).1.value, value(4));
        for default_stream in 0..3 {
            assert_eq!(get(&mut bench, default_stream, 3).1.value, value(1));
        }
        // The driver refuses the value 77 (CUDA_ERROR_INVALID_VALUE). Stream 501 doesn't exist
        // (CUDA_ERROR_INVALID_HANDLE).
        assert_eq!(set(&mut bench, 500, 3, 77), 1);
        assert_eq!(get(&mut bench, 501, 3).0, 400);
        // The two attributes for memory synchronization domains (9 and 10) can be set and read.
        assert_eq!(set(&mut bench, 2, 9, 0x0203), 0);
        assert_eq!(get(&mut bench, 2, 9).1.value, value(0x0203));
        assert_eq!(set(&mut bench, 2, 10, 1), 0);
        assert_eq!(get(&mut bench, 2, 10).1.value, value(1));
        // An access policy window may contain only memory of the session. At first, the window is
        // empty.
        let memory = bench.alloc(4096);
        let window = |bench: &mut Bench, address, len| {
            let param = [address, len, 1.0f32.to_bits().into(), 0, 0, 0, 0, 0];
            let h_stream = StreamId(500);
            bench.call(&CuStreamSetAttribute { h_stream, attr: 1, param }).0
        };
        assert_eq!(get(&mut bench, 500, 1).1.value, value(0));
        for (address, len) in [(memory, 1 << 30), (memory - 1, 16), (0x1000, 16), (0, u64::MAX)] {
            assert_eq!(window(&mut bench, address, len), 1);
        }
        assert_eq!(window(&mut bench, memory, 4096), 0);
        assert_eq!(get(&mut bench, 500, 1).1.value[..2], [memory, 4096]);
        assert_eq!(window(&mut bench, 0, 0), 0);
        // The worker doesn't support the attribute for completion events
        // (CUDA_ERROR_NOT_SUPPORTED).
        assert_eq!(set(&mut bench, 500, 12, 0x1000), 801);
        assert_eq!(get(&mut bench, 500, 12).0, 801);
    });
}

#[test]
fn calls_without_a_stream_return_the_results_of_the_driver() {
    alone("calls_without_a_stream_return_the_results_of_the_driver", |mut bench| {
        bench.good(&CuProfilerStart {});
        bench.good(&CuProfilerStop {});
        // softgpu has only one device, and no LUIDs.
        assert_eq!(bench.call(&CuDeviceGetLuid { dev: 0 }).0, 801);
        assert_eq!(bench.call(&CuDeviceGetLuid { dev: 9 }).0, 101);
        let width = |dev| CuDeviceGetTexture1DLinearMaxWidth { format: 1, num_channels: 4, dev };
        assert_eq!(bench.good(&width(0)).max_width_in_elements, 1 << 28);
        assert_eq!(bench.call(&width(9)).0, 101);
    });
}
