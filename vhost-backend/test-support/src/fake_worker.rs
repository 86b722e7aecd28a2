//! Common startup code of fake workers, which are programs that a test copies into the directory
//! with its `vcudad`, under the name `vhost-cuda-worker`.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use host_ipc::process;

/// Returns the directory that contains this program, and the socket to the broker. If the broker
/// has started this program to probe the driver library, executes `real-worker` instead, a link in
/// that directory.
///
/// # Panics
/// If a broker hasn't started this program.
pub fn start() -> (PathBuf, OwnedFd) {
    let program = std::env::current_exe().expect("the path of this program");
    let folder = program.parent().expect("the program's directory");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument.starts_with("--probe")) {
        let error = Command::new(folder.join("real-worker")).args(&arguments).exec();
        panic!("real-worker: {error}");
    }
    process::die_with_parent(process::parent()).expect("a running broker");
    let fd =
        arguments.last().and_then(|fd| fd.parse().ok()).expect("the last argument is a socket");
    (folder.to_owned(), process::inherited(fd).expect("the broker's socket"))
}
