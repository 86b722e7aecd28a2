//! Loads images in a worker's session on softgpu: cubins, fatbins, and PTX text. The session's
//! account must cover the memory that an image takes on a GPU, and nothing may be charged any more
//! after the image has been unloaded. For PTX text, the memory that an image takes is the memory
//! that softgpu has allocated. For a cubin, it is at least the size of the sections in the file.
//! softgpu allocates no memory for these sections, because it can't execute machine code. Instead,
//! it uses PTX text from an additional section, which NVIDIA's cubins don't have.

use std::cell::RefCell;
use std::time::Duration;

use cuda_api::fatbin::ELF_MAGIC;
use protocol::calls::*;
use protocol::codec::Call;
use protocol::ids::*;

use crate::arguments::encoded;
use crate::images;
use crate::input::Input;
use crate::oracle::Allocated;
use crate::ptx;
use crate::session::Session;
use crate::targets::command;

const CONTEXT: ContextId = ContextId(FIRST_ID);
const MODULE: ModuleId = ModuleId(FIRST_ID);
const FUNCTION: FunctionId = FunctionId(FIRST_ID);
/// Bytes of a context's modules that the worker doesn't charge for.
const FREE_MODULES: u64 = 256 << 10;
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
    let mut session = Session::start(command::QUOTA);
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

    fn load(&mut self, image: &[u8], takes: Takes) {
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
            let text = || format!("loaded {}", String::from_utf8_lossy(image));
            match takes {
                Takes::AsAllocated => self.allocated.check(&mut self.session, text),
                Takes::AtLeast(bytes) => {
                    let charged = self.charged();
                    let enough = charged.saturating_add(FREE_MODULES) >= bytes;
                    assert!(enough, "{charged} bytes are charged instead of {bytes}: {}", text());
                }
            }
            assert_eq!(self.call(&CuModuleUnload { hmod: MODULE }), 0, "it can't be unloaded");
        }
        let used = self.charged();
        assert_eq!(used, 0, "{used} bytes are still charged");
        let text = || format!("unloaded {}", String::from_utf8_lossy(image));
        self.allocated.check(&mut self.session, text);
    }

    /// Returns the bytes that are charged in addition to the context.
    fn charged(&self) -> u64 {
        self.session.account().used() - self.session.context_bytes()
    }
}

/// The expected device memory of an image.
#[derive(Clone, Copy)]
enum Takes {
    /// The memory that softgpu has allocated.
    AsAllocated,
    /// At least this many bytes of a GPU's memory. softgpu may allocate less.
    AtLeast(u64),
}

fn load(image: &[u8], takes: Takes) {
    LOADER.with_borrow_mut(|loader| {
        let loader = loader.as_mut().expect("the session has begun");
        loader.load(image, takes);
    });
}

/// Loads a generated cubin. If the bytes begin with a cubin's header, loads the bytes themselves as
/// the cubin.
pub fn run_cubin(bytes: &[u8]) {
    let cubin = match bytes.starts_with(&ELF_MAGIC) {
        true => bytes.to_vec(),
        false => images::cubin(&mut Input::new(bytes)),
    };
    load(&cubin, Takes::AtLeast(images::least(&cubin)));
}

/// Loads a generated fatbin.
pub fn run_fatbin(bytes: &[u8]) {
    let (fatbin, is_ptx) = images::fatbin(&mut Input::new(bytes));
    load(&fatbin, if is_ptx { Takes::AsAllocated } else { Takes::AtLeast(0) });
}

/// Loads generated PTX text. If the first byte is 1, loads the remaining bytes as the text.
pub fn run_ptx(bytes: &[u8]) {
    let text = match bytes {
        [1, text @ ..] => text.to_vec(),
        _ => ptx::text(&mut Input::new(bytes)).into_bytes(),
    };
    load(&text, Takes::AsAllocated);
}
