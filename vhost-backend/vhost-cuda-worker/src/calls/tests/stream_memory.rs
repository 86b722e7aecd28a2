//! Tests of stream memory operations, mainly those with which a stream waits for a value.

use super::gate::FREE;
use super::*;
use cuda_api::sys::CUstreamBatchMemOpType as Operation;
use host_ipc::gate::Mode;

const INVALID: u32 = CuError::INVALID_VALUE.0;
const EQ: u32 = 1;

impl Bench {
    fn operate(&mut self, operation: Operation, address: u64, value: u64, flags: u32, stream: u64) {
        let h_stream = StreamId(stream);
        let operation = operation.0;
        self.post(&VcudaStreamMemoryOperation { operation, address, value, flags, h_stream });
    }

    fn wait_value(&mut self, address: u64, value: u64, stream: u64) {
        self.operate(Operation::CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, EQ, stream);
    }

    fn write_value(&mut self, address: u64, value: u64, stream: u64) {
        self.operate(Operation::CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, 0, stream);
    }

    fn stream_query(&mut self, stream: u64) -> u32 {
        self.call(&CuStreamQuery { h_stream: StreamId(stream) }).0
    }
}

#[test]
fn a_stream_that_waits_for_a_value_does_not_use_the_gpu() {
    alone("stream_memory::a_stream_that_waits_for_a_value_does_not_use_the_gpu", |mut bench| {
        bench.streams();
        let (flag, a) = (bench.alloc(16), bench.alloc(1024));
        bench.fill(flag, 0, 4, 0);
        bench.good(&CuCtxSynchronize {});
        bench.grant(Mode::Window, 1_000_000_000);
        for value in 1..4 {
            bench.wait_value(flag, value, FREE);
            bench.fill(a, value as u8, 256, FREE);
            bench.until("it waits", Bench::stalled);
            assert!(bench.is_active());
            // Other calls continue while a stream waits, even calls for the same stream.
            assert_eq!(bench.stream_query(FREE), CuError::NOT_READY.0);
            bench.good(&CuMemGetInfoV2 {});
            bench.begin(THREAD + 1, &CuStreamSynchronize { h_stream: StreamId(FREE) });
            // The gate holds the write of the value until the next window.
            bench.grant(Mode::Closed, 0);
            bench.write_value(flag, value, 0);
            assert_eq!(bench.held(), 1);
            bench.grant(Mode::Window, 1_000_000_000);
            assert_eq!(bench.ended(THREAD + 1), 0);
            let out = VcudaCopyOut { src: a, len: 1024, h_stream: StreamId(FREE) };
            assert_eq!(bench.good(&out).data, [value as u8; 1024]);
        }
        assert_eq!(bench.posted_error(), 0);
    });
}

#[test]
fn memory_operations_stay_behind_held_commands() {
    alone("stream_memory::memory_operations_stay_behind_held_commands", |mut bench| {
        bench.streams();
        let (flag, a) = (bench.alloc(16), bench.alloc(1024));
        bench.fill(flag, 0, 4, 0);
        bench.good(&CuCtxSynchronize {});
        bench.grant(Mode::Closed, 0);
        bench.until("nothing is in flight", |bench| !bench.is_active());
        bench.fill(a, 1, 256, FREE);
        bench.write_value(flag, 7, FREE);
        bench.wait_value(flag, 7, 0);
        bench.begin(THREAD + 1, &CuStreamSynchronize { h_stream: StreamId(0) });
        for _ in 0..20 {
            bench.executor.poll();
        }
        assert_eq!(bench.stream_query(0), CuError::NOT_READY.0, "the write is held");
        bench.grant(Mode::Window, 1_000_000_000);
        assert_eq!(bench.ended(THREAD + 1), 0);
        assert_eq!(bench.posted_error(), 0);
    });
}

#[test]
fn invalid_memory_operations_are_refused() {
    alone("stream_memory::invalid_memory_operations_are_refused", |mut bench| {
        let secret = [0u64; 2];
        let device = bench.alloc(16);
        let (wait, write) =
            (Operation::CU_STREAM_MEM_OP_WAIT_VALUE_64, Operation::CU_STREAM_MEM_OP_WRITE_VALUE_64);
        for (operation, address, flags) in [
            (write, secret.as_ptr() as u64, 0),
            (wait, secret.as_ptr() as u64, EQ),
            (write, device + 16, 0),
            (write, device + 4, 0),
            (write, 0, 0),
            (write, !7, 0),
            (write, device, 2),
            (wait, device, 4),
            (wait, device, 1 << 30),
            (Operation::CU_STREAM_MEM_OP_BARRIER, 0, 2),
            (Operation::CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES, 0, 0),
            (Operation(7), device, 0),
        ] {
            bench.operate(operation, address, 1, flags, 0);
            assert_eq!(bench.posted_error(), INVALID, "{operation:?} {address:#x} {flags}");
        }
        assert_eq!(secret, [0; 2]);
        bench.operate(write, device, 1, 0, 12345);
        assert_eq!(bench.posted_error(), CuError::INVALID_HANDLE.0);
        bench.good(&CuStreamSynchronize { h_stream: StreamId(0) });
    });
}

#[test]
fn streams_and_contexts_end_while_a_stream_waits() {
    alone("stream_memory::streams_and_contexts_end_while_a_stream_waits", |mut bench| {
        bench.streams();
        let flag = bench.alloc(16);
        bench.fill(flag, 0, 4, 0);
        bench.good(&CuCtxSynchronize {});
        bench.grant(Mode::Window, 1_000_000_000);
        bench.wait_value(flag, 1, FREE);
        bench.fill(flag + 8, 3, 1, FREE);
        bench.until("it waits", Bench::stalled);
        bench.post(&CuStreamDestroyV2 { h_stream: StreamId(FREE) });
        // Once a waiting stream is destroyed, its work counts as running, because it may use the
        // GPU at any time.
        bench.until("it counts as running", |bench| bench.is_active() && !bench.stalled());
        bench.write_value(flag, 1, 0);
        bench.until("it has ended", |bench| !bench.is_active());
        let out = VcudaCopyOut { src: flag + 8, len: 4, h_stream: StreamId(0) };
        assert_eq!(bench.good(&out).data, [3; 4]);
        bench.wait_value(flag, 1, 0);
        bench.good(&VcudaPrimaryCtxRelease { dev: 0, ctx: ContextId(77) });
        bench.ctx = ContextId(0);
        bench.good(&VcudaPrimaryCtxRetain { dev: 0, ctx: ContextId(78) });
        bench.ctx = ContextId(78);
        bench.good(&CuCtxSynchronize {});
        for _ in 0..20 {
            bench.executor.poll();
        }
        assert!(!bench.is_active());
    });
}
