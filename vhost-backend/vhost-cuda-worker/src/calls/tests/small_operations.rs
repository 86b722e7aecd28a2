//! Tests of operations that may run outside of the VM's windows until they have taken a certain
//! amount of GPU time.

use protocol::ids::{ArrayId, MipmapId, ModuleId};

use super::*;
use crate::driver::stubs::stop_next;
use host_ipc::gate::Mode;

#[test]
fn modules_with_large_variables_wait_for_a_window_and_are_charged() {
    alone(
        "small_operations::modules_with_large_variables_wait_for_a_window_and_are_charged",
        |mut bench| {
            let image = |bytes: usize| {
                format!(".version 8.0\n.target sm_90\n.address_size 64\n.global .b8 v[{bytes}];\n")
            };
            fn load(module: u64, image: &str) -> VcudaModuleLoad<'_> {
                VcudaModuleLoad {
                    module: ModuleId(module),
                    blob: BlobId(0),
                    image: image.as_bytes(),
                    options: Default::default(),
                    log_max: 0,
                }
            }
            bench.grant(Mode::Closed, 0);
            bench.good(&load(800, &image(4096)));
            let copied = |bench: &Bench| bench.gpu().copied_ns.load(Ordering::Relaxed);
            let before = copied(&bench);
            let large = image(2 << 20);
            bench.begin(THREAD + 1, &load(801, &large));
            bench.until("it waits", |bench| bench.held() == 1);
            bench.good(&CuMemGetInfoV2 {});
            bench.grant(Mode::Window, 1_000_000);
            assert_eq!((bench.ended(THREAD + 1), bench.held()), (0, 0));
            let charged = copied(&bench) - before;
            assert!((720_000..750_000).contains(&charged), "{charged} ns for 1 MiB, and 500 GB/s");
            // If the scheduler ends the session, calls stop waiting for a window.
            bench.grant(Mode::Closed, 0);
            bench.begin(THREAD + 1, &load(802, &large));
            bench.until("it waits", |bench| bench.held() == 1);
            bench.session.gate.page.worker.verdict.store(702, Ordering::Relaxed);
            bench.until("the session ends", |bench| bench.held() == 0);
            bench.ended(THREAD + 1);
        },
    );
}

/// Makes `free` calls while the gate is closed, which needn't wait, and then one call that must
/// wait for the VM's window.
fn waits_after<'a, C: Call<'a>>(bench: &mut Bench, free: usize, call: impl Fn(usize) -> C)
where
    C::Answer: Default,
{
    bench.grant(Mode::Closed, 0);
    for index in 0..free {
        bench.good(&call(index));
    }
    let before = bench.gpu().copied_ns.load(Ordering::Relaxed);
    bench.begin(THREAD + 1, &call(free));
    bench.until("it waits", |bench| bench.held() == 1);
    bench.grant(Mode::Window, 1_000_000);
    assert_eq!((bench.ended(THREAD + 1), bench.held()), (0, 0));
    let charged = bench.gpu().copied_ns.load(Ordering::Relaxed) - before;
    assert!(charged >= 500_000, "charged for all of them, {charged} ns");
    // The session has paid for all calls, so the next call may run at once again.
    bench.grant(Mode::Closed, 0);
    bench.good(&call(free + 1));
}

#[test]
fn many_small_modules_wait_for_a_window() {
    alone("small_operations::many_small_modules_wait_for_a_window", |mut bench| {
        let image = ".version 8.0\n.target sm_90\n.address_size 64\n.global .b8 v[409600];\n";
        waits_after(&mut bench, 1, |index| VcudaModuleLoad {
            module: ModuleId(800 + index as u64),
            blob: BlobId(0),
            image: image.as_bytes(),
            options: Default::default(),
            log_max: 0,
        });
    });
}

#[test]
fn many_changes_of_the_stack_size_wait_for_a_window() {
    alone("small_operations::many_changes_of_the_stack_size_wait_for_a_window", |mut bench| {
        let value = |index| if index % 2 == 0 { 1032 } else { 1024 };
        waits_after(&mut bench, 9, |index| CuCtxSetLimit { limit: 0, value: value(index) });
    });
}

#[test]
fn many_textures_and_surfaces_wait_for_a_window() {
    alone("small_operations::many_textures_and_surfaces_wait_for_a_window", |mut bench| {
        bench.good(&super::textures::create(1));
        waits_after(&mut bench, 99, |_| super::textures::texture(super::textures::resource(0)));
        bench.grant(Mode::Unlimited, 0);
        let mut surfaces = Vec::new();
        for _ in 0..100 {
            surfaces.push(bench.good(&VcudaSurfaceCreate { array: ArrayId(1) }).object);
        }
        bench.grant(Mode::Closed, 0);
        for object in surfaces.drain(..98) {
            bench.good(&VcudaSurfaceDestroy { object });
        }
        bench.begin(THREAD + 1, &VcudaSurfaceDestroy { object: surfaces[0] });
        bench.until("it waits", |bench| bench.held() == 1);
        bench.grant(Mode::Window, 1_000_000);
        assert_eq!(bench.ended(THREAD + 1), 0);
    });
}

