//! Tests of the executor with a driver library: softgpu, or the library that
//! VIRTIO_CUDA_TEST_LIBRARY names.
//!
//! An executor takes over its process (standard output, the device memory window, the driver). Each
//! test therefore runs in a separate process: this test binary, started again for that one test.

mod account;
mod arrays;
mod charges;
mod claims;
mod credit;
mod endings;
mod gate;
mod gate_contexts;
mod graph_charges;
mod graphs;
mod greens;
mod image_charges;
mod interleavings;
mod kept;
mod kernels;
mod launch_events;
mod leftovers;
mod limits;
mod managed_variables;
mod pools;
mod session;
mod sharing;
mod small_operations;
mod stream_memory;
mod streams;
mod texture_refs;
mod textures;
mod thread_streams;
mod virtual_memory;
mod words;

use protocol::ids::{
    BlobId, ContextId, EventId, FuncId, FunctionId, GreenId, KernelId, LibraryId, ModuleId, PoolId,
    StreamId,
};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use protocol::calls::*;
use protocol::codec::{Answer, Call, Writer};
use protocol::plain::Plain;
use protocol::uapi::{self, CMD_WAITED, Cmd};

use crate::driver::CuError;
use crate::exchange::Exchange;
use crate::executor::{Command, Executor, Prepare, Session};
use crate::ledger::LedgerClient;
use crate::mirror::Mirrors;
use crate::region::{Piece, RegionKind, Regions};
use crate::reply::{PostedError, ReplyTo, RingRegion};
use crate::waker::Waker;
use host_ipc::eventfd::eventfd;
use host_ipc::frames::Incoming;
use host_ipc::gate::GateMap;
use host_ipc::messages::{
    CREDIT, Charge, Credit, Exported, ToBroker, ToWorker, Token, WorkerToDevice,
};
use host_ipc::seqpacket;
use host_ipc::spending::{Spending, SpendingMap};

const MIB: u64 = 1 << 20;
const QUOTA: u64 = 64 * MIB;
const RING_BYTES: usize = 4096;
const ARENA: usize = RING_HEADER + RING_BYTES;
const RING_HEADER: usize = uapi::RING_HEADER_BYTES;
const REGION_BYTES: usize = 4 << 20;
/// The offset of the first thread's reply slot in the arena, and the length of each slot.
const SLOT: (usize, usize) = (11 << 18, 256 << 10);
/// The number of the first guest thread.
const THREAD: u32 = 5;

const VECTOR_ADD: &[u8] = br"
.version 7.0
.target sm_70
.address_size 64
.visible .entry vector_add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .f32 %f<4>;
    .reg .b64 %d<10>;
    ld.param.u64 %d1, [a];
    ld.param.u64 %d2, [b];
    ld.param.u64 %d3, [c];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r1;
    @%p bra DONE;
    mul.wide.u32 %d4, %r5, 4;
    add.s64 %d5, %d1, %d4;
    add.s64 %d6, %d2, %d4;
    add.s64 %d7, %d3, %d4;
    ld.global.f32 %f1, [%d5];
    ld.global.f32 %f2, [%d6];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%d7], %f3;
DONE:
    ret;
}
";

const SAY: &[u8] = br"
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 text[7] = {104, 101, 108, 108, 111, 10, 0};
.visible .entry say()
{
    .reg .b32 %r1;
    .reg .b64 %d<4>;
    mov.u64 %d1, text;
    cvta.global.u64 %d2, %d1;
    mov.u64 %d3, 0;
    {
        .param .b64 format;
        st.param.b64 [format], %d2;
        .param .b64 arguments;
        st.param.b64 [arguments], %d3;
        .param .b32 result;
        call.uni (result), vprintf, (format, arguments);
        ld.param.b32 %r1, [result];
    }
    ret;
}
";

/// Runs `body` in a separate process. `body` must be a closure in the test function named `test`.
fn alone<F: FnOnce(Bench)>(test: &str, body: F) {
    alone_with(test, 0, body);
}

