//! A fake worker that attacks the broker: it sends the broker a socket whose last close() blocks
//! for an hour.
//!
//! A test copies this program into the directory with its `vcudad`, under the name
//! `vhost-cuda-worker`. If the broker starts this program to probe the driver library, it executes
//! `real-worker` instead, a link in that directory. The file `sent` appears in the directory once
//! the message has been sent to the broker.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use host_ipc::messages::ToBroker;
use host_ipc::seqpacket;
use host_test_support::fake_worker;
use rustix::net::sockopt::set_socket_linger;

fn main() {
    let (folder, broker) = fake_worker::start();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("the listener's address");
    let mut socket = TcpStream::connect(address).expect("a connection");
    let _reader = listener.accept().expect("the other end");
    socket.set_nonblocking(true).expect("an open socket");
    while socket.write(&[0; 1 << 16]).is_ok() {}
    set_socket_linger(&socket, Some(Duration::from_secs(3600))).expect("a TCP socket");
    if seqpacket::send(&broker, &ToBroker::Ready { objects: Vec::new() }, &[socket.as_fd()]).is_ok()
    {
        drop(socket);
    } else {
        // If sending failed, this kernel doesn't allow passing the socket, so send the message
        // without it. Don't close the socket, because that would block this process.
        seqpacket::send(&broker, &ToBroker::Ready { objects: Vec::new() }, &[])
            .expect("the broker listens");
        std::mem::forget(socket);
    }
    std::fs::write(folder.join("sent"), "").expect("a writable directory");
    // Wait until the broker kills this process.
    loop {
        std::thread::park();
    }
}
