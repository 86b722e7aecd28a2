//! Generates the calls of a program that makes the driver take memory in each context: by setting
//! limits, loading modules, launching kernels, instantiating graphs, and creating streams. Most of
//! the calls are valid.

use protocol::calls::*;
use protocol::codec::{Array, Call, Writer};
use protocol::graph::{Dependency, encode_bodies, encode_node};
use protocol::ids::*;
use protocol::structs::*;

use crate::arguments::encoded;
use crate::input::Input;

/// The kernels' names, each with the bytes of its local memory and of its parameters.
const KERNELS: [(&str, u32, u32); 6] = [
    ("none", 0, 0),
    ("little", 1024, 8),
    ("more", 8 << 10, 0),
    ("much", 64 << 10, 0),
    ("most", 256 << 10, 0),
    ("long", 0, 4000),
];
/// The values to which context limits are set, in bytes or in numbers of launches.
const LIMITS: [usize; 9] = [0, 1, 512, 1024, 4 << 10, 32 << 10, 256 << 10, 1 << 20, usize::MAX];
/// Number of objects of each kind that the calls use.
const OBJECTS: usize = 3;
/// Number of functions that the calls use.
const FUNCTIONS: usize = KERNELS.len() + 2;

/// A generated call, and the context in which it is made.
pub struct Made {
    pub name: &'static str,
    pub opcode: u32,
    pub context: ContextId,
    pub args: Vec<u8>,
}

fn made<'a, C: Call<'a>>(context: ContextId, call: &C) -> Made {
    Made { name: C::NAME, opcode: C::OPCODE, context, args: encoded(call) }
}

/// Returns the PTX text of a module that contains all kernels. If `has_heap` is true, its kernels
/// call malloc.
fn image(variables: u32, has_heap: bool) -> Vec<u8> {
    let mut text = String::from(".version 7.0\n.target sm_70\n.address_size 64\n");
    if has_heap {
        text += ".extern .func (.param .b64 r) malloc (.param .b64 n);\n";
    }
    if variables > 0 {
        text += &format!(".visible .global .align 4 .b8 data[{variables}];\n");
    }
    for (name, local, params) in KERNELS {
        let param = match params {
            0 => String::new(),
            bytes => format!(".param .align 8 .b8 p[{bytes}]"),
        };
        text += &format!(".visible .entry {name}({param})\n{{\n");
        if local > 0 {
            text += &format!(".local .align 4 .b8 l[{local}];\n");
        }
        if has_heap {
            text += ".reg .b64 %d;\n{ .param .b64 r; .param .b64 n; st.param.b64 [n], 16;\n";
            text += "call.uni (r), malloc, (n); ld.param.b64 %d, [r]; }\n";
        }
        text += "ret;\n}\n";
    }
    text.into_bytes()
}

/// Returns the calls that begin every run: they retain the primary context and load a module.
pub fn first_calls() -> Vec<Made> {
    let (context, module) = (ContextId(FIRST_ID), ModuleId(FIRST_ID));
    let mut calls = vec![
        made(context, &VcudaPrimaryCtxRetain { dev: 0, ctx: context }),
        made(context, &load(module, &image(0, false))),
    ];
    for (number, (name, ..)) in KERNELS.into_iter().enumerate() {
        let hfunc = FunctionId(FIRST_ID + number as u64);
        calls.push(made(context, &VcudaModuleGetFunction { hfunc, hmod: module, name }));
    }
    calls
}

/// Returns the calls that end every run: they release all objects and contexts.
pub fn last_calls() -> Vec<Made> {
    let contexts = (0..OBJECTS as u64).map(|number| ContextId(FIRST_ID + number));
    let ends = contexts.flat_map(|ctx| {
        let release = VcudaPrimaryCtxRelease { dev: 0, ctx };
        [made(ctx, &release), made(ctx, &VcudaCtxDestroy { ctx })]
    });
    ends.collect()
}