/// Runs `body` in a separate process, as `alone` does. A context takes `context` bytes of device
/// memory.
fn alone_with<F: FnOnce(Bench)>(test: &str, context: u64, body: F) {
    run_alone(test, FirstContext { bytes: context, in_advance: true }, &[], body);
}

/// Runs `body` in a separate process, as `alone` does, with the environment variables `env`.
fn alone_in<F: FnOnce(Bench)>(test: &str, env: &[(&str, &str)], body: F) {
    run_alone(test, FirstContext { bytes: 0, in_advance: true }, env, body);
}

/// The context of the first device.
struct FirstContext {
    /// The device memory that it takes.
    bytes: u64,
    /// Whether the worker creates it before its session begins, and the VM is charged for it then.
    in_advance: bool,
}

fn run_alone<F: FnOnce(Bench)>(test: &str, context: FirstContext, env: &[(&str, &str)], body: F) {
    const MARK: &str = "VIRTIO_CUDA_TEST_ALONE";
    if std::env::var_os(MARK).is_some() {
        return body(Bench::new(context));
    }
    // The closure's type name contains the path of the function that defines it.
    let (_, path) = std::any::type_name::<F>().split_once("::").expect("a crate's name");
    let name = path.strip_suffix("::{{closure}}").expect("a closure");
    assert!(name.ends_with(&format!("::{test}")), "{test} runs {name}");
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(MARK, "1")
        .env("SOFTGPU_STRICT", "1")
        .envs(env.iter().copied())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{test} failed in its own process: {said}");
    // Check only for this line, which is printed early, because the test itself later replaces
    // standard output.
    assert!(said.contains("running 1 test"), "{test} was not run: {said}");
}

fn library() -> PathBuf {
    if let Some(path) = std::env::var_os("VIRTIO_CUDA_TEST_LIBRARY") {
        return path.into();
    }
    let exe = std::env::current_exe().unwrap();
    let built = exe.parent().and_then(|deps| deps.parent()).unwrap().join("libsoftgpu.so");
    assert!(built.exists(), "{} is missing: cargo build -p softgpu", built.display());
    built
}

/// The number of requests that the broker's thread has received.
static REQUESTS: AtomicU32 = AtomicU32::new(0);

/// One VM's account of device memory, as the broker keeps it.
struct Account {
    used: u64,
    max: u64,
    /// The reserved bytes for each kind of charge.
    kinds: std::collections::HashMap<&'static str, u64>,
    /// The size in bytes of each piece of shared memory, and the number of times that the session
    /// holds it.
    shares: std::collections::HashMap<u64, (u64, u64)>,
}

impl Account {
    fn release_memory(&mut self, bytes: u64) {
        if bytes > 0 {
            self.used -= bytes;
            *self.kinds.get_mut("memory").unwrap() -= bytes;
        }
    }

    /// Grants the worker as much credit as it should have, if the worker uses credit at all.
    fn grant(&mut self, credit: &Credit) {
        if !credit.is_taken() {
            return;
        }
        self.release_memory(credit.take_excess());
        let lacking = CREDIT.saturating_sub(credit.bytes());
        let bytes = lacking.min(self.max.saturating_sub(self.used)) / (2 * MIB) * (2 * MIB);
        self.used += bytes;
        *self.kinds.entry("memory").or_default() += bytes;
        credit.add(bytes);
    }
}

/// The memory and events that the VM's sessions export, as the device process records them.
#[derive(Default)]
struct Exports {
    things: std::collections::HashMap<Token, Exported>,
    /// The descriptors that the exporting sessions send when another session imports their memory.
    files: std::collections::HashMap<Token, OwnedFd>,
    /// Whether the device process refuses further exports.
    full: bool,
}

