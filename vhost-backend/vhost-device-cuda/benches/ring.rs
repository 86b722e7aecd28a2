//! Measures the cost of one command through the ring, without a VM. Run `cargo build --release
//! --bins`, then `cargo bench -p vhost-device-cuda`.
//!
//! The worker doesn't know the command's number and returns an error immediately, so only the
//! transport is measured. Guest and worker both poll, so on a host with fewer than two idle CPUs,
//! the result depends mostly on the host's process scheduler.

use std::time::Instant;

use host_test_support::{Device, FREE, Guest};
use protocol::uapi;

const NO_CALL: u32 = u32::MAX;
const COUNT: u32 = 20_000;

fn main() {
    let device = Device::start(&["--spin-us", "1000"]);
    let mut guest = Guest::connect(&device.socket);
    assert_eq!(guest.create(1), uapi::OK);
    let mut ring = guest.attach_ring(1, FREE);

    let mut waited = Vec::new();
    for _ in 0..COUNT {
        let start = Instant::now();
        if ring.push(NO_CALL, uapi::CMD_WAITED, 64, 64) {
            guest.doorbell(1);
        }
        while ring.reply(64).is_none() {
            std::hint::spin_loop();
        }
        waited.push(start.elapsed());
    }
    report("waited, both spin", &mut waited);

    // Times per posted command, each measured over a burst of 1000 commands. A burst fits in the 64
    // KiB ring.
    let mut posted = Vec::new();
    for _ in 0..COUNT / 1000 {
        let start = Instant::now();
        for _ in 0..1000 {
            if ring.push(NO_CALL, 0, 0, 0) {
                guest.doorbell(1);
            }
        }
        posted.push(start.elapsed() / 1000);
        while !ring.ring.is_drained() {
            std::hint::spin_loop();
        }
    }
    report("posted, in bursts of 1000", &mut posted);
}

fn report(what: &str, times: &mut [std::time::Duration]) {
    times.sort_unstable();
    let at = |part: usize| times[times.len() * part / 100];
    println!("{what}: median {:?}, 90% {:?}, least {:?}", at(50), at(90), times[0]);
}
