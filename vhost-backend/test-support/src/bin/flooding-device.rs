//! A fake device process that floods the broker with queries for a second, as a compromised device
//! process could.
//!
//! Tests copy this program into the directory with their `vcudad`, under the name
//! `vhost-device-cuda`. The file `answers-NAME` then appears in the directory, where NAME is the
//! VM's name: the number of answers, and the milliseconds in which they arrived. It first requests
//! a session three times, with an environment variable that contains a zero byte, so that no
//! process can be started with it.

use std::time::{Duration, Instant};

use host_ipc::messages::{BrokerToDevice, DeviceToBroker};
use host_ipc::{process, seqpacket};

const FLOOD: Duration = Duration::from_secs(1);

fn main() {
    let program = std::env::current_exe().expect("the path of this program");
    let folder = program.parent().expect("the program's directory");
    process::unblock_signals();
    process::die_with_parent(process::parent()).expect("a running broker");
    let fd = std::env::args().next_back().and_then(|fd| fd.parse().ok()).expect("a socket");
    let broker = process::inherited(fd).expect("the broker's socket");
    let receive = || {
        let message = seqpacket::receive(&broker).expect("a running broker");
        let (message, _fds) = message.expect("a running broker");
        message
    };
    let BrokerToDevice::Setup(setup) = receive() else { panic!("the setup comes first") };
    for request in 1..=3 {
        let env = vec![("CUDA_MODULE_LOADING".into(), "EAGER\0".into())];
        let start = DeviceToBroker::Start { request, session: 1, pid: 1, env };
        seqpacket::send(&broker, &start, &[]).expect("a running broker");
    }
    let start = Instant::now();
    let mut answers = 0;
    for request in 4.. {
        if start.elapsed() >= FLOOD {
            break;
        }
        seqpacket::send(&broker, &DeviceToBroker::Query { request }, &[])
            .expect("a running broker");
        while !matches!(receive(), BrokerToDevice::Facts { .. }) {}
        answers += 1;
    }
    let text = format!("{answers} {}", start.elapsed().as_millis());
    let (place, next) = (folder.join(format!("answers-{}", setup.name)), folder.join("next"));
    std::fs::write(&next, text).expect("a writable directory");
    std::fs::rename(next, place).expect("a writable directory");
    // Wait until the broker kills this process.
    loop {
        std::thread::park();
    }
}
