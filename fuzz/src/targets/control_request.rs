//! Sends requests, commands and messages from workers to the device process's state machine. Every
//! chain must be answered exactly once, and only running workers may be sent messages.

use std::collections::{HashMap, HashSet};

use host_ipc::messages::{Abort, DeviceToWorker, Ending, Limits, WorkerToDevice};
use protocol::uapi::{self, Segment};
use vhost_device_cuda::machine::{ChainId, Effect, GuestPages, Machine, RequestId};

use crate::input::Input;
use crate::requests;

const LIMITS: Limits = Limits {
    max_sessions: 3,
    max_regions: 4,
    max_segments: 8,
    pinned_max: 1 << 24,
    max_plain: 4096,
    max_connections: 1,
};
/// The size of guest memory, which begins at address 0.
const MEMORY: u64 = 16 << 20;
/// Upper bound on the number of unanswered chains. HELLOs, queries, and sessions' requests may wait
/// for an answer, and each of them takes at least a few bytes of the input.
const MAX_OPEN: usize = 1 << 16;

struct Pages;

impl GuestPages for Pages {
    fn pieces(&self, segments: &[Segment]) -> Option<Vec<(u32, u64, u64)>> {
        let piece = |s: &Segment| {
            let end = s.addr.checked_add(s.len)?;
            (end <= MEMORY).then_some((1, s.addr, s.len))
        };
        segments.iter().map(piece).collect()
    }

    fn bytes(&self) -> u64 {
        MEMORY
    }
}

/// The machine's surroundings: the guest's queues, the broker, and the workers.
struct World {
    machine: Machine,
    last: ChainId,
    /// The unanswered chains, each with the maximum number of bytes of its answer.
    open: HashMap<ChainId, usize>,
    /// The workers that the machine has requested, and for each of them, whether the machine has
    /// requested its end.
    workers: HashMap<RequestId, bool>,
    queries: Vec<RequestId>,
    /// The requests that workers have received and not answered.
    waiting: Vec<(RequestId, DeviceToWorker)>,
}

impl World {
    fn new() -> Self {
        let mut last = 0;
        let numbers = move || {
            last += 1;
            last
        };
        Self {
            machine: Machine::new(LIMITS, Box::new(numbers)),
            last: 0,
            open: HashMap::new(),
            workers: HashMap::new(),
            queries: Vec::new(),
            waiting: Vec::new(),
        }
    }

    fn chain(&mut self, room: usize) -> ChainId {
        self.last += 1;
        self.open.insert(self.last, room);
        self.last
    }

    fn settle(&mut self) {
        for effect in self.machine.take_effects() {
            match effect {
                Effect::Answer { chain, body, .. } => {
                    let room = self.open.remove(&chain).expect("a chain is answered once");
                    let len = size_of::<uapi::Resp>() + body.len();
                    assert!(body.is_empty() || len <= room, "{len} bytes of {room}");
                }
                Effect::Query { request } => self.queries.push(request),
                Effect::Start { request, .. } => {
                    assert!(self.workers.insert(request, false).is_none(), "started twice");
                }
                Effect::Refused => {}
                Effect::End { request } | Effect::Abort { request, .. } => {
                    // The machine may request the end of a worker several times; the broker ignores
                    // later requests.
                    *self.workers.get_mut(&request).expect("it ends what it started") = true;
                }
                Effect::Send { request, message, .. } => {
                    assert_eq!(self.workers.get(&request), Some(&false), "{message:?}");
                    if let DeviceToWorker::Attach { pieces, .. } = &message {
                        let bytes: u64 = pieces.iter().map(|(_, _, len)| len).sum();
                        assert!((1..=MEMORY).contains(&bytes), "{message:?}");
                    }
                    self.waiting.push((request, message));
                }
                Effect::Ring { request } => {
                    assert_eq!(self.workers.get(&request), Some(&false), "rang a worker's bell");
                }
                Effect::Ended { .. } => {}
            }
        }
        let live = self.workers.values().filter(|ended| !**ended).count();
        assert!(live <= LIMITS.max_sessions as usize, "{live} workers");
        assert!(self.open.len() <= MAX_OPEN);
    }