/// Starts a thread that answers a worker's requests as the device process does.
fn exchange() -> (Exchange, Arc<Mutex<Exports>>) {
    let (ours, theirs) = seqpacket::stream_pair().unwrap();
    let exchange = Exchange::new(Arc::new(Mutex::new(ours)));
    let exports = Arc::new(Mutex::new(Exports::default()));
    let (asked, kept) = (exchange.clone(), exports.clone());
    std::thread::spawn(move || {
        let mut incoming = Incoming::new(0);
        while let Ok(true) = incoming.read(&theirs) {
            while let Ok(Some((message, _))) = incoming.take::<WorkerToDevice>() {
                let mut exports = kept.lock().unwrap();
                match message {
                    WorkerToDevice::Export { request, token, thing } => {
                        let done = !exports.full && !exports.things.contains_key(&token);
                        if done {
                            exports.things.insert(token, thing);
                        }
                        asked.exported(request, done);
                    }
                    WorkerToDevice::Import { request, token } => {
                        asked.imported(request, exports.things.get(&token).copied());
                    }
                    WorkerToDevice::Fetch { request, token } => {
                        let file = exports.files.get(&token);
                        asked.fetched(request, file.map(|file| file.try_clone().unwrap()));
                    }
                    WorkerToDevice::Withdraw { token } => {
                        exports.things.remove(&token);
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    });
    (exchange, exports)
}

/// Starts a thread that keeps an account as the broker does, with `context` bytes already reserved.
/// The thread doesn't publish the account on the gate page; a test that needs that must do so
/// itself.
fn ledger(context: u64, page: &Arc<GateMap>) -> (LedgerClient, Arc<Mutex<Account>>) {
    let (ours, theirs) = seqpacket::pair().unwrap();
    let kinds = [("context", context)].into();
    let account =
        Arc::new(Mutex::new(Account { used: context, max: QUOTA, kinds, shares: [].into() }));
    let (kept, shown) = (account.clone(), page.clone());
    std::thread::spawn(move || {
        while let Ok(Some((question, _))) = seqpacket::receive::<ToBroker>(&theirs) {
            REQUESTS.fetch_add(1, Ordering::SeqCst);
            let mut account = kept.lock().unwrap();
            if let ToBroker::Reserve { bytes, .. } = question
                && bytes > account.max.saturating_sub(account.used)
            {
                account.release_memory(shown.gpus[0].credit.withdraw());
            }
            let gets_credit = matches!(
                question,
                ToBroker::Reserve { kind: Charge::Memory, .. } | ToBroker::Release { .. }
            );
            let answer = match question {
                ToBroker::Reserve { bytes, .. }
                    if bytes > account.max.saturating_sub(account.used) =>
                {
                    ToWorker::Refused
                }
                ToBroker::Reserve { bytes, kind, .. } => {
                    account.used += bytes;
                    *account.kinds.entry(kind.name()).or_default() += bytes;
                    ToWorker::Granted
                }
                ToBroker::Release { bytes, kind, .. } => {
                    account.used -= bytes;
                    *account.kinds.get_mut(kind.name()).unwrap() -= bytes;
                    ToWorker::Granted
                }
                ToBroker::Convert { bytes, kind, .. } => {
                    *account.kinds.get_mut("memory").unwrap() -= bytes;
                    *account.kinds.entry(kind.name()).or_default() += bytes;
                    ToWorker::Granted
                }
                ToBroker::Share { bytes, .. } => {
                    // The memory stays part of the VM's use, but the session can't release it as
                    // its own any more.
                    *account.kinds.get_mut("memory").unwrap() -= bytes;
                    let share = account.shares.len() as u64 + 1;
                    account.shares.insert(share, (bytes, 1));
                    ToWorker::Shared { share }
                }
                ToBroker::Join { share, .. } => match account.shares.get_mut(&share) {
                    None => ToWorker::NoShare,
                    Some((bytes, holds)) => {
                        *holds += 1;
                        ToWorker::Joined { bytes: *bytes }
                    }
                },
                ToBroker::Leave { share, .. } => {
                    let (bytes, holds) = account.shares.get_mut(&share).unwrap();
                    *holds = holds.checked_sub(1).expect("the session holds the memory");
                    let freed = if *holds == 0 { *bytes } else { 0 };
                    account.used -= freed;
                    ToWorker::Granted
                }
                _ => ToWorker::Usage { used: account.used, max: account.max },
            };
            if gets_credit {
                account.grant(&shown.gpus[0].credit);
            }
            drop(account);
            seqpacket::send(&theirs, &answer, &[]).unwrap();
        }
    });
    (ledger_client(ours, page), account)
}

/// Creates a ledger client that can use credit.
fn ledger_client(socket: OwnedFd, page: &Arc<GateMap>) -> LedgerClient {
    page.worker.set_slot(0);
    page.worker.add_slots(1);
    let spending = Spending::map(SpendingMap::create().unwrap(), page).unwrap();
    LedgerClient::new(socket, page.clone(), spending).unwrap()
}

fn memory(len: usize) -> OwnedFd {
    use std::os::fd::FromRawFd;
    // SAFETY: the name is a C string. The descriptor is new, so nothing else owns it.
    unsafe {
        let fd = libc::memfd_create(c"guest".as_ptr(), 0);
        assert!(fd >= 0 && libc::ftruncate(fd, len as i64) == 0);
        OwnedFd::from_raw_fd(fd)
    }
}

/// Creates a gate page whose gates are open, with the scheduler's bell.
fn gate_end() -> crate::gate_end::GateEnd {
    let page = GateMap::create().unwrap();
    let end = crate::gate_end::GateEnd::new(&page, eventfd().unwrap()).unwrap();
    end.page.open_all();
    end
}

type Scheduler = Box<dyn FnMut(&host_ipc::gate::GatePage)>;

/// A session for tests, which takes the place of the ring reader and the guest.
struct Bench {
    executor: Box<dyn Executor>,
    session: Session,
    ring: Arc<RingRegion>,
    arena: *mut u8,
    posted: Arc<PostedError>,
    account: Arc<Mutex<Account>>,
    exports: Arc<Mutex<Exports>>,
    /// The number of the guest thread that makes the calls.
    thread: u32,
    ctx: ContextId,
    /// Whether the test sends further commands while the broker hasn't decided about earlier ones.
    is_broker_slow: bool,
    /// A function that does the scheduler's work. It's called between two polls.
    scheduler: Option<Scheduler>,
}

impl Bench {
    fn new(context: FirstContext) -> Self {
        let FirstContext { bytes: context, in_advance } = context;
        crate::region::reserve_pinned_window().unwrap();
        let prepare = Prepare { mps: false, context: in_advance };
        let engine = crate::calls::open(&library(), prepare).unwrap();
        let gate = gate_end();
        let (ledger, account) = ledger(if in_advance { context } else { 0 }, &gate.page);
        let (exchange, exports) = exchange();
        let session = Session {
            label: "test".into(),
            pid: 1,
            env: vec![],
            ledger,
            exchange,
            context_bytes: Arc::new([context]),
            context_charged: in_advance,
            regions: Regions::default(),
            mirrors: Mirrors::default(),
            waker: Waker::new(eventfd().unwrap()).unwrap(),
            gate,
        };
        let mut executor = engine.begin(session.clone()).unwrap();
        let file = memory(REGION_BYTES);
        let piece =
            Piece { file: std::os::fd::AsFd::as_fd(&file), offset: 0, len: REGION_BYTES as u64 };
        let region = session.regions.attach(1, RegionKind::Ring, 0, &[piece]).unwrap();
        let wake = Arc::new(eventfd().unwrap());
        let ring = Arc::new(RingRegion::new(region.clone(), RING_BYTES, wake).unwrap());
        executor.region_attached(&region, ARENA);
        let arena = region.base().wrapping_add(ARENA);
        let (posted, thread, ctx) = (Arc::default(), THREAD, 0);
        let mut bench = Self {
            executor,
            session,
            ring,
            arena,
            posted,
            account,
            exports,
            thread,
            ctx: ContextId(ctx),
            is_broker_slow: false,
            scheduler: None,
        };
        assert_eq!(bench.call(&VcudaPrimaryCtxRetain { dev: 0, ctx: ContextId(77) }).0, 0);
        bench.ctx = ContextId(77);
        bench
    }

    fn attach_pinned(&mut self, id: u32, vaddr: u64, len: u64) {
        self.attach(&memory(len as usize), id, RegionKind::Pinned, vaddr, len);
    }

    /// Attaches a region that consists of the first `len` bytes of a file.
    fn attach(&mut self, file: &OwnedFd, id: u32, kind: RegionKind, vaddr: u64, len: u64) {
        let piece = Piece { file: std::os::fd::AsFd::as_fd(file), offset: 0, len };
        self.session.regions.attach(id, kind, vaddr, &[piece]).unwrap();
    }

    fn send(&mut self, opcode: u32, args: &[u8], flags: u32) {
        let cmd = Cmd {
            opcode,
            flags,
            thread: self.thread,
            ctx: self.ctx.0,
            reply: self.slot() as u32,
            reply_len: SLOT.1 as u32,
            ..Cmd::zeroed()
        };
        let reply = ReplyTo::ring(&self.ring, &cmd, &self.posted).unwrap();
        let command = Command { opcode, thread: self.thread, ctx: self.ctx, args };
        self.execute(&command, reply);
        if let Some(scheduler) = &mut self.scheduler {
            scheduler(&self.session.gate.page);
            self.executor.poll();
        }
    }

    /// Executes a command. If the broker must decide about the command's memory, waits until the
    /// command has run.
    fn execute(&mut self, command: &Command<'_>, reply: ReplyTo) {
        let mut asked = self.session.ledger.asked();
        self.executor.execute(command, reply);
        while self.session.ledger.asked() != asked && !self.is_broker_slow {
            asked = self.session.ledger.asked();
            // The broker answers requests in order, so once this request has been answered, so have
            // all earlier ones.
            self.session.ledger.usage(-1);
            self.executor.poll();
        }
    }

    /// Returns the offset of the calling guest thread's reply slot in the arena.
    fn slot(&self) -> usize {
        SLOT.0 + (self.thread - THREAD) as usize * SLOT.1
    }

    /// Returns the state word of the calling guest thread's reply slot.
    fn state(&self) -> &AtomicU32 {
        // SAFETY: the slot is in the arena, which stays mapped while `ring` exists.
        unsafe { &*self.arena.wrapping_add(self.slot()).cast::<AtomicU32>() }
    }

    /// Starts a call for which a guest thread waits. `ended` waits for the call and returns its
    /// result.
    fn begin<'a, C: Call<'a>>(&mut self, thread: u32, call: &C) {
        self.thread = thread;
        let mut writer = Writer::new();
        call.encode(&mut writer);
        self.state().store(0, Ordering::Relaxed);
        self.send(C::OPCODE, writer.as_bytes(), CMD_WAITED);
        self.thread = THREAD;
    }

    /// Waits for the call that `begin` started on this guest thread, and returns its result.
    fn ended(&mut self, thread: u32) -> u32 {
        self.thread = thread;
        let (result, ..) = self.answer("in the background");
        self.thread = THREAD;
        result
    }

    /// Makes a call with any opcode and arguments, and waits for its end. Returns the call's
    /// result, the posted error, and the bytes of the reply.
    fn raw(&mut self, opcode: u32, args: &[u8]) -> (u32, u32, Vec<u8>) {
        self.state().store(0, Ordering::Relaxed);
        self.send(opcode, args, CMD_WAITED);
        self.answer(opcode)
    }

    fn answer(&mut self, call: impl std::fmt::Display) -> (u32, u32, Vec<u8>) {
        let start = std::time::Instant::now();
        while self.state().load(Ordering::Acquire) == 0 {
            if let Some(scheduler) = &mut self.scheduler {
                scheduler(&self.session.gate.page);
            }
            self.executor.poll();
            assert!(start.elapsed().as_secs() < 60, "call {call} is not answered");
        }
        // SAFETY: the slot is in the arena, which stays mapped while `ring` exists. The worker has
        // written the slot and doesn't use it any more.
        unsafe {
            let words = self.arena.wrapping_add(self.slot()).cast::<u32>();
            let len = *words.add(2) as usize;
            let bytes = std::slice::from_raw_parts(words.add(4).cast::<u8>(), len).to_vec();
            (*words.add(1), *words.add(3), bytes)
        }
    }

    fn full<'a, C: Call<'a>>(&mut self, call: &C) -> (u32, u32, C::Answer)
    where
        C::Answer: Default,
    {
        let mut writer = Writer::new();
        call.encode(&mut writer);
        let (result, posted, bytes) = self.raw(C::OPCODE, writer.as_bytes());
        let answer = C::Answer::decode(&bytes);
        (result, posted, if result == 0 { answer.unwrap() } else { answer.unwrap_or_default() })
    }

    fn call<'a, C: Call<'a>>(&mut self, call: &C) -> (u32, C::Answer)
    where
        C::Answer: Default,
    {
        let (result, _, answer) = self.full(call);
        (result, answer)
    }

    /// Makes a call that must succeed, and returns its outputs.
    fn good<'a, C: Call<'a>>(&mut self, call: &C) -> C::Answer
    where
        C::Answer: Default,
    {
        let (result, posted, answer) = self.full(call);
        assert_eq!((result, posted), (0, 0), "{}", C::NAME);
        answer
    }

    fn post<'a, C: Call<'a>>(&mut self, call: &C) {
        let mut writer = Writer::new();
        call.encode(&mut writer);
        self.send(C::OPCODE, writer.as_bytes(), 0);
    }

    /// Waits until a stream has reached a host function, and returns the function's token.
    fn host_func(&mut self) -> u64 {
        let start = std::time::Instant::now();
        loop {
            self.executor.poll();
            if let Some(token) = self.executor.next_host_func() {
                return token;
            }
            assert!(start.elapsed().as_secs() < 60, "no stream comes to a host function");
        }
    }

    /// Waits until a stream has reached the host function with this token, and reports that the
    /// guest has run it.
    fn run_host_func(&mut self, token: u64) {
        assert_eq!(self.host_func(), token);
        self.executor.host_func_ended();
    }

    /// Returns the error of the first posted command that has failed, or 0 if none has.
    fn posted_error(&mut self) -> u32 {
        self.full(&VcudaPing {}).1
    }

    fn alloc(&mut self, bytesize: usize) -> u64 {
        self.good(&CuMemAllocV2 { bytesize }).dptr
    }

    fn used(&self) -> u64 {
        self.account.lock().unwrap().used
    }

    /// Returns the number of bytes reserved for charges of this kind.
    fn charged(&self, kind: &str) -> u64 {
        self.account.lock().unwrap().kinds.get(kind).copied().unwrap_or(0)
    }

    fn set_quota(&self, max: u64) {
        self.account.lock().unwrap().max = max;
    }

    fn vector_add(&mut self) -> u64 {
        let (module, hfunc) = (1001, 1002);
        let load = VcudaModuleLoad {
            module: ModuleId(module),
            blob: BlobId(0),
            image: VECTOR_ADD,
            options: Default::default(),
            log_max: 4096,
        };
        let answer = self.call(&load);
        assert_eq!(answer.0, 0, "{}", String::from_utf8_lossy(&answer.1.error));
        let get = VcudaModuleGetFunction {
            hfunc: FunctionId(hfunc),
            hmod: ModuleId(module),
            name: "vector_add",
        };
        let layout = self.good(&get).layout;
        let layout: Vec<_> = layout.iter().map(|place| (place.offset, place.size)).collect();
        assert_eq!(layout, [(0, 8), (8, 8), (16, 8), (24, 4)]);
        hfunc
    }

    fn launch(&mut self, f: u64, a: u64, b: u64, c: u64, n: u32, h_stream: u64) {
        let params: Vec<u8> =
            [a, b, c, u64::from(n)].iter().flat_map(|word| word.to_le_bytes()).collect();
        self.post(&VcudaLaunch {
            f: FuncId(f),
            grid_x: n.div_ceil(128),
            grid_y: 1,
            grid_z: 1,
            block_x: 128,
            block_y: 1,
            block_z: 1,
            shared_mem_bytes: 0,
            h_stream: StreamId(h_stream),
            params: &params[..28],
            attributes: Default::default(),
        });
    }
}

fn floats(values: impl Iterator<Item = f32>) -> Vec<u8> {
    values.flat_map(f32::to_le_bytes).collect()
}