fn load(module: ModuleId, image: &[u8]) -> VcudaModuleLoad<'_> {
    let (blob, options) = (BlobId::INLINE, Array::default());
    VcudaModuleLoad { module, blob, image, options, log_max: 0 }
}

/// Generates calls from a fuzzer's bytes.
pub struct Workload<'a> {
    pub input: Input<'a>,
    /// The handle of the value that conditional nodes test.
    pub value: u64,
}

impl Workload<'_> {
    fn id(&mut self) -> u64 {
        FIRST_ID + self.input.below(OBJECTS) as u64
    }

    fn func(&mut self) -> u64 {
        FIRST_ID + self.input.below(FUNCTIONS) as u64
    }

    fn stream(&mut self) -> StreamId {
        match self.input.below(3) {
            0 => self.input.pick(&[StreamId::DEFAULT, StreamId::LEGACY, StreamId::PER_THREAD]),
            _ => StreamId(self.id()),
        }
    }

    fn image(&mut self) -> Vec<u8> {
        let variables = self.input.pick(&[0, 100 << 10, 300 << 10, 3 << 20]);
        image(variables, self.input.one_in(4))
    }

    /// Returns the next call.
    pub fn call(&mut self) -> Made {
        let context = ContextId(if self.input.one_in(3) { self.id() } else { FIRST_ID });
        match self.input.below(6) {
            0 => {
                let limit = self.input.pick(&[0, 0, 0, 2, 1, 4]);
                made(context, &CuCtxSetLimit { limit, value: self.input.pick(&LIMITS) })
            }
            1 => self.launch(context),
            2 => self.context(context),
            3 => self.module(context),
            _ => self.graph(context),
        }
    }

    fn launch(&mut self, context: ContextId) -> Made {
        let (f, h_stream, size) = (FuncId(self.func()), self.stream(), self.input.pick(&[1, 1, 2]));
        match self.input.below(3) {
            0 => made(
                context,
                &VcudaLaunchCooperative {
                    f,
                    grid_x: size,
                    grid_y: 1,
                    grid_z: 1,
                    block_x: 1,
                    block_y: 1,
                    block_z: 1,
                    shared_mem_bytes: 0,
                    h_stream,
                    params: &[],
                },
            ),
            _ => made(
                context,
                &VcudaLaunch {
                    f,
                    grid_x: size,
                    grid_y: 1,
                    grid_z: 1,
                    block_x: 1,
                    block_y: 1,
                    block_z: 1,
                    shared_mem_bytes: 0,
                    h_stream,
                    params: &[],
                    attributes: Array::default(),
                },
            ),
        }
    }

    fn context(&mut self, context: ContextId) -> Made {
        let (ctx, dev) = (ContextId(self.id()), 0);
        match self.input.below(8) {
            0 | 1 => made(context, &VcudaCtxCreate { dev, flags: 0, ctx }),
            2 => made(ctx, &VcudaCtxDestroy { ctx }),
            3 => made(ctx, &VcudaPrimaryCtxRelease { dev, ctx }),
            4 => made(context, &VcudaPrimaryCtxReset { dev }),
            5 => made(context, &VcudaPrimaryCtxRetain { dev, ctx }),
            6 => {
                let ph_stream = StreamId(self.id());
                made(context, &CuStreamCreateWithPriority { ph_stream, flags: 1, priority: 0 })
            }
            _ => made(context, &CuStreamDestroyV2 { h_stream: StreamId(self.id()) }),
        }
    }

    fn module(&mut self, context: ContextId) -> Made {
        let (id, more) = (self.id(), self.input.below(2) as u32);
        let name = self.input.pick(&KERNELS).0;
        match self.input.below(8) {
            0 => made(context, &load(ModuleId(id), &self.image())),
            1 => made(context, &CuModuleUnload { hmod: ModuleId(id) }),
            2 => made(
                context,
                &VcudaLibraryLoad {
                    library: LibraryId(id),
                    blob: BlobId::INLINE,
                    image: &self.image(),
                    options: Array::default(),
                    library_options: Array::default(),
                    log_max: 0,
                },
            ),
            3 => made(context, &CuLibraryUnload { library: LibraryId(id) }),
            4 => {
                let (hfunc, hmod) = (FunctionId(self.func()), ModuleId(id));
                made(context, &VcudaModuleGetFunction { hfunc, hmod, name })
            }
            5 => {
                let (p_kernel, library) = (KernelId(self.func()), LibraryId(id));
                made(context, &VcudaLibraryGetKernels { p_kernel, library, name, more })
            }
            6 => made(context, &VcudaFuncAttributes { hfunc: FuncId(self.func()) }),
            _ => made(context, &CuFuncLoad { hfunc: FuncId(self.func()) }),
        }
    }

    fn graph(&mut self, context: ContextId) -> Made {
        let (exec, values) = (GraphExecId(self.id()), ValuesId(FIRST_ID));
        let (flags, blob) = (0, BlobId::INLINE);
        match self.input.below(12) {
            0..=2 => {
                let graph = &self.nodes(false);
                made(context, &VcudaGraphInstantiate { exec, flags, blob, graph })
            }
            3 => {
                let graph = &self.nodes(true);
                made(context, &VcudaGraphInstantiateConditional { exec, flags, blob, graph })
            }
            4 => {
                let flags = self.input.below(2) as u32;
                made(context, &VcudaGraphValueCreate { values, default_value: 0, flags })
            }
            5..=7 => made(context, &CuGraphLaunch { h_graph: exec, h_stream: self.stream() }),
            8 => match self.input.below(3) {
                0 => made(context, &CuGraphExecDestroy { h_graph_exec: exec }),
                1 => made(context, &CuGraphUpload { h_graph: exec, h_stream: self.stream() }),
                _ => {
                    let (node, enabled) = (self.input.below(3) as u32, self.input.below(2) as u32);
                    made(context, &VcudaGraphExecNodeEnable { exec, node, enabled })
                }
            },
            9 => made(context, &VcudaGraphExecUpdate { exec, blob, graph: &self.nodes(false) }),
            10 => {
                let (node, step) = (self.input.below(3) as u32, Step::Kernel(self.kernel()));
                made(context, &VcudaGraphExecNodeSet { exec, node, step })
            }
            _ => {
                let (node, step) = (self.input.below(3) as u32, Step::Kernel(self.kernel()));
                made(context, &VcudaGraphExecNodePost { exec, node, step })
            }
        }
    }

    fn kernel(&mut self) -> KernelStep<'static> {
        let one = Dim3 { x: 1, y: 1, z: 1 };
        let (f, attributes) = (FuncId(self.func()), Array::default());
        KernelStep { f, grid: one, block: one, shared: 0, params: &[], attributes }
    }

    /// Returns an encoded graph of kernels, each of which depends on the previous one.
    fn nodes(&mut self, is_conditional: bool) -> Vec<u8> {
        let (mut writer, count) = (Writer::new(), self.input.pick(&[1, 1, 1, 2, 3, 150, 1200]));
        writer.word(count);
        let mut step = Step::Kernel(self.kernel());
        let body;
        if is_conditional {
            body = encode_bodies([&*self.nodes(false)]).as_bytes().to_vec().leak();
            let (values, handle) = (ValuesId(FIRST_ID), self.value);
            step = Step::Conditional(ConditionalStep {
                values,
                handle,
                kind: 0,
                size: 1,
                bodies: body,
            });
        }
        for number in 0..count as u32 {
            let after: Vec<_> = number.checked_sub(1).map(Dependency::on).into_iter().collect();
            encode_node(&after, &step, &mut writer);
            if number < 2 {
                step = Step::Kernel(self.kernel());
            }
        }
        writer.as_bytes().to_vec()
    }
}
