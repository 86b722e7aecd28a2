//! Helpers for testing programs that refuse to start.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::programs::softgpu;

/// Asserts that a program refuses the given arguments with a one-line message that contains
/// `expected`.
pub fn check(program: &str, arguments: &[&str], expected: &str) {
    let (code, said) = refused(program, arguments);
    assert_eq!(code, Some(2), "{arguments:?}: {said}");
    // Log lines may precede the message.
    let last = said.lines().last().unwrap_or_default();
    assert!(last.contains(expected), "{arguments:?}: {said}");
    assert_eq!(said.lines().filter(|line| line.starts_with("v")).count(), 1, "{said}");
}

/// Runs a program that must refuse to start. Returns its exit code and stderr.
fn refused(program: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut child = Command::new(program)
        .args(arguments)
        .env("VIRTIO_CUDA_SOFTGPU", softgpu())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), said)
}
