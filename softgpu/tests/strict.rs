//! Tests strict mode. Each case runs in its own process, because strict mode aborts the process.

use std::ffi::c_void;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::ptr::{null, null_mut};

use common::*;

mod common;

unsafe extern "C" fn sleep(_: *mut c_void) {
    std::thread::sleep(std::time::Duration::from_secs(3));
}

/// Runs `misuse` with a new context in a child process, once in strict mode and once without it.
/// Returns the message that the child prints when strict mode aborts it. The child is this test
/// program, and runs only the test named `test`, which must contain the call of this function.
fn aborted(test: &str, misuse: unsafe fn(usize)) -> String {
    if std::env::var_os("STRICT_TEST").is_some() {
        let mut context = 0;
        // SAFETY: the pointer is to a local variable. softgpu checks all handles.
        unsafe {
            assert_eq!((cuInit(0), cuCtxCreate_v2(&mut context, 0, 0)), (0, 0));
            misuse(context);
        }
        std::process::exit(0);
    }
    let run = |strict| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env("STRICT_TEST", "1")
            .env("SOFTGPU_STRICT", strict)
            .output()
            .unwrap()
    };
    let relaxed = run("0");
    assert!(relaxed.status.success(), "{}", String::from_utf8_lossy(&relaxed.stderr));
    let strict = run("1");
    assert_eq!(strict.status.signal(), Some(6), "{:?}", strict.status);
    String::from_utf8_lossy(&strict.stderr).into_owned()
}

/// Creates an event in the current context.
unsafe fn event() -> usize {
    let mut event = 0;
    // SAFETY: the pointer is to a local variable.
    assert_eq!(unsafe { cuEventCreate(&mut event, 0) }, 0);
    event
}

#[test]
fn a_destroyed_object() {
    // SAFETY: softgpu checks all handles.
    let said = aborted("a_destroyed_object", |_| unsafe {
        let event = event();
        assert_eq!(cuEventDestroy_v2(event), 0);
        assert_ne!(cuEventQuery(event), 0);
    });
    assert!(said.contains("cuEventQuery: the Event") && said.contains("was destroyed"), "{said}");
}

#[test]
fn an_object_of_a_context_that_has_ended() {
    // SAFETY: softgpu checks all handles.
    let said = aborted("an_object_of_a_context_that_has_ended", |context| unsafe {
        let event = event();
        assert_eq!(cuCtxDestroy_v2(context), 0);
        assert_ne!(cuEventQuery(event), 0);
    });
    assert!(said.contains("cuEventQuery: the Event") && said.contains("ended together"), "{said}");
}

#[test]
fn a_primary_context_that_has_ended() {
    // SAFETY: softgpu checks all handles.
    let said = aborted("a_primary_context_that_has_ended", |_| unsafe {
        let mut primary = 0;
        assert_eq!(cuDevicePrimaryCtxRetain(&mut primary, 0), 0);
        assert_eq!(cuDevicePrimaryCtxRelease_v2(0), 0);
        cuCtxSetCurrent(primary);
    });
    assert!(said.contains("cuCtxSetCurrent: the Context"), "{said}");
}

#[test]
fn a_context_with_an_instantiated_graph() {
    // SAFETY: softgpu checks all handles, and the pointers are to local variables.
    let said = aborted("a_context_with_an_instantiated_graph", |context| unsafe {
        let (mut graph, mut exec, mut gone) = (0, 0, 0);
        assert_eq!(cuGraphCreate(&mut graph, 0), 0);
        assert_eq!(cuGraphInstantiateWithFlags(&mut exec, graph, 0), 0);
        assert_eq!(cuGraphInstantiateWithFlags(&mut gone, graph, 0), 0);
        assert_eq!((cuGraphExecDestroy(gone), cuGraphDestroy(graph)), (0, 0));
        assert_eq!(cuCtxDestroy_v2(context), 0);
    });
    assert!(said.contains("cuCtxDestroy_v2: 1 GraphExec left in the context"), "{said}");
}

#[test]
fn a_context_in_which_a_kernel_has_failed_may_have_objects() {
    // SAFETY: softgpu checks all handles, and the pointers are to local variables.
    let said =
        aborted("a_context_in_which_a_kernel_has_failed_may_have_objects", |context| unsafe {
            let (mut module, mut trap, mut graph, mut exec) = (0, 0, 0, 0);
            let text =
                c".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry f() { trap; }";
            assert_eq!(cuModuleLoadData(&mut module, text.as_ptr().cast()), 0);
            assert_eq!(cuModuleGetFunction(&mut trap, module, c"f".as_ptr()), 0);
            assert_eq!(cuGraphCreate(&mut graph, 0), 0);
            assert_eq!(cuGraphInstantiateWithFlags(&mut exec, graph, 0), 0);
            assert_eq!(cuLaunchKernel(trap, 1, 1, 1, 1, 1, 1, 0, 0, null(), null()), 0);
            assert_ne!(cuCtxSynchronize(), 0);
            assert_eq!(cuCtxDestroy_v2(context), 0);
            // After the destruction of the context, strict mode's checks are active again.
            assert_ne!(cuMemFree_v2(1 << 40), 0);
        });
    assert!(said.contains("cuMemFree_v2: freed something that does not exist"), "{said}");
}

#[test]
fn an_object_that_another_thread_uses() {
    // SAFETY: softgpu checks all handles, and the pointers are to local variables.
    let said = aborted("an_object_that_another_thread_uses", |context| unsafe {
        let (event, mut stream) = (event(), 0);
        assert_eq!(cuStreamCreate(&mut stream, 1), 0);
        assert_eq!(cuLaunchHostFunc(stream, sleep, null_mut()), 0);
        assert_eq!(cuEventRecord(event, stream), 0);
        std::thread::spawn(move || {
            cuCtxSetCurrent(context);
            cuEventSynchronize(event)
        });
        std::thread::sleep(std::time::Duration::from_secs(1));
        assert_eq!(cuEventDestroy_v2(event), 0);
    });
    assert!(said.contains("cuEventDestroy_v2: the Event"), "{said}");
}

#[test]
fn memory_that_does_not_exist() {
    // SAFETY: softgpu checks all handles.
    let said = aborted("memory_that_does_not_exist", |_| unsafe {
        assert_ne!(cuMemFree_v2(1 << 40), 0);
    });
    assert!(said.contains("cuMemFree_v2: freed something that does not exist"), "{said}");
}
