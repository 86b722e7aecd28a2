//! Hostile guest programs. Each runs in its own process, because it panics if its device process
//! exits.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use host_test_support::{BASE, Descriptor, FREE, Guest, MEMORY, REGION, RING, ring_request};
use protocol::plain::Plain;
use protocol::uapi::{self, Hdr};
use virtio_cuda_tests::random::Random;

/// Guest-physical address of the memory at offset `FREE`.
const AT: u64 = BASE + FREE as u64;

/// The kinds of hostile guest programs.
#[derive(Clone, Copy, Debug)]
pub enum Flood {
    /// Opens sessions and abandons them.
    Sessions,
    /// Sends malformed requests, descriptor chains, and commands.
    Garbage,
    /// Connects to the VM's socket and sends nothing.
    Connections,
}

impl Flood {
    /// Returns the name by which the command line selects the program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Garbage => "garbage",
            Self::Connections => "connections",
        }
    }

    /// Returns the program's name for the summary.
    pub fn purpose(self) -> &'static str {
        match self {
            Self::Sessions => "flood of sessions",
            Self::Garbage => "flood of malformed requests",
            Self::Connections => "flood of connections",
        }
    }

    /// Returns the program with a name from the command line.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Sessions, Self::Garbage, Self::Connections]
            .into_iter()
            .find(|kind| kind.name() == name)
    }

    /// Attacks the device behind a vhost-user socket for this number of seconds.
    pub fn run(self, socket: &Path, seed: u64, seconds: u64) {
        let mut random = Random::new(seed);
        let end = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < end {
            match self {
                Self::Sessions => sessions(socket, &mut random),
                Self::Garbage => garbage(socket, &mut random, end),
                Self::Connections => {
                    let all = (0..200).map(|_| UnixStream::connect(socket));
                    let all: Vec<_> = all.map_while(Result::ok).collect();
                    std::thread::sleep(Duration::from_millis(random.within(1, 200)));
                    drop(all);
                }
            }
        }
    }
}

fn sessions(socket: &Path, random: &mut Random) {
    let mut guest = Guest::connect_without_hello(socket);
    guest.hello(1);
    for session in 1..=random.within(1, 12) as u32 {
        if guest.create(session) == uapi::OK && random.within(0, 1) == 0 {
            let at = AT + u64::from(session) * (1 << 20);
            guest.attach(ring_request(session), &[(at, REGION as u64)]);
        }
    }
}

fn garbage(socket: &Path, random: &mut Random, end: Instant) {
    let mut guest = Guest::connect_without_hello(socket);
    guest.hello(1);
    if guest.create(1) == uapi::OK {
        guest.attach(ring_request(1), &[(AT, REGION as u64)]);
    }
    for _ in 0..random.within(10, 2000) {
        if Instant::now() >= end {
            return;
        }
        match random.within(0, 3) {
            0 => {
                let len = random.within(4, 128) as usize;
                let mut request = random.bytes(len);
                request[..4].copy_from_slice(&(random.within(0, 8) as u32).to_le_bytes());
                guest.write(FREE + (3 << 20), &request);
                let request =
                    Descriptor { addr: AT + (3 << 20), len: len as u32, flags: 1, next: 1 };
                let answer = Descriptor { addr: AT + (4 << 20), len: 64, flags: 2, next: 0 };
                guest.push(0, 0, &[request, answer]);
            }
            1 => {
                let queue = random.within(0, 2) as usize;
                let chain: Vec<_> = (0..random.within(1, 8)).map(|_| descriptor(random)).collect();
                guest.push(queue, 0, &chain);
            }
            2 => {
                let len = random.within(8, 512) as usize;
                let at = random.within(0, RING as u64 - 512) as usize;
                guest.write(FREE + 4096 + at, &random.bytes(len));
                guest.write(FREE, &random.within(0, 2 * RING as u64).to_le_bytes());
                let doorbell = Hdr { kind: uapi::CMD_DOORBELL, session: 1 };
                guest.write(FREE + (2 << 20), doorbell.as_bytes());
                let one = Descriptor { addr: AT + (2 << 20), len: 8, flags: 0, next: 0 };
                guest.push(2, 0, &[one]);
            }
            _ => (0..random.within(1, 100)).for_each(|_| guest.kick(random.within(0, 2) as usize)),
        }
    }
}

fn descriptor(random: &mut Random) -> Descriptor {
    let addr = match random.within(0, 2) {
        0 => random.word(),
        _ => BASE + random.within(0, MEMORY as u64),
    };
    Descriptor {
        addr,
        len: random.pick(&[0, 8, 16, 64, 4096, u32::MAX]),
        flags: random.within(0, 7) as u16,
        next: random.within(0, 70) as u16,
    }
}
