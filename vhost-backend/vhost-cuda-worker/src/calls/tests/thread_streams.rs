//! Tests of the per-thread default streams of threads that exit.

use super::*;

/// The number of the first guest thread of those that exit. These threads only post calls.
const FIRST: u32 = 1000;
const MANY: u32 = 2000;

impl Bench {
    /// Executes a call of the guest thread `thread`.
    fn execute_on<'a, C: Call<'a>>(&mut self, thread: u32, call: &C, flags: u32) {
        let mut args = Writer::new();
        call.encode(&mut args);
        let (reply, reply_len) = (SLOT.0 as u32, SLOT.1 as u32);
        let (opcode, ctx) = (C::OPCODE, self.ctx);
        let cmd = Cmd { opcode, thread, ctx: ctx.0, flags, reply, reply_len, ..Cmd::zeroed() };
        let reply = ReplyTo::ring(&self.ring, &cmd, &self.posted).unwrap();
        self.execute(&Command { opcode, thread, ctx, args: args.as_bytes() }, reply);
    }

    /// Posts a memset in the per-thread default stream of the guest thread `thread`.
    fn set_on(&mut self, thread: u32, dst: u64) {
        let (width, height, h_stream) = (1, 1, StreamId::PER_THREAD);
        let value = thread;
        let set = VcudaMemset { dst, pitch: 0, element_size: 4, value, width, height, h_stream };
        self.execute_on(thread, &set, 0);
    }

    /// Waits until the per-thread default stream of the guest thread `thread` is empty.
    fn wait_on(&mut self, thread: u32) {
        let query = CuStreamQuery { h_stream: StreamId::PER_THREAD };
        let start = std::time::Instant::now();
        loop {
            self.state().store(0, Ordering::Relaxed);
            self.execute_on(thread, &query, CMD_WAITED);
            if self.answer("query").0 == 0 {
                return;
            }
            assert!(start.elapsed().as_secs() < 60, "the stream of {thread} doesn't get empty");
        }
    }

    fn end_thread(&mut self, thread: u32) {
        self.execute_on(thread, &VcudaThreadEnd { h_stream: StreamId::PER_THREAD }, 0);
    }
}

#[test]
fn threads_that_exit_leave_their_streams_to_others() {
    alone("threads_that_exit_leave_their_streams_to_others", |mut bench| {
        let memory = bench.alloc(16);
        for thread in FIRST..FIRST + MANY {
            bench.set_on(thread, memory);
            bench.wait_on(thread);
            bench.end_thread(thread);
        }
        assert_eq!((bench.posted_error(), bench.charged("stream")), (0, 0));
        // These threads don't use any stream before they exit.
        (FIRST..FIRST + MANY).for_each(|thread| bench.end_thread(thread));
        assert_eq!(bench.posted_error(), 0);
    });
}

#[test]
fn threads_whose_end_is_not_reported_take_a_limited_number_of_streams() {
    let test = "threads_whose_end_is_not_reported_take_a_limited_number_of_streams";
    alone(test, |mut bench| {
        bench.set_quota(1 << 30);
        let memory = bench.alloc(16);
        for thread in FIRST..FIRST + MANY {
            bench.set_on(thread, memory);
            bench.wait_on(thread);
        }
        assert_eq!(bench.posted_error(), 0);
        assert!(bench.charged("stream") <= 40 * MIB, "{}", bench.charged("stream"));
    });
}

#[test]
fn a_full_quota_leaves_threads_the_empty_streams_of_others() {
    alone("a_full_quota_leaves_threads_the_empty_streams_of_others", |mut bench| {
        let memory = bench.alloc(16);
        // The first thread gets one of the few streams for which every context has room.
        bench.set_on(FIRST, memory);
        bench.wait_on(FIRST);
        bench.set_quota(bench.used());
        for thread in FIRST..FIRST + 100 {
            bench.set_on(thread, memory);
            bench.wait_on(thread);
        }
        assert_eq!(bench.posted_error(), 0);
    });
}

#[test]
fn work_of_a_thread_that_has_exited_runs_and_its_stream_is_not_used_meanwhile() {
    let test = "work_of_a_thread_that_has_exited_runs_and_its_stream_is_not_used_meanwhile";
    alone(test, |mut bench| {
        let memory = bench.alloc(16);
        let wait = VcudaHostFunc { h_stream: StreamId::PER_THREAD, token: 42 };
        bench.execute_on(FIRST, &wait, 0);
        bench.set_on(FIRST, memory);
        bench.end_thread(FIRST);
        // Another thread gets another stream, which doesn't wait for the host function.
        bench.set_on(FIRST + 1, memory + 4);
        bench.wait_on(FIRST + 1);
        // A new thread with the same number as the exited one gets another stream, which doesn't
        // wait for the host function, either.
        bench.set_on(FIRST, memory + 8);
        bench.wait_on(FIRST);
        bench.run_host_func(42);
        bench.good(&CuCtxSynchronize {});
        let all = bench.good(&VcudaCopyOut { src: memory, len: 12, h_stream: StreamId(0) }).data;
        let expected = [FIRST, FIRST + 1, FIRST].map(u32::to_le_bytes).concat();
        assert_eq!(all, expected);
    });
}
