//! Log messages on stderr. `VIRTIO_CUDA_LOG` selects the level: error, warn, info, or trace.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};

/// The level of a message, from most to least important.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    Off = 1,
    Error,
    Warn,
    Info,
    Trace,
}

/// The enabled level as a number, or 0 until it has been read from the environment.
static LEVEL: AtomicU8 = AtomicU8::new(0);
static UNSUPPORTED: parking_lot::Mutex<BTreeSet<String>> = parking_lot::Mutex::new(BTreeSet::new());

#[cold]
fn read_level() -> u8 {
    let level = match std::env::var("VIRTIO_CUDA_LOG").as_deref() {
        Err(_) | Ok("" | "0" | "off") => Level::Off,
        Ok("error") => Level::Error,
        Ok("info") => Level::Info,
        Ok("trace" | "debug") => Level::Trace,
        Ok(_) => Level::Warn,
    };
    LEVEL.store(level as u8, Ordering::Relaxed);
    level as u8
}

/// Returns whether messages at this level are logged.
#[inline]
pub fn enabled(level: Level) -> bool {
    let now = match LEVEL.load(Ordering::Relaxed) {
        0 => read_level(),
        now => now,
    };
    level as u8 <= now
}

/// Writes one log line. Callers use [`say!`] instead.
pub fn write(level: Level, message: std::fmt::Arguments<'_>) {
    let name = match level {
        Level::Error => "error",
        Level::Warn => "warn",
        Level::Info => "info",
        Level::Trace | Level::Off => "trace",
    };
    // Don't use eprintln!, which panics when stderr is closed.
    let _ = writeln!(std::io::stderr(), "virtio-cuda[{}] {name}: {message}", std::process::id());
}

/// Logs that an entry point is unsupported, once per entry point.
#[cold]
pub fn unsupported(name: &str) {
    if enabled(Level::Warn) && UNSUPPORTED.lock().insert(name.to_owned()) {
        write(Level::Warn, format_args!("{name} is not supported"));
    }
}

/// Logs a message if its level is enabled.
#[macro_export]
macro_rules! say {
    ($level:ident, $($message:tt)*) => {
        if $crate::log::enabled($crate::log::Level::$level) {
            $crate::log::write($crate::log::Level::$level, format_args!($($message)*));
        }
    };
}
pub use say;
