//! Tests of green contexts: their charges, and the calls with which a guest might misuse them.

use super::*;
use protocol::codec::Array;
use protocol::ids::GreenId;

const GREEN: GreenId = GreenId(700);
const STREAM: StreamId = StreamId(701);
/// The bytes of device memory that a context takes in these tests.
const CONTEXT: u64 = 5 * MIB;
const INVALID: u32 = CuError::INVALID_VALUE.0;
const CONFIGURATION: u32 = CuError::INVALID_RESOURCE_CONFIGURATION.0;
const REST: u32 = u32::MAX - 1;
const WHOLE: u32 = u32::MAX;

/// Returns a call that creates a green context. The SMs are split into at most `groups` groups of
/// at least one SM, and the green context gets the groups in `parts`.
fn create(green: GreenId, groups: u32, parts: &[u32]) -> VcudaGreenCtxCreate<'_> {
    let (source, parts) = (GreenId(0), Array::from(parts));
    VcudaGreenCtxCreate { green, source, groups, flags: 0, min_count: 1, parts }
}

/// Returns the number of bytes that stay charged to a primary context in which `created` green
/// contexts were created.
fn kept(created: u64) -> u64 {
    (2 + 4 * created) * MIB
}

impl Bench {
    fn green_stream(&mut self, stream: StreamId, green: GreenId) -> u32 {
        self.call(&VcudaGreenCtxStreamCreate { stream, green, priority: 0 }).0
    }
}

#[test]
fn a_green_context_is_charged_until_it_is_destroyed() {
    alone_with("greens::a_green_context_is_charged_until_it_is_destroyed", CONTEXT, |mut bench| {
        let used = bench.used();
        let all = bench.good(&VcudaSmResource { dev: 0, source: GreenId(0) }).sms[0];
        bench.good(&create(GREEN, 1, &[0]));
        assert_eq!(bench.used(), used + CONTEXT + kept(1));
        let part = bench.good(&VcudaSmResource { dev: 0, source: GREEN }).sms[0];
        assert!(part >= 1 && part <= all, "{part} of {all} SMs");
        assert_eq!(bench.green_stream(STREAM, GREEN), 0);
        let dst = bench.alloc(4096);
        bench.fill(dst, 1, 256, STREAM.0);
        bench.good(&CuStreamSynchronize { h_stream: STREAM });
        bench.good(&VcudaGreenCtxDestroy { green: GREEN });
        // The green context's streams were destroyed with it. The allocation stays, because it
        // belongs to the primary context.
        let synchronize = CuStreamSynchronize { h_stream: STREAM };
        assert_eq!(bench.call(&synchronize).0, CuError::INVALID_HANDLE.0);
        let out = VcudaCopyOut { src: dst, len: 4, h_stream: StreamId(0) };
        assert_eq!(bench.good(&out).data, [1; 4]);
        bench.good(&CuMemFreeV2 { dptr: dst });
        assert_eq!(bench.charged("context"), CONTEXT + kept(1), "only the primary context");
        assert_eq!(bench.call(&VcudaGreenCtxDestroy { green: GREEN }).0, CuError::INVALID_HANDLE.0);
        // The id of a destroyed green context can be used again.
        bench.good(&create(GREEN, 0, &[WHOLE]));
        assert_eq!(bench.good(&VcudaSmResource { dev: 0, source: GREEN }).sms[0], all);
        assert_eq!(bench.charged("context"), 2 * CONTEXT + kept(2));
    });
}

