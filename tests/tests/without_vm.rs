//! Tests programs that connect to the VM's socket themselves, as in a container. They must also
//! work with tools such as address sanitizers, because they do so with NVIDIA's library.

use std::path::Path;
use std::process::Command;
use virtio_cuda_tests::{A, Host, dist};

/// The guest library reads and replaces whole pages, including the redzones that an address
/// sanitizer puts between the program's buffers. The sanitizer must not report that as an error.
#[test]
fn an_address_sanitizer_accepts_registered_memory() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/without_vm/sanitized.c");
    let program = std::env::temp_dir().join(format!("vcuda-sanitized-{}", std::process::id()));
    let built = Command::new("cc")
        .args(["-g", "-O1", "-fsanitize=address", "-fno-omit-frame-pointer", "-o"])
        .args([&program, &source])
        .arg(format!("-L{}", dist().join("guest").display()))
        .arg("-l:libcuda.so.1")
        .output();
    assert!(built.as_ref().is_ok_and(|cc| cc.status.success()), "{built:?}");
    let host = Host::start(&[A]);
    let output = Command::new(&program)
        .env("LD_LIBRARY_PATH", dist().join("guest"))
        .env("VIRTIO_CUDA_SOCKET", host.socket(A))
        .output()
        .unwrap();
    std::fs::remove_file(&program).unwrap();
    assert!(output.status.success() && output.stdout == b"PASS\n", "{output:?}\n{}", host.log());
}
