//! Requests that a guest's driver sends.

use protocol::plain::Plain;
use protocol::uapi::{self, Cmd, Hdr, RegionAttach, Segment};

/// Size of the ring in a RING region, in bytes.
pub const RING: usize = 64 << 10;
/// Size of a RING region, in bytes: the header page, the ring, and a 64 KiB arena.
pub const REGION: usize = 4096 + RING + (64 << 10);

/// Returns a request that attaches a segment of `REGION` bytes as a session's ring.
pub fn ring_request(session: u32) -> RegionAttach {
    RegionAttach {
        hdr: Hdr { kind: uapi::CTRL_REGION_ATTACH, session },
        region: 1,
        kind: uapi::REGION_RING,
        vaddr: 0,
        len: REGION as u64,
        ring_bytes: RING as u32,
        nr_segments: 1,
    }
}

pub(crate) fn with_segments(request: RegionAttach, segments: &[(u64, u64)]) -> Vec<u8> {
    let mut bytes = request.as_bytes().to_vec();
    for (addr, len) in segments {
        bytes.extend(Segment { addr: *addr, len: *len }.as_bytes());
    }
    bytes
}

pub fn create(session: u32) -> Vec<u8> {
    create_with(session, b"")
}

pub fn create_with(session: u32, env: &[u8]) -> Vec<u8> {
    let hdr = Hdr { kind: uapi::CTRL_SESSION_CREATE, session };
    let create = uapi::SessionCreate { hdr, pid: std::process::id(), env_len: env.len() as u32 };
    [create.as_bytes(), env].concat()
}

pub fn submit(session: u32, opcode: u32, room: usize) -> Vec<u8> {
    let hdr = Hdr { kind: uapi::CMD_SUBMIT, session };
    let len = size_of::<Cmd>() as u32;
    let cmd = Cmd { len, opcode, flags: 1, reply_len: room as u32, ..Cmd::zeroed() };
    [hdr.as_bytes(), cmd.as_bytes()].concat()
}
