//! Finds programs in Cargo's target directory, and waits for conditions.

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Timeout for `wait_for`, long enough for a busy machine and short enough for a failing test.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the directory where Cargo puts programs. The test itself is in its subdirectory `deps`.
fn target() -> PathBuf {
    let exe = std::env::current_exe().expect("cannot read the path of this test");
    exe.ancestors().nth(2).expect("this test is not in a target directory").to_owned()
}

/// Returns the path of a host program.
///
/// # Panics
/// If the program hasn't been built. Cargo automatically builds only the tested package's own
/// programs.
pub fn program(name: &str) -> PathBuf {
    let path = target().join(name);
    assert!(path.is_file(), "{} is missing: run cargo build --workspace --bins", path.display());
    path
}

/// Returns the path of softgpu's library, which Cargo builds as a dependency of the tests.
pub fn softgpu() -> PathBuf {
    if let Some(path) = std::env::var_os("VIRTIO_CUDA_SOFTGPU") {
        return path.into();
    }
    let folder = target();
    let places = ["deps/libsoftgpu.so", "libsoftgpu.so"].map(|name| folder.join(name));
    places.into_iter().find(|path| path.exists()).expect("libsoftgpu.so is missing")
}

/// Polls until `is_done` returns true.
///
/// # Panics
/// If that takes longer than `PATIENCE`. The panic's message contains `what`, the name of the
/// event.
pub fn wait_for(what: &str, mut is_done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_done() {
        assert!(start.elapsed() < PATIENCE, "timed out waiting for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
