//! A fake worker that attacks the broker's log: once it has a session, it makes its standard error
//! non-blocking, writes lines that look like another program's, and floods the log.
//!
//! Tests start it in the same way as `lingering-worker`. The file `sent` appears in the directory
//! once the flood is over. After that, workers that get a session panic.

use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;

use host_ipc::messages::{ToBroker, ToWorker};
use host_ipc::{process, seqpacket};
use host_test_support::fake_worker;

/// Two forged log lines, which look as if other programs had written them, and an escape sequence
/// that clears a terminal.
const FORGED: &str = "\n2030-01-01T00:00:00.000000Z ERROR vcudad::service: forged vm=\"b\"\n\x1b[2J\
                      ERROR vcudad::child: vm=\"b\" program=\"worker\" pid=1 forged\n";
const FLOOD: usize = 8 << 20;

fn main() {
    let (folder, broker) = fake_worker::start();
    seqpacket::send(&broker, &ToBroker::Ready { objects: Vec::new() }, &[])
        .expect("the broker listens");
    let message: Option<(ToWorker, Vec<OwnedFd>)> =
        seqpacket::receive(&broker).expect("a running broker");
    message.expect("a session");
    if folder.join("sent").exists() {
        panic!("the last words");
    }

    let mut stderr = std::io::stderr();
    process::set_nonblocking(&stderr).expect("an open descriptor");
    stderr.write_all(FORGED.as_bytes()).expect("the first lines fit");
    let line = [b"flood ".repeat(20), b"\n".to_vec()].concat();
    for _ in 0..FLOOD / line.len() {
        match stderr.write_all(&line) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            result => result.expect("an open descriptor"),
        }
    }
    std::fs::write(folder.join("sent"), "").expect("a writable directory");
    // Wait until the broker kills this process.
    loop {
        std::thread::park();
    }
}
