//! Runs tests in child processes, because a process that enters the jail can't leave it.

use std::process::{Command, Output};

const MARK: &str = "VIRTIO_CUDA_TEST_RESTRICTED";

/// Runs a test of a module in a child process. Returns `None` in the child, and the child's output
/// in the parent.
pub fn run(module: &str, test: &str) -> Option<Output> {
    if is_child() {
        return None;
    }
    let output = command(module, test).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("running 1 test"), "{test} was not run: {output:?}");
    Some(output)
}

/// Returns true in a child process that runs a test.
pub fn is_child() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Returns a command that runs a test of a module.
pub fn command(module: &str, test: &str) -> Command {
    let (_, module) = module.split_once("::").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("{module}::{test}"), "--nocapture", "--test-threads=1"]);
    command.env(MARK, "1");
    command
}
