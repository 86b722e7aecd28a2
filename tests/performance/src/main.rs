//! Passes calls through a ring in the same way as guest and worker, but in one thread and without a
//! driver. `tests/performance/instructions.sh` counts the instructions of each step.

use std::alloc::{Layout, alloc_zeroed};
use std::hint::black_box;

use protocol::calls::{CuMemAllocV2, CuMemAllocV2Answer, VcudaCopyIn, VcudaLaunch};
use protocol::codec::{Answer, Array, Call, Writer};
use protocol::ids::{FuncId, StreamId};
use protocol::plain::Plain;
use protocol::ring::{GuestRing, HostRing, Shared};
use protocol::uapi::{Cmd, RING_HEADER_BYTES, RING_MIN_BYTES};

/// How often each call is made. The script divides the counted instructions by this number.
const CALLS: usize = 1000;

/// A ring, and the buffers that its guest side and its host side use.
struct Path {
    guest: GuestRing,
    host: HostRing,
    writer: Writer,
    args: Vec<u8>,
}

impl Path {
    fn new() -> Self {
        let size = RING_HEADER_BYTES + RING_MIN_BYTES;
        let layout = Layout::from_size_align(size, 4096).expect("a page is a valid alignment");
        // SAFETY: the size isn't zero.
        let base = unsafe { alloc_zeroed(layout) };
        assert!(!base.is_null());
        // SAFETY: the memory has this size, is aligned to a page, and is never freed.
        let shared = unsafe { Shared::new(base, RING_MIN_BYTES) }.expect("a valid size");
        Self {
            guest: GuestRing::new(shared),
            host: HostRing::new(shared),
            writer: Writer::new(),
            args: Vec::new(),
        }
    }

    /// Makes the same call [`CALLS`] times.
    fn repeat<'a, C: Call<'a>>(
        &mut self,
        call: &C,
        decoded: impl Fn(&[u8]) -> bool,
        then: impl Fn(&mut Writer),
    ) {
        for _ in 0..CALLS {
            encode(&mut self.writer, black_box(call));
            push(&mut self.guest, C::OPCODE, &self.writer);
            pop(&mut self.host, &mut self.args);
            decode(&self.args, &decoded);
            then(&mut self.writer);
        }
    }
}

#[inline(never)]
fn encode<'a, C: Call<'a>>(writer: &mut Writer, call: &C) {
    writer.clear();
    call.encode(writer);
}

#[inline(never)]
fn push(ring: &mut GuestRing, opcode: u32, writer: &Writer) {
    let args = writer.as_bytes();
    let len = (size_of::<Cmd>() + args.len()) as u32;
    let cmd = Cmd { len, opcode, ..Cmd::zeroed() };
    black_box(ring.push(&[cmd.as_bytes(), args]).is_ok());
}

#[inline(never)]
fn pop(ring: &mut HostRing, args: &mut Vec<u8>) {
    assert!(matches!(black_box(ring.pop(args)), Ok(Some(_))), "the command has been written");
}

#[inline(never)]
fn decode(args: &[u8], decoded: impl Fn(&[u8]) -> bool) {
    assert!(decoded(args), "the command is valid");
}

#[inline(never)]
fn encode_answer(writer: &mut Writer, answer: &impl Answer) {
    writer.clear();
    answer.encode(writer);
}

#[inline(never)]
fn decode_answer<A: Answer>(writer: &Writer) {
    assert!(black_box(A::decode(writer.as_bytes())).is_ok(), "the answer is valid");
}

fn main() {
    let mut path = Path::new();
    let stream = StreamId(500);
    match std::env::args().nth(1).as_deref() {
        // A launch of a kernel whose parameters are three pointers and a number.
        Some("launch") => {
            let params = [7; 32];
            let launch = VcudaLaunch {
                f: FuncId(17),
                grid_x: 1024,
                grid_y: 1,
                grid_z: 1,
                block_x: 256,
                block_y: 1,
                block_z: 1,
                shared_mem_bytes: 0,
                h_stream: stream,
                params: &params,
                attributes: Array::default(),
            };
            path.repeat(&launch, |args| black_box(VcudaLaunch::decode(args)).is_ok(), |_| ());
        }
        Some("copy") => {
            let copy = VcudaCopyIn { dst: 1 << 40, data: &[7; 256], h_stream: stream };
            path.repeat(&copy, |args| black_box(VcudaCopyIn::decode(args)).is_ok(), |_| ());
        }
        Some("allocation") => {
            let allocation = CuMemAllocV2 { bytesize: 1 << 20 };
            let decoded = |args: &[u8]| black_box(CuMemAllocV2::decode(args)).is_ok();
            path.repeat(&allocation, decoded, |writer| {
                encode_answer(writer, black_box(&CuMemAllocV2Answer { dptr: 1 << 40 }));
                decode_answer::<CuMemAllocV2Answer>(writer);
            });
        }
        _ => {
            eprintln!("usage: call-instructions launch|copy|allocation");
            std::process::exit(2);
        }
    }
}
