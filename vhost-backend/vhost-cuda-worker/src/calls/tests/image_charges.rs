//! Tests of charges for memory that the driver takes, or keeps, because of the contents of an
//! image.

use super::charges::{OUT_OF_MEMORY, for_all_threads};
use super::claims::library;
use super::*;
use crate::calls::contexts::charges::forged_frame;
use protocol::ids::{BlobId, ContextId, KernelId, LibraryId, ModuleId, StreamId};

const HEAD: &str = ".version 7.0\n.target sm_70\n.address_size 64\n";
const STACK: u32 = 0;

impl Bench {
    fn load_bytes(&mut self, module: u64, image: &[u8]) -> u32 {
        self.call(&VcudaModuleLoad {
            module: ModuleId(module),
            blob: BlobId(0),
            image,
            options: Default::default(),
            log_max: 0,
        })
        .0
    }
}

/// Returns PTX text whose kernel, `empty`, contains the instructions `body`.
fn with_body(body: &str) -> String {
    format!("{HEAD}.visible .entry empty() {{ {body} ret; }}")
}

/// Returns PTX text that declares a driver function, so that its kernel, `empty`, may call the
/// function.
fn calling(function: &str) -> String {
    let declared = format!(".extern .func (.param .b32 r) {function} (.param .b64 a);\n");
    with_body("").replace(HEAD, &format!("{HEAD}{declared}"))
}

#[test]
fn a_kernel_is_charged_for_the_local_memory_that_its_image_declares() {
    alone(
        "image_charges::a_kernel_is_charged_for_the_local_memory_that_its_image_declares",
        |mut bench| {
            // For this image, softgpu takes 64 KiB of local memory per thread, but reports none.
            let forged = forged_frame(&with_body(""), 64 << 10);
            assert_eq!(bench.load_bytes(1, &forged), 0);
            let f = bench.empty(1, 2);
            assert_eq!(bench.launch_empty(f), OUT_OF_MEMORY);
            assert_eq!(bench.charged("local"), 0);
            bench.set_quota(for_all_threads(64 << 10));
            assert_eq!(bench.launch_empty(f), 0);
            assert_eq!(bench.charged("local"), for_all_threads(64 << 10));
            bench.good(&CuCtxSynchronize {});
            assert_eq!(bench.set_limit(STACK, 1024), 0);
            assert_eq!(bench.used(), 0);
            // If the kernel belongs to a library, the kernel and its CUfunction are charged in the
            // same way.
            let (options, library_options) = (Default::default(), Default::default());
            let (id, blob, image) = (LibraryId(9), BlobId(0), &forged[..]);
            bench.good(&VcudaLibraryLoad {
                library: id,
                blob,
                image,
                options,
                library_options,
                log_max: 0,
            });
            let get = VcudaLibraryGetKernels {
                p_kernel: KernelId(10),
                library: id,
                name: "empty",
                more: 0,
            };
            bench.good(&get);
            for f in [10, 11] {
                if f == 11 {
                    bench.good(&CuKernelGetFunction {
                        p_func: protocol::ids::FunctionId(11),
                        kernel: KernelId(10),
                    });
                }
                bench.set_quota(10 * MIB);
                assert_eq!(bench.launch_empty(f), OUT_OF_MEMORY);
                bench.set_quota(for_all_threads(64 << 10));
                assert_eq!(bench.launch_empty(f), 0);
                assert_eq!(bench.charged("local"), for_all_threads(64 << 10));
                bench.good(&CuCtxSynchronize {});
                assert_eq!(bench.set_limit(STACK, 1024), 0);
            }
        },
    );
}

#[test]
fn memory_of_a_failed_load_stays_charged() {
    alone("image_charges::memory_of_a_failed_load_stays_charged", |mut bench| {
        bench.set_quota(600 * MIB);
        for (function, charged) in [("vprintf", 102), ("malloc", 250)] {
            let broken = calling(function).replace("ret;", "nonsense;");
            assert_ne!(bench.load(1, &broken), 0);
            assert_eq!(bench.used(), charged * MIB, "{function}");
        }
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(78) });
        bench.good(&VcudaCtxDestroy { ctx: ContextId(78) });
        assert_eq!(bench.used(), 250 * MIB);
        bench.good(&VcudaPrimaryCtxRelease { dev: 0, ctx: ContextId(77) });
        assert_eq!(bench.used(), 0);
    });
}

#[test]
fn kernels_that_print_or_launch_are_charged_once_per_context() {
    alone(
        "image_charges::kernels_that_print_or_launch_are_charged_once_per_context",
        |mut bench| {
            assert_eq!(bench.load(1, &calling("vprintf")), OUT_OF_MEMORY);
            assert_eq!(bench.used(), 0);
            bench.set_quota(300 * MIB);
            for (module, function) in [
                (2, "vprintf"),
                (3, "__cuda_syscall_cnpv2LaunchDeviceV2"),
                (4, "__cudaCDP2LaunchDeviceV2"),
            ] {
                bench.load(module, &calling(function));
                assert_eq!(bench.used(), 102 * MIB, "{function}");
            }
            // A module isn't charged if it declares only `__assertfail`, or if it contains
            // `vprintf` only in a comment.
            bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(78) });
            bench.ctx = ContextId(78);
            bench.load(5, &calling("__assertfail"));
            bench.load(6, &format!("{}// vprintf", with_body("")));
            assert_eq!(bench.used(), 102 * MIB);
            // A library that may print is charged in each context that uses it.
            bench.good(&library(9, &calling("vprintf")));
            assert_eq!(bench.used(), 102 * MIB);
            let (p_kernel, library) = (KernelId(10), LibraryId(9));
            bench.call(&VcudaLibraryGetKernels { p_kernel, library, name: "empty", more: 0 });
            assert_eq!(bench.used(), 204 * MIB);
        },
    );
}

#[test]
fn a_new_stack_limit_keeps_the_charge_for_kernels_that_run() {
    alone("image_charges::a_new_stack_limit_keeps_the_charge_for_kernels_that_run", |mut bench| {
        bench.set_quota(1 << 40);
        let [kernel, other] = [StreamId(500), StreamId(501)];
        for ph_stream in [kernel, other] {
            bench.post(&CuStreamCreateWithPriority { ph_stream, flags: 1, priority: 0 });
        }
        let flag = bench.alloc(16);
        bench.fill(flag, 0, 4, other.0);
        bench.good(&CuCtxSynchronize {});
        let text = with_body(&format!(
            ".local .align 4 .b8 mine[16384]; .reg .pred %p; .reg .b32 %r; .reg .b64 %d;
            mov.u64 %d, {flag}; again: ld.volatile.global.u32 %r, [%d];
            setp.eq.u32 %p, %r, 0; @%p bra again;"
        ));
        assert_eq!(bench.load(1, &text), 0);
        let f = bench.empty(1, 2);
        for (limit, kept) in [(1024, 16384), (2048, 16384), (20_000, 20_000), (1024, 20_000)] {
            if limit == 1024 && kept == 16384 {
                assert_eq!(bench.launch_empty_in(f, kernel.0), 0);
            }
            assert_eq!(bench.set_limit(STACK, limit), 0);
            assert_eq!(bench.charged("local"), for_all_threads(kept), "{limit}");
        }
        bench.fill(flag, 1, 4, other.0);
        bench.good(&CuStreamSynchronize { h_stream: kernel });
        assert_eq!(bench.set_limit(STACK, 2048), 0);
        assert_eq!(bench.charged("local"), for_all_threads(2048));
    });
}
