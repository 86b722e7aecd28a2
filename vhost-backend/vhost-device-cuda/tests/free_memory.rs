//! Tests that each session of a VM immediately sees how much memory the other sessions use.

use host_test_support::{Device, FREE, Guest, SessionRing};
use protocol::calls::{CuMemAllocV2, CuMemFreeV2, CuMemGetInfoV2, VcudaPrimaryCtxRetain};
use protocol::ids::ContextId;
use protocol::uapi;

const MIB: u64 = 1 << 20;
const CTX: u64 = 77;

/// Starts a session with a context. Its ring is the `session`-th MiB of the free pages.
fn begin(guest: &mut Guest, session: u32) -> SessionRing {
    assert_eq!(guest.create(session), uapi::OK);
    let mut ring = guest.attach_ring(session, FREE + ((session as usize) << 20));
    ring.send(guest, 0, &VcudaPrimaryCtxRetain { dev: 0, ctx: ContextId(CTX) });
    ring
}

#[test]
fn a_session_sees_the_allocations_of_another_one_at_once() {
    let device = Device::start(&["--memory-max", "256M"]);
    let mut guest = Guest::connect(&device.socket);
    let (mut one, mut other) = (begin(&mut guest, 1), begin(&mut guest, 2));
    let free =
        |guest: &mut Guest, ring: &mut SessionRing| ring.send(guest, CTX, &CuMemGetInfoV2 {});
    let all = free(&mut guest, &mut other);
    assert!(all <= 256 * MIB, "{all} bytes are free");
    for mib in 1..40 {
        let bytes = 2 * mib * MIB;
        let dptr = one.send(&mut guest, CTX, &CuMemAllocV2 { bytesize: bytes as usize });
        assert_eq!(free(&mut guest, &mut other), all - bytes);
        assert_eq!(free(&mut guest, &mut one), all - bytes);
        one.send(&mut guest, CTX, &CuMemFreeV2 { dptr });
        assert_eq!(free(&mut guest, &mut other), all);
    }
    // The memory of a session is free again as soon as the guest is notified of the session's end.
    one.send(&mut guest, CTX, &CuMemAllocV2 { bytesize: 64 << 20 });
    assert_eq!(free(&mut guest, &mut other), all - 64 * MIB);
    assert_eq!(guest.destroy(1), uapi::OK);
    assert_eq!(free(&mut guest, &mut other), all);
}

#[test]
fn each_session_sees_its_own_limit() {
    let limits = ["--memory-max", "256M", "--memory-session-max", "100M"];
    let device = Device::start(&limits);
    let mut guest = Guest::connect(&device.socket);
    let (mut one, mut other) = (begin(&mut guest, 1), begin(&mut guest, 2));
    let free =
        |guest: &mut Guest, ring: &mut SessionRing| ring.send(guest, CTX, &CuMemGetInfoV2 {});
    assert_eq!(free(&mut guest, &mut one), 100 * MIB);
    one.send(&mut guest, CTX, &CuMemAllocV2 { bytesize: 80 << 20 });
    assert_eq!((free(&mut guest, &mut one), free(&mut guest, &mut other)), (20 * MIB, 100 * MIB));
    let mut third = begin(&mut guest, 3);
    third.send(&mut guest, CTX, &CuMemAllocV2 { bytesize: 100 << 20 });
    assert_eq!((free(&mut guest, &mut third), free(&mut guest, &mut other)), (0, 76 * MIB));
}