#[test]
fn the_driver_does_not_reset_the_l2_cache() {
    alone("small_operations::the_driver_does_not_reset_the_l2_cache", |mut bench| {
        let reset = stop_next("cuCtxResetPersistingL2Cache");
        bench.begin(THREAD + 1, &CuCtxResetPersistingL2Cache {});
        assert!(!reset.comes());
        assert_eq!(bench.ended(THREAD + 1), 0);
    });
}

/// The number of bytes that the driver clears in the GPU time that a session may owe before it must
/// wait.
const CLEARED: usize = 2_000_000_000;
const PART: usize = 256 << 20;

/// With the gate closed, creates and frees parts of memory until the driver has cleared so much
/// that the next free must wait for the VM's window. Checks that the free waits and is charged.
/// `create` creates the part with the given number, and returns the call that frees it.
fn frees_wait<'a, C: Call<'a>>(mut bench: Bench, create: impl Fn(&mut Bench, u64) -> C)
where
    C::Answer: Default,
{
    bench.set_quota(2 << 30);
    bench.grant(Mode::Closed, 0);
    for number in 1..=(CLEARED / PART) as u64 {
        let free = create(&mut bench, number);
        bench.good(&free);
    }
    let copied = |bench: &Bench| bench.gpu().copied_ns.load(Ordering::Relaxed);
    let before = copied(&bench);
    let free = create(&mut bench, 100);
    bench.begin(THREAD + 1, &free);
    bench.until("it waits", |bench| bench.held() == 1);
    let used = bench.used();
    // While the free waits, the session can still allocate.
    create(&mut bench, 101);
    assert!(bench.used() > used);
    bench.grant(Mode::Window, 1_000_000);
    assert_eq!((bench.ended(THREAD + 1), bench.held()), (0, 0));
    let charged = copied(&bench) - before;
    assert!(
        (530_000..680_000).contains(&charged),
        "{charged} ns for 2 GiB, and perhaps one more part"
    );
    // A VM that has the GPU to itself doesn't run up a debt of GPU time for later.
    bench.grant(Mode::Unlimited, 0);
    for number in 200..220 {
        let free = create(&mut bench, number);
        bench.good(&free);
    }
    bench.grant(Mode::Closed, 0);
    let free = create(&mut bench, 300);
    bench.good(&free);
}

#[test]
fn frees_of_allocations_wait_for_a_window() {
    alone("small_operations::frees_of_allocations_wait_for_a_window", |bench| {
        frees_wait(bench, |bench, _| CuMemFreeV2 { dptr: bench.alloc(PART) });
    });
}

#[test]
fn releases_of_physical_memory_wait_for_a_window() {
    alone("small_operations::releases_of_physical_memory_wait_for_a_window", |bench| {
        let call = VcudaMemCreate { device: 0, size: PART, handle_types: 0, compression: 0 };
        frees_wait(bench, |bench, _| CuMemRelease { handle: bench.good(&call).handle });
    });
}

#[test]
fn ends_of_arrays_wait_for_a_window() {
    alone("small_operations::ends_of_arrays_wait_for_a_window", |bench| {
        frees_wait(bench, |bench, number| {
            bench.good(&super::arrays::create(number, 8192, 8192));
            super::arrays::destroy(number)
        });
    });
}

#[test]
fn ends_of_mipmapped_arrays_wait_for_a_window() {
    alone("small_operations::ends_of_mipmapped_arrays_wait_for_a_window", |bench| {
        frees_wait(bench, |bench, number| {
            let mipmap = MipmapId(number);
            let descriptor = super::arrays::descriptor(8192, 8192);
            bench.good(&VcudaMipmappedArrayCreate { mipmap, descriptor, levels: 1 });
            VcudaMipmappedArrayDestroy { mipmap }
        });
    });
}

#[test]
fn memory_that_a_session_leaves_behind_is_charged() {
    alone("small_operations::memory_that_a_session_leaves_behind_is_charged", |mut bench| {
        bench.set_quota(2 << 30);
        bench.grant(Mode::Closed, 0);
        bench.alloc(PART);
        bench.session.gate.page.worker.verdict.store(702, Ordering::Relaxed);
        let before = bench.gpu().copied_ns.load(Ordering::Relaxed);
        (bench.executor.before_exit())();
        let charged = bench.gpu().copied_ns.load(Ordering::Relaxed) - before;
        assert_eq!(charged, PART as u64 / 4_000);
    });
}
