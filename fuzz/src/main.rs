//! Runs a fuzz target: with libFuzzer if built by `tests/fuzz.sh`, and otherwise on the files that
//! the command line names.
#![cfg_attr(fuzzing, no_main)]

use virtio_cuda_fuzz::{TARGETS, Target};

fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("there is no target '{name}': use one of {}", names.join(", "));
        std::process::exit(2)
    })
}

#[cfg(fuzzing)]
mod fuzzer {
    use std::sync::OnceLock;

    use virtio_cuda_fuzz::Target;

    /// The environment variable with the target's name. libFuzzer's command line can contain only
    /// libFuzzer's options.
    const VARIABLE: &str = "VIRTIO_CUDA_FUZZ_TARGET";
    static TARGET: OnceLock<&Target> = OnceLock::new();

    libfuzzer_sys::fuzz_target!(
        init: {
            let target = super::target(&std::env::var(VARIABLE).unwrap_or_default());
            // Ignore SIGPIPE, as Rust's runtime does in other programs. It doesn't run here,
            // because libFuzzer provides the main function.
            // SAFETY: the call takes no pointers.
            unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
            (target.prepare)();
            let _ = TARGET.set(target);
        },
        |bytes: &[u8]| {
            if let Some(target) = TARGET.get() {
                (target.run)(bytes);
            }
        }
    );
}

#[cfg(not(fuzzing))]
fn main() {
    let mut args = std::env::args().skip(1);
    let Some(name) = args.next() else {
        TARGETS.iter().for_each(|target| println!("{}", target.name));
        return;
    };
    let target = target(&name);
    // Make a panic on any thread end the process, as in a build for fuzzing.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
    (target.prepare)();
    for path in args {
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        eprintln!("{path}");
        (target.run)(&bytes);
    }
}
