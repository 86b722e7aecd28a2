//! Generates requests for the device's queues, most of whose members are valid.

use protocol::plain::Plain;
use protocol::uapi::{self, Cmd, Hdr, Hello, RegionAttach, RegionDetach, Segment, SessionCreate};
use protocol::windows::{PAGE_BYTES, PINNED};

use crate::input::Input;

fn segments(input: &mut Input<'_>, base: u64) -> Vec<Segment> {
    (0..input.below(5))
        .map(|_| {
            let pages = input.pick(&[1u64, 1, 2, 100, 4096]);
            let addr = base + u64::from(input.byte()) * PAGE_BYTES;
            match input.below(12) {
                0 => Segment { addr: input.long(), len: input.long() },
                _ => Segment { addr, len: pages * PAGE_BYTES },
            }
        })
        .collect()
}

/// Returns a request for the control queue of a guest whose memory begins at `base`.
pub fn control(input: &mut Input<'_>, base: u64) -> Vec<u8> {
    let request = valid_control(input, base);
    damaged(input, request)
}

/// Returns a request for the command queue, for a chain with `room` bytes for the response.
pub fn command(input: &mut Input<'_>, room: usize) -> Vec<u8> {
    let request = valid_command(input, room);
    damaged(input, request)
}

fn valid_control(input: &mut Input<'_>, base: u64) -> Vec<u8> {
    let session = input.pick(&[1, 2, 3, 4, 5, 0, u32::MAX]);
    let hdr = |kind| Hdr { kind, session };
    match input.below(8) {
        0 => {
            let hdr = Hdr { kind: uapi::CTRL_HELLO, session: 0 };
            let (epoch, version_major) = (u64::from(input.byte() % 4), uapi::VERSION_MAJOR);
            Hello { hdr, epoch, version_major, ..Hello::zeroed() }.as_bytes().to_vec()
        }
        1 | 2 => {
            let env: &[u8] = input.pick(&[&b""[..], b"A=b\0", b"CUDA_CACHE_PATH=/\0X=\0", b"=\0"]);
            let hdr = hdr(uapi::CTRL_SESSION_CREATE);
            let create = SessionCreate { hdr, pid: 1, env_len: env.len() as u32 };
            [create.as_bytes(), env].concat()
        }
        3 => hdr(uapi::CTRL_SESSION_DESTROY).as_bytes().to_vec(),
        4 | 5 => {
            let segments = segments(input, base);
            let sum = segments.iter().fold(0u64, |sum, segment| sum.wrapping_add(segment.len));
            let kind = input.pick(&[uapi::REGION_USER, uapi::REGION_PINNED, uapi::REGION_RING, 9]);
            let vaddr = match kind {
                uapi::REGION_PINNED => PINNED.start + u64::from(input.byte()) * PAGE_BYTES,
                uapi::REGION_USER => 0x10000 + u64::from(input.byte()) * PAGE_BYTES,
                _ => 0,
            };
            let attach = RegionAttach {
                hdr: hdr(uapi::CTRL_REGION_ATTACH),
                region: input.pick(&[1, 2, 3, 4, 5, 0]),
                kind,
                vaddr: if input.one_in(16) { input.long() } else { vaddr },
                len: if input.one_in(16) { input.long() } else { sum },
                ring_bytes: if kind == uapi::REGION_RING { 4096 } else { 0 },
                nr_segments: segments.len() as u32,
            };
            let list: Vec<u8> = segments.iter().flat_map(|s| s.as_bytes().to_vec()).collect();
            [attach.as_bytes(), &list].concat()
        }
        6 => {
            let (region, hdr) = (input.pick(&[1, 2, 3, 4, 0]), hdr(uapi::CTRL_REGION_DETACH));
            RegionDetach { hdr, region, reserved: 0 }.as_bytes().to_vec()
        }
        _ => {
            let hdr = Hdr { kind: uapi::CTRL_QUERY, session: 0 };
            uapi::Query { hdr, reserved: 0 }.as_bytes().to_vec()
        }
    }
}

fn valid_command(input: &mut Input<'_>, room: usize) -> Vec<u8> {
    let session = input.pick(&[1, 2, 3, 4]);
    if input.one_in(3) {
        return Hdr { kind: uapi::CMD_DOORBELL, session }.as_bytes().to_vec();
    }
    let hdr = Hdr { kind: uapi::CMD_SUBMIT, session };
    let args = vec![0u8; 8 * input.below(300)];
    let len = (size_of::<Cmd>() + args.len()) as u32;
    let reply_len = (room.saturating_sub(8) as u32).min(input.number());
    let cmd = Cmd { len, opcode: 1, reply_len: reply_len.max(16), ..Cmd::zeroed() };
    [hdr.as_bytes(), cmd.as_bytes(), &args].concat()
}

/// Damages a request by changing a few of its bytes, or returns it unchanged.
fn damaged(input: &mut Input<'_>, mut bytes: Vec<u8>) -> Vec<u8> {
    match input.below(16) {
        1 => bytes.truncate(input.below(bytes.len() + 1)),
        2 => bytes.extend(input.bytes(64)),
        3 => {
            let at = input.below(bytes.len());
            bytes[at] = input.byte();
        }
        4 => bytes = input.bytes(256).to_vec(),
        _ => {}
    }
    bytes
}
