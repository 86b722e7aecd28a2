//! Tests in which several threads use the same id at once.

use super::charges::LARGE;
use super::*;
use crate::driver::stubs::stop_next;
use protocol::ids::{BlobId, ContextId, LibraryId, ModuleId};

const IN_USE: u32 = CuError::INVALID_VALUE.0;

pub(super) fn module(module: u64, text: &str) -> VcudaModuleLoad<'_> {
    VcudaModuleLoad {
        module: ModuleId(module),
        blob: BlobId(0),
        image: text.as_bytes(),
        options: Default::default(),
        log_max: 0,
    }
}

pub(super) fn library(library: u64, text: &str) -> VcudaLibraryLoad<'_> {
    VcudaLibraryLoad {
        library: LibraryId(library),
        blob: BlobId(0),
        image: text.as_bytes(),
        options: Default::default(),
        library_options: Default::default(),
        log_max: 0,
    }
}

#[test]
fn only_the_first_of_several_loads_with_one_id_succeeds() {
    alone("only_the_first_of_several_loads_with_one_id_succeeds", |mut bench| {
        bench.set_quota(1 << 30);
        let first = stop_next("cuModuleLoadDataEx");
        bench.begin(6, &module(7, LARGE));
        first.wait();
        assert_eq!(bench.call(&module(7, LARGE)).0, IN_USE);
        assert_eq!(bench.charged("module"), 100 * MIB);
        // Other ids can be used while the first load is in progress.
        assert_eq!(bench.call(&module(8, LARGE)).0, 0);
        drop(first);
        assert_eq!(bench.ended(6), 0);
        assert_eq!(bench.charged("module"), 200 * MIB);
        for hmod in [7, 8] {
            bench.good(&CuModuleUnload { hmod: ModuleId(hmod) });
        }
        assert_eq!(bench.used(), 0);

        let first = stop_next("cuLibraryLoadData");
        bench.begin(6, &library(9, LARGE));
        first.wait();
        assert_eq!(bench.call(&library(9, LARGE)).0, IN_USE);
        drop(first);
        assert_eq!(bench.ended(6), 0);
        bench.good(&VcudaLibraryGetGlobal { library: LibraryId(9), name: "large" });
        assert_eq!(bench.used(), 100 * MIB);
    });
}

#[test]
fn a_load_during_another_unload_stays_charged() {
    alone("a_load_during_another_unload_stays_charged", |mut bench| {
        bench.set_quota(1 << 30);
        assert_eq!(bench.call(&module(7, LARGE)).0, 0);
        let unload = stop_next("cuModuleUnload");
        bench.begin(6, &CuModuleUnload { hmod: ModuleId(7) });
        unload.wait();
        assert_eq!(bench.call(&module(7, LARGE)).0, IN_USE);
        assert_eq!(bench.call(&CuModuleUnload { hmod: ModuleId(7) }).0, CuError::INVALID_HANDLE.0);
        drop(unload);
        assert_eq!(bench.ended(6), 0);
        assert_eq!(bench.used(), 0);
        assert_eq!(bench.call(&module(7, LARGE)).0, 0);
        assert_eq!(bench.used(), 100 * MIB);
        bench.good(&CuModuleUnload { hmod: ModuleId(7) });

        bench.good(&library(9, LARGE));
        let global = VcudaLibraryGetGlobal { library: LibraryId(9), name: "large" };
        bench.good(&global);
        let unload = stop_next("cuLibraryUnload");
        bench.begin(6, &CuLibraryUnload { library: LibraryId(9) });
        unload.wait();
        assert_eq!(bench.call(&library(9, LARGE)).0, IN_USE);
        drop(unload);
        assert_eq!(bench.ended(6), 0);
        assert_eq!(bench.used(), 0);
        bench.good(&library(9, LARGE));
        bench.good(&global);
        assert_eq!(bench.used(), 100 * MIB);
    });
}

#[test]
fn the_ids_in_a_context_stay_claimed_until_it_has_ended() {
    alone_with("the_ids_in_a_context_stay_claimed_until_it_has_ended", 20 * MIB, |mut bench| {
        bench.set_quota(1 << 30);
        let (first, create) = (bench.ctx, VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(78) });
        bench.good(&create);
        bench.ctx = ContextId(78);
        assert_eq!(bench.call(&module(7, LARGE)).0, 0);
        bench.ctx = first;
        assert_eq!(bench.used(), 140 * MIB);
        let end = stop_next("cuCtxDestroy_v2");
        bench.begin(6, &VcudaCtxDestroy { ctx: ContextId(78) });
        end.wait();
        assert_eq!(bench.call(&create).0, IN_USE);
        assert_eq!(bench.call(&module(7, LARGE)).0, IN_USE);
        assert_eq!(bench.used(), 140 * MIB);
        drop(end);
        assert_eq!(bench.ended(6), 0);
        assert_eq!(bench.used(), 20 * MIB);
        bench.good(&create);
        assert_eq!(bench.call(&module(7, LARGE)).0, 0);
        assert_eq!(bench.used(), 140 * MIB);
    });
}

/// When the guest driver wants pages back, a job of the worker's own enters each context, without a
/// call of the guest.
#[test]
fn a_context_ends_after_its_memory_has_been_unregistered() {
    alone("a_context_ends_after_its_memory_has_been_unregistered", |mut bench| {
        let (region, vaddr, len) = (2, 0x3000_0020_0000, MIB);
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(78) });
        bench.ctx = ContextId(78);
        bench.attach_pinned(region, vaddr, len);
        bench.good(&VcudaHostRegister { vaddr, len: len as usize, flags: 0 });
        let unregister = stop_next("cuMemHostUnregister");
        let detached = bench.session.regions.detach(region, || ()).unwrap();
        bench.executor.region_detaching(detached);
        unregister.wait();
        let end = stop_next("cuCtxDestroy_v2");
        bench.begin(6, &VcudaCtxDestroy { ctx: ContextId(78) });
        assert!(!end.comes());
        drop((unregister, end));
        assert_eq!(bench.ended(6), 0);
    });
}

#[test]
fn a_context_ends_after_the_loads_in_it() {
    alone("a_context_ends_after_the_loads_in_it", |mut bench| {
        bench.set_quota(1 << 30);
        let load = stop_next("cuModuleLoadDataEx");
        bench.begin(6, &module(7, LARGE));
        load.wait();
        let end = stop_next("cuDevicePrimaryCtxRelease_v2");
        bench.begin(7, &VcudaPrimaryCtxRelease { dev: 0, ctx: ContextId(77) });
        assert!(!end.comes());
        // No other call can begin in the context that is ending, and its charges stay.
        assert_eq!(bench.call(&module(8, LARGE)).0, CuError::INVALID_CONTEXT.0);
        assert_eq!(bench.used(), 100 * MIB);
        drop((load, end));
        assert_eq!((bench.ended(6), bench.ended(7)), (0, 0));
        assert_eq!(bench.used(), 0);
        bench.good(&VcudaPrimaryCtxRetain { dev: 0, ctx: ContextId(77) });
        assert_eq!(bench.call(&module(7, LARGE)).0, 0);
        assert_eq!(bench.used(), 100 * MIB);
    });
}
