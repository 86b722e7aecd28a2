//! Checks the dynamic symbols of the worker program.

use object::{Object, ObjectSymbol};

/// The worker must export this symbol, because only through it do the driver library's ioctl calls
/// reach the recorder.
#[test]
fn the_worker_exports_ioctl() {
    let program = std::fs::read(env!("CARGO_BIN_EXE_vhost-cuda-worker")).unwrap();
    let file = object::File::parse(&*program).unwrap();
    let mut symbols = file.dynamic_symbols();
    assert!(symbols.any(|symbol| symbol.name() == Ok("ioctl") && symbol.is_definition()));
}