    fn worker_ended(&mut self, request: RequestId) {
        self.workers.remove(&request);
        self.waiting.retain(|(of, _)| *of != request);
        let how = Ending::Died(String::new());
        self.machine.worker_ended(request, &how, &Pages);
        self.settle();
    }

    fn worker_spoke(&mut self, request: RequestId, message: WorkerToDevice, body: Vec<u8>) {
        if self.machine.worker_spoke(request, message, body).is_err() {
            self.machine.end(request, uapi::ENDED_WORKER);
        }
        self.settle();
    }
}

/// Answers one of the requests that workers have received, sometimes with a wrong id or length.
fn work(world: &mut World, input: &mut Input<'_>) {
    if world.waiting.is_empty() {
        return;
    }
    let at = input.below(world.waiting.len());
    let (worker, message) = world.waiting.swap_remove(at);
    let status = input.pick(&[uapi::OK, uapi::ERR_MEMORY, 77]);
    let off = u64::from(input.one_in(16));
    match message {
        DeviceToWorker::Attach { request, .. } | DeviceToWorker::Detach { request, .. } => {
            let request = request + off;
            world.worker_spoke(worker, WorkerToDevice::Done { request, status }, Vec::new());
        }
        DeviceToWorker::Submit { request, room } => {
            let len = if input.one_in(16) { room as usize + 1 } else { room as usize };
            let request = request + off;
            world.worker_spoke(worker, WorkerToDevice::Answer { request }, vec![0; len]);
        }
        _ => {}
    }
}

pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut world = World::new();
    while !input.is_empty() {
        let any = |world: &World, input: &mut Input<'_>| {
            let mut workers: Vec<_> = world.workers.keys().copied().collect();
            workers.sort_unstable();
            if workers.is_empty() { 99 } else { input.pick(&workers) }
        };
        match input.below(10) {
            0..=3 => {
                let request = requests::control(&mut input, 0);
                let room = input.pick(&[4096, 8, 16]);
                let chain = world.chain(room);
                world.machine.control(chain, &request, room, &Pages);
            }
            4 => {
                let room = input.pick(&[4096, 8, 40]);
                let request = requests::command(&mut input, room);
                let chain = world.chain(room);
                world.machine.command(chain, &request, room);
            }
            5 | 6 => {
                let worker = any(&world, &mut input);
                world.machine.worker_started(worker, &Pages);
            }
            7 => work(&mut world, &mut input),
            8 => {
                let worker = any(&world, &mut input);
                match input.below(4) {
                    0 => world.worker_ended(worker),
                    1 => {
                        let reason = String::new();
                        world.worker_spoke(worker, WorkerToDevice::Broken { reason }, vec![]);
                    }
                    2 => world.machine.end(worker, uapi::ENDED_HOST),
                    _ => world.machine.set_max_sessions(input.below(4) as u32),
                }
            }
            _ if !world.queries.is_empty() => {
                let at = input.below(world.queries.len());
                let request = world.queries.swap_remove(at);
                world.machine.facts(request, vec![0; input.below(4200)]);
            }
            _ if input.one_in(8) => {
                world.settle();
                world.machine.reset();
                // A reset drops chains with a HELLO or a QUERY without answering them.
                world.settle();
                world.open.clear();
            }
            _ => {}
        }
        world.settle();
    }
    finish(world);
}

/// Ends all sessions and workers, and checks that every chain has been answered.
fn finish(mut world: World) {
    world.machine.end_all(Abort::Disconnected);
    world.settle();
    let workers: HashSet<_> = world.workers.keys().copied().collect();
    workers.into_iter().for_each(|worker| world.worker_ended(worker));
    for request in std::mem::take(&mut world.queries) {
        world.machine.facts(request, Vec::new());
    }
    world.settle();
    assert!(world.open.is_empty(), "chains without an answer: {:?}", world.open);
}
