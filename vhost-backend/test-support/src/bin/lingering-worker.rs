//! A worker that sends the broker a socket whose last close would block for an hour.
//!
//! A test copies this program into the folder of its `vcudad`, as `vhost-cuda-worker`, with a link
//! `real-worker` next to it that answers the broker's probe of the driver. The file `sent` appears
//! in the folder when the broker has the message.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use host_ipc::messages::ToBroker;
use host_ipc::{process, seqpacket};

fn main() {
    let program = std::env::current_exe().expect("its own path");
    let folder = program.parent().expect("it is in a folder");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument.starts_with("--probe")) {
        let error = Command::new(folder.join("real-worker")).args(&arguments).exec();
        panic!("real-worker: {error}");
    }
    process::die_with_parent(process::parent()).expect("the broker runs");
    let fd =
        arguments.last().and_then(|fd| fd.parse().ok()).expect("the last argument is a socket");
    let broker = process::inherited(fd).expect("the broker's socket");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("its address");
    let mut socket = TcpStream::connect(address).expect("a connection");
    let _reader = listener.accept().expect("its other end");
    socket.set_nonblocking(true).expect("an open socket");
    while socket.write(&[0; 1 << 16]).is_ok() {}
    let hour = libc::linger { l_onoff: 1, l_linger: 3600 };
    let length = size_of_val(&hour) as libc::socklen_t;
    let value = (&raw const hour).cast();
    let fd = socket.as_raw_fd();
    // SAFETY: `hour` is readable for its length.
    unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, value, length) };
    if seqpacket::send(&broker, &ToBroker::Ready, &[fd]).is_ok() {
        drop(socket);
    } else {
        // The kernel refuses the socket, and closing it would block here.
        seqpacket::send(&broker, &ToBroker::Ready, &[]).expect("the broker listens");
        std::mem::forget(socket);
    }
    std::fs::write(folder.join("sent"), "").expect("the folder is writable");
    // Until the broker ends it.
    loop {
        std::thread::park();
    }
}
