//! Makes calls in a worker's session on softgpu, in a child process for each run. No call by a
//! guest may end the worker, and softgpu must never have allocated more memory than the session's
//! account is charged for.

use std::fmt::Write;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use protocol::calls::*;
use protocol::codec::Call;
use protocol::ids::*;
use protocol::windows::{DEVICE, PINNED};
use vhost_cuda_worker::region::RegionKind;

use crate::arguments::{AnyCall, CALLS, encoded};
use crate::child;
use crate::input::Input;
use crate::oracle::Allocated;
use crate::session::{Answer, Session};
use crate::softgpu;
use crate::world::World;

/// The device memory that the VM may use in addition to a context, in bytes.
pub const QUOTA: u64 = 64 << 20;
/// Maximum number of calls in one run.
const MAX_CALLS: usize = 40;
/// How long the guest waits for a reply. It isn't an error if no reply arrives in this time,
/// because a guest can make a call wait forever, for example if a stream waits for a value.
const PATIENCE: Duration = Duration::from_millis(20);
/// How long the guest waits for a reply to each of the first calls, which can't block.
const LONG: Duration = Duration::from_secs(60);
const FIRST: u64 = FIRST_ID;
const CONTEXT: ContextId = ContextId(FIRST);
const THREAD: u32 = 5;
const MIB: u64 = 1 << 20;
/// The guest address of the USER region.
const USER: u64 = 0x10_0000_0000;

const PTX: &[u8] = br"
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .b8 data[4096];
.visible .entry empty() { ret; }
.visible .entry fill(.param .u64 a, .param .u32 n)
{
    .reg .b64 %d<4>;
    .reg .b32 %r<4>;
    ld.param.u64 %d1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %d2, %r2, 4;
    add.s64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r1;
    ret;
}
";

/// Makes softgpu's memory small enough for this machine. Called before any thread starts.
pub fn prepare() {
    softgpu::prepare("1G");
}

/// Runs the target that makes calls of all kinds.
pub fn run(bytes: &[u8]) {
    run_calls(bytes, &CALLS.iter().collect::<Vec<_>>());
}

/// Runs the target that makes calls that involve graphs.
pub fn run_graphs(bytes: &[u8]) {
    let names = ["Graph", "CuMemAllocV2", "Values", "VcudaPing"];
    let of_graphs = |call: &&AnyCall| names.iter().any(|name| call.name.contains(name));
    run_calls(bytes, &CALLS.iter().filter(of_graphs).collect::<Vec<_>>());
}

fn run_calls(bytes: &[u8], calls: &[&AnyCall]) {
    child::run(|| {
        let mut session = Session::start(QUOTA);
        let allocated = Allocated::new(&session);
        let arena = session.attach(3, RegionKind::Ring, 0, MIB);
        let mut world = begin(&mut session, Input::new(bytes));
        let mut made = String::new();
        for _ in 0..MAX_CALLS {
            if world.input.is_empty() {
                break;
            }
            if world.input.one_in(8) {
                forge(&arena, &mut world);
            }
            let call = calls[world.input.below(calls.len())];
            let mut args = (call.arguments)(&mut world);
            if world.input.one_in(32) {
                args = world.input.bytes(64).to_vec();
                args.resize(args.len().next_multiple_of(8), 0);
            }
            let thread = THREAD + u32::from(world.input.one_in(8));
            let ctx = if world.input.one_in(16) { ContextId(world.id()) } else { CONTEXT };
            let answer = session.execute((call.opcode, thread, ctx), &args, PATIENCE);
            let result = answer.as_ref().map(|(result, _)| *result);
            let _ = write!(made, "\n{} in {ctx}: {result:?} {args:02x?}", call.name);
            if let Some(answer) = answer {
                learn(&mut world, &answer);
            }
        }
        allocated.check(&mut session, || made);
    });
}

/// Writes to the arena, which contains completion words and staged copies. A guest can do that at
/// any time.
fn forge(arena: &File, world: &mut World<'_>) {
    let at = world.size() & !7;
    let word = world.small();
    // Skip addresses past the end of the arena, where the guest has no memory.
    if at < MIB {
        arena.write_all_at(&word.to_le_bytes(), at).expect("the arena can be written");
    }
}

/// Remembers the addresses of device memory in a reply, as arguments for later calls.
fn learn(world: &mut World<'_>, (_, outputs): &Answer) {
    let words = outputs.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
    world.addresses.extend(words.filter(|word| DEVICE.contains(word)).take(4));
}

/// Makes a call that must succeed.
fn good<'a, C: Call<'a>>(session: &mut Session, world: &mut World<'_>, call: &C) {
    let answer = session.execute((C::OPCODE, THREAD, CONTEXT), &encoded(call), LONG);
    let answer = answer.unwrap_or_else(|| panic!("{} isn't answered", C::NAME));
    assert_eq!(answer.0, 0, "{}", C::NAME);
    learn(world, &answer);
}

/// Creates one object of each common kind, each with the first id of its kind.
fn begin<'a>(session: &mut Session, input: Input<'a>) -> World<'a> {
    let mut world = World { input, addresses: vec![PINNED.start, USER] };
    session.attach(1, RegionKind::Pinned, PINNED.start, MIB);
    session.attach(2, RegionKind::User, USER, MIB);
    let world_ref = &mut world;
    good(session, world_ref, &VcudaPrimaryCtxRetain { dev: 0, ctx: CONTEXT });
    good(session, world_ref, &CuMemAllocV2 { bytesize: MIB as usize });
    let load = VcudaModuleLoad {
        module: ModuleId(FIRST),
        blob: BlobId::INLINE,
        image: PTX,
        options: Default::default(),
        log_max: 0,
    };
    good(session, world_ref, &load);
    let load = VcudaLibraryLoad {
        library: LibraryId(FIRST),
        blob: BlobId::INLINE,
        image: PTX,
        options: Default::default(),
        library_options: Default::default(),
        log_max: 0,
    };
    good(session, world_ref, &load);
    let (hfunc, hmod) = (FunctionId(FIRST), ModuleId(FIRST));
    good(session, world_ref, &VcudaModuleGetFunction { hfunc, hmod, name: "fill" });
    world
}
