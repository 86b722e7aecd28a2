//! Loads images in a worker's session on softgpu: cubins and generated PTX text. The session's
//! account must cover what softgpu allocates for them, and is empty again after they are unloaded.

use std::cell::RefCell;
use std::time::Duration;

use protocol::calls::*;
use protocol::codec::Call;
use protocol::ids::*;

use crate::arguments::encoded;
use crate::input::Input;
use crate::oracle::{Allocated, FREE_MODULES};
use crate::ptx;
use crate::session::Session;
use crate::targets::command;

const CONTEXT: ContextId = ContextId(FIRST_ID);
const MODULE: ModuleId = ModuleId(FIRST_ID);
const FUNCTION: FunctionId = FunctionId(FIRST_ID);
/// How long a call may take.
const PATIENCE: Duration = Duration::from_secs(20);

struct Loader {
    session: Session,
    allocated: Allocated,
}

thread_local! {
    /// The session, which is used for all runs. libFuzzer runs them on one thread.
    static LOADER: RefCell<Option<Loader>> = const { RefCell::new(None) };
}

pub fn prepare() {
    command::prepare();
    let mut session = Session::start();
    let retain = encoded(&VcudaPrimaryCtxRetain { dev: 0, ctx: CONTEXT });
    let number = (VcudaPrimaryCtxRetain::OPCODE, 1, CONTEXT);
    let answer = session.execute(number, &retain, PATIENCE);
    assert_eq!(answer.map(|(result, _)| result), Some(0), "no context");
    let allocated = Allocated::new(&session);
    LOADER.set(Some(Loader { session, allocated }));
}

impl Loader {
    fn call<'a, C: Call<'a>>(&mut self, call: &C) -> u32 {
        let answer = self.session.execute((C::OPCODE, 1, CONTEXT), &encoded(call), PATIENCE);
        answer.unwrap_or_else(|| panic!("{} isn't answered", C::NAME)).0
    }

    fn load(&mut self, image: &[u8], is_covered: bool) {
        let load = VcudaModuleLoad {
            module: MODULE,
            blob: BlobId::INLINE,
            image,
            options: Default::default(),
            log_max: 256,
        };
        if self.call(&load) == 0 {
            let get = VcudaModuleGetFunction { hfunc: FUNCTION, hmod: MODULE, name: "k0" };
            self.call(&get);
            if is_covered {
                let text = || format!("loaded {}", String::from_utf8_lossy(image));
                self.allocated.check(&mut self.session, FREE_MODULES, text);
            }
            assert_eq!(self.call(&CuModuleUnload { hmod: MODULE }), 0, "it can't be unloaded");
        }
        let used = self.session.account().used();
        assert_eq!(used, 0, "{used} bytes are still charged");
        let text = || format!("unloaded {}", String::from_utf8_lossy(image));
        self.allocated.check(&mut self.session, 0, text);
    }
}

fn load(image: &[u8], is_covered: bool) {
    LOADER.with_borrow_mut(|loader| {
        let loader = loader.as_mut().expect("the session has begun");
        loader.load(image, is_covered);
    });
}

/// Loads bytes as a cubin. softgpu takes kernels and variables from a section that NVIDIA's cubins
/// don't have, and which the account doesn't describe, so the account isn't compared.
pub fn run_cubin(bytes: &[u8]) {
    load(bytes, false);
}

/// Loads generated PTX text. If the first byte is 1, the text is the rest of the bytes instead.
pub fn run_ptx(bytes: &[u8]) {
    let text = match bytes {
        [1, text @ ..] => text.to_vec(),
        _ => ptx::text(&mut Input::new(bytes)).into_bytes(),
    };
    load(&text, true);
}
