//! Calls of the driver that stop until a test lets them go on.

use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

/// The library's own functions, by name, as addresses.
static REAL: LazyLock<Mutex<HashMap<String, usize>>> = LazyLock::new(Mutex::default);
/// Calls that are to stop.
static STOPS: LazyLock<Mutex<HashMap<&str, Stop>>> = LazyLock::new(Mutex::default);

/// A call says that it has come, and waits for the word.
type Stop = (Sender<()>, Receiver<()>);

/// The next call of a function, which stops before it does anything until this is dropped.
pub struct Stopped {
    came: Receiver<()>,
    _goes: Sender<()>,
}

impl Stopped {
    /// Waits until the call has come.
    pub fn wait(&self) {
        self.came.recv_timeout(Duration::from_secs(60)).expect("the driver is not called");
    }

    /// Whether the call comes soon, though it should not.
    pub fn comes(&self) -> bool {
        self.came.recv_timeout(Duration::from_secs(1)).is_ok()
    }
}

/// Stops the next call of a function, one of those below.
pub fn stop_next(name: &'static str) -> Stopped {
    let ((comes, came), (goes, go)) = (channel(), channel());
    assert!(stub(name).is_some(), "{name} has no stub");
    STOPS.lock().unwrap().insert(name, (comes, go));
    Stopped { came, _goes: goes }
}

/// What is called instead of a function of the library.
pub fn instead_of(name: &CStr, real: *mut c_void) -> *mut c_void {
    let name = name.to_str().unwrap();
    REAL.lock().unwrap().insert(name.to_owned(), real.expose_provenance());
    stub(name).unwrap_or(real)
}

fn pass(name: &str) -> *mut c_void {
    let stop = STOPS.lock().unwrap().remove(name);
    if let Some((comes, go)) = stop {
        // Nobody may be there any more whom it would stop for.
        let _ = comes.send(());
        let _ = go.recv();
    }
    std::ptr::with_exposed_provenance_mut(REAL.lock().unwrap()[name])
}

macro_rules! stubs {
    ($( fn $name:ident($($arg:ident : $ty:ty),*); )*) => {
        $(
            #[allow(non_snake_case)]
            unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
                let real = pass(stringify!($name));
                // SAFETY: the library's function of this name has this type, and gets what its
                // caller has passed.
                unsafe {
                    std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($ty),*) -> u32>(real)(
                        $($arg),*
                    )
                }
            }
        )*

        fn stub(name: &str) -> Option<*mut c_void> {
            match name {
                $( stringify!($name) => Some($name as *mut c_void), )*
                _ => None,
            }
        }
    };
}

type P = *mut c_void;

stubs! {
    fn cuCtxDestroy_v2(ctx: P);
    fn cuDevicePrimaryCtxRelease_v2(device: i32);
    fn cuModuleLoadDataEx(module: P, image: P, count: u32, options: P, values: P);
    fn cuModuleUnload(module: P);
    fn cuLibraryLoadData(library: P, image: P, options: P, values: P, count: u32, of: P, have: P, all: u32);
    fn cuLibraryUnload(library: P);
    fn cuGraphInstantiateWithFlags(exec: P, graph: P, flags: u64);
}