#[test]
fn green_contexts_end_with_their_primary_context() {
    alone_with("greens::green_contexts_end_with_their_primary_context", CONTEXT, |mut bench| {
        for id in 0..3 {
            bench.good(&create(GreenId(700 + id), 1, &[0]));
        }
        assert_eq!(bench.green_stream(StreamId(800), GREEN), 0);
        assert_eq!(bench.charged("context"), 4 * CONTEXT + kept(3));
        bench.good(&VcudaPrimaryCtxRelease { dev: 0, ctx: bench.ctx });
        assert_eq!(bench.charged("context"), 0);
        bench.ctx = ContextId(78);
        bench.good(&VcudaPrimaryCtxRetain { dev: 0, ctx: bench.ctx });
        assert_eq!(bench.green_stream(StreamId(801), GREEN), CuError::INVALID_HANDLE.0);
        bench.good(&create(GREEN, 1, &[0]));
        assert_eq!(bench.charged("context"), 2 * CONTEXT + kept(1));
    });
}

#[test]
fn a_green_context_needs_room_in_the_quota() {
    alone_with("greens::a_green_context_needs_room_in_the_quota", QUOTA / 2 + MIB, |mut bench| {
        let used = bench.used();
        assert_eq!(bench.call(&create(GREEN, 1, &[0])).0, CuError::OUT_OF_MEMORY.0);
        assert_eq!(bench.used(), used);
    });
}

#[test]
fn green_contexts_that_are_created_and_destroyed_use_up_the_quota() {
    let name = "greens::green_contexts_that_are_created_and_destroyed_use_up_the_quota";
    alone_with(name, CONTEXT, |mut bench| {
        let room = QUOTA - bench.used() - CONTEXT;
        let most = (room - 2 * MIB) / (4 * MIB);
        for _ in 0..most {
            bench.good(&create(GREEN, 1, &[0]));
            bench.good(&VcudaGreenCtxDestroy { green: GREEN });
        }
        let used = bench.used();
        assert_eq!(used, CONTEXT + kept(most));
        assert_eq!(bench.call(&create(GREEN, 1, &[0])).0, CuError::OUT_OF_MEMORY.0);
        assert_eq!(bench.used(), used);
    });
}

#[test]
fn false_descriptions_of_sms_are_refused() {
    alone_with("greens::false_descriptions_of_sms_are_refused", CONTEXT, |mut bench| {
        for parts in [&[][..], &[0, 0], &[1 << 20], &[WHOLE - 2], &[0, WHOLE]] {
            assert_eq!(bench.call(&create(GREEN, 1, parts)).0, CONFIGURATION, "{parts:?}");
        }
        assert_eq!(bench.call(&create(GREEN, 0, &[0])).0, CONFIGURATION, "not split");
        for groups in [1025, u32::MAX] {
            assert_eq!(bench.call(&create(GREEN, groups, &[0])).0, INVALID, "{groups} groups");
        }
        for (flags, min_count, expected) in [(4, 1, INVALID), (0, u32::MAX, CONFIGURATION)] {
            let split = VcudaGreenCtxCreate { flags, min_count, ..create(GREEN, 1, &[0, REST]) };
            assert_eq!(bench.call(&split).0, expected);
        }
        for source in [GREEN, GreenId(u64::MAX)] {
            let unknown = VcudaSmSplit { dev: 0, source, groups: 1, flags: 0, min_count: 1 };
            assert_eq!(bench.call(&unknown).0, CuError::INVALID_HANDLE.0);
        }
        for dev in [-1, 1, i32::MAX] {
            let device = VcudaSmResource { dev, source: GreenId(0) };
            assert_eq!(bench.call(&device).0, CuError::INVALID_DEVICE.0);
        }
        assert_eq!(bench.charged("context"), CONTEXT, "nothing was created");
        // A green context can be created only in a primary context, and used only in its own.
        let ctx = ContextId(90);
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx });
        let primary = std::mem::replace(&mut bench.ctx, ctx);
        assert_eq!(bench.call(&create(GREEN, 1, &[0])).0, CuError::INVALID_CONTEXT.0);
        bench.ctx = primary;
        bench.good(&create(GREEN, 1, &[0]));
        bench.ctx = ctx;
        assert_eq!(bench.green_stream(STREAM, GREEN), CuError::INVALID_CONTEXT.0);
    });
}
