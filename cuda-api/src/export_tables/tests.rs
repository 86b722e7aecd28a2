//! Tests that call the tables' functions as libraries do: through the tables' addresses.

use super::*;
use crate::sys::{CUcontext, CUdevice, CUfunction, CUmodule, CUresult, CUstream};
use core::ffi::{c_char, c_void};
use std::sync::Mutex;

struct Fake {
    unsupported: Mutex<Vec<String>>,
}

const PRIMARY: usize = 0xAB00;

impl Driver for Fake {
    fn primary_context(&self, device: CUdevice) -> Result<CUcontext, CUresult> {
        match device {
            0 => Ok(core::ptr::without_provenance_mut(PRIMARY)),
            _ => Err(CUresult::CUDA_ERROR_INVALID_DEVICE),
        }
    }
    fn current_context(&self) -> CUcontext {
        core::ptr::without_provenance_mut(PRIMARY)
    }
    fn context_id(&self, context: CUcontext) -> Result<u64, CUresult> {
        assert_eq!(context.addr(), PRIMARY);
        Ok(7)
    }
    fn driver_version(&self) -> i32 {
        13000
    }
    fn device_identities(&self) -> Result<Vec<DeviceIdentity>, CUresult> {
        Ok(vec![DeviceIdentity { uuid: [1; 16], pci_domain: 0, pci_bus: 1, pci_device: 0 }])
    }
    fn tpc_tables(&self) -> Result<[Vec<u8>; 2], CUresult> {
        Ok([vec![1, 2, 3], vec![4, 5, 6]])
    }
    fn stream_id(&self, stream: CUstream) -> Result<u64, CUresult> {
        Ok(stream.addr() as u64 + 6)
    }
    fn module_functions(
        &self,
        _module: CUmodule,
    ) -> Result<Vec<(CUfunction, *const c_char)>, CUresult> {
        Ok(vec![
            (core::ptr::without_provenance_mut(0x10), c"first".as_ptr()),
            (core::ptr::without_provenance_mut(0x20), c"second".as_ptr()),
        ])
    }
    fn executes_ptx(&self) -> bool {
        std::env::var_os("TEST_PTX").is_some()
    }
    fn unsupported(&self, what: &str) -> CUresult {
        self.unsupported.lock().unwrap().push(what.to_owned());
        CUresult::CUDA_ERROR_NOT_SUPPORTED
    }
}

static FAKE: Fake = Fake { unsupported: Mutex::new(Vec::new()) };

fn table(written: u128) -> *const usize {
    get(&written.to_be_bytes(), &FAKE).expect("the table is known").cast()
}

/// Returns the word of a table at an index.
fn word(table: *const usize, index: usize) -> usize {
    // SAFETY: the tests only use indices within the table's size.
    unsafe { table.add(index).read() }
}

/// Calls the function in a slot.
macro_rules! call {
    ($table:expr, $index:expr, ($($kind:ty),*) -> $result:ty, $($argument:expr),*) => {{
        let address = word($table, $index);
        // SAFETY: the function in that slot has this type, and its pointers are valid for the call.
        unsafe {
            core::mem::transmute::<usize, unsafe extern "C" fn($($kind),*) -> $result>(address)(
                $($argument),*
            )
        }
    }};
}

const CUDART: u128 = 0x6BD5FB6C_5BF4_E74A_8987_D93912FD9DF9;
const HOOKS: u128 = 0xA094798C_2E74_2E74_93F2_0800200C0A66;
const TLS: u128 = 0x42D85A81_23F6_CB47_8298_F6E78A3AECDC;
const STORAGE: u128 = 0xC693336E_1121_DF11_A8C3_68F355D89593;
const INTEGRITY: u128 = 0xD4082055_BDE6_704B_8D34_BA123C66E1F2;
const CHECKS: u128 = 0x263E8860_7CD2_6143_92F6_BBD5006DFA7E;
const CONTEXT: u128 = 0x21318C60_9714_3248_8CA6_41FF7324C8F2;
const CACHE: u128 = 0xDA9151D3_3AE6_CC41_A5C0_4F26D533E328;
const MODULE: u128 = 0x6E163FBE_B958_444D_835C_E182AFF1991E;

#[test]
fn sizes_are_those_of_nvidias_driver_and_no_slot_is_null() {
    for (uuid, bytes) in [
        (CUDART, 104),
        (HOOKS, 56),
        (TLS, 24),
        (INTEGRITY, 24),
        (CHECKS, 120),
        (CONTEXT, 744),
        (MODULE, 792),
        (TPC_TABLES_UUID, 136),
        (CACHE, 56),
    ] {
        let table = table(uuid);
        assert_eq!(word(table, 0), bytes);
        for index in 1..bytes / size_of::<usize>() {
            assert_ne!(word(table, index), 0);
        }
    }
}

#[test]
fn unknown_tables_are_refused() {
    assert_eq!(get(&[0; 16], &FAKE), None);
}

#[test]
fn unknown_slots_report_their_names() {
    let result = call!(table(CONTEXT), 92, () -> CUresult,);
    assert_eq!(result, CUresult::CUDA_ERROR_NOT_SUPPORTED);
    let named = FAKE.unsupported.lock().unwrap();
    assert!(named.iter().any(|what| what == "export table ToolsContext[92]"), "{named:?}");
}

#[test]
fn contexts_come_from_the_driver() {
    let mut context: CUcontext = core::ptr::null_mut();
    let table_ = table(CUDART);
    let result = call!(table_, 2, (*mut CUcontext, CUdevice) -> CUresult, &mut context, 0);
    assert_eq!((result, context.addr()), (CUresult::CUDA_SUCCESS, PRIMARY));
    let result = call!(table_, 2, (*mut CUcontext, CUdevice) -> CUresult, &mut context, 1);
    assert_eq!(result, CUresult::CUDA_ERROR_INVALID_DEVICE);

    let mut current: CUcontext = core::ptr::null_mut();
    call!(table(TLS), 2, (*mut CUcontext) -> CUresult, &mut current);
    assert_eq!(current.addr(), PRIMARY);

    let mut id = 0u64;
    call!(table(CONTEXT), 4, (CUcontext, *mut u64) -> CUresult, current, &mut id);
    assert_eq!(id, 7);
    let null: CUcontext = core::ptr::null_mut();
    call!(table(CONTEXT), 4, (CUcontext, *mut u64) -> CUresult, null, &mut id);
    assert_eq!(id, 0);
}

#[test]
fn streams_have_the_ids_that_the_driver_gives() {
    let table = table(CONTEXT);
    let null: CUcontext = core::ptr::null_mut();
    // The null stream, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, and a created stream.
    for (stream, expected) in [(0usize, 7), (1, 7), (2, 8), (0x100, 0x106)] {
        let (mut object, mut id) = (0usize, 0u64);
        let result =
            call!(table, 51, (CUcontext, usize, *mut usize) -> CUresult, null, stream, &mut object);
        assert_eq!(result, CUresult::CUDA_SUCCESS);
        let result =
            call!(table, 39, (CUcontext, usize, *mut u64) -> CUresult, null, object, &mut id);
        assert_eq!((result, id), (CUresult::CUDA_SUCCESS, expected));
    }
    let mut id = 0u64;
    let result = call!(table, 39, (CUcontext, usize, *mut u64) -> CUresult, null, 0, &mut id);
    assert_eq!(result, CUresult::CUDA_ERROR_INVALID_VALUE);
}

#[test]
fn storage_uses_the_current_context_by_default() {
    let storage = table(STORAGE);
    let null: CUcontext = core::ptr::null_mut();
    let key: *mut c_void = core::ptr::without_provenance_mut(0x77);
    let mut value: *mut c_void = core::ptr::null_mut();
    type Get = unsafe extern "C" fn(*mut *mut c_void, CUcontext, *mut c_void) -> CUresult;
    // SAFETY: the function in that slot has that type.
    let get: Get = unsafe { core::mem::transmute(word(storage, 2)) };
    // SAFETY: the pointer is valid for the call.
    assert_ne!(unsafe { get(&mut value, null, key) }, CUresult::CUDA_SUCCESS);
    let put = call!(
        storage, 0, (CUcontext, *mut c_void, *mut c_void, usize) -> CUresult,
        null, key, core::ptr::without_provenance_mut(0x99), 0
    );
    assert_eq!(put, CUresult::CUDA_SUCCESS);
    let again = call!(
        storage, 0, (CUcontext, *mut c_void, *mut c_void, usize) -> CUresult,
        null, key, core::ptr::null_mut(), 0
    );
    assert_eq!(again, CUresult::CUDA_ERROR_INVALID_HANDLE);
    // SAFETY: the pointer is valid for the call.
    assert_eq!(unsafe { get(&mut value, null, key) }, CUresult::CUDA_SUCCESS);
    assert_eq!(value.addr(), 0x99);
    let context: CUcontext = core::ptr::without_provenance_mut(PRIMARY);
    assert_eq!(context_storage::get(context, key), Some(value));
    let deleted = call!(storage, 1, (CUcontext, *mut c_void) -> CUresult, context, key);
    assert_eq!(deleted, CUresult::CUDA_SUCCESS);
}

#[test]
fn hooks_return_zeroed_words() {
    for (index, words) in [(2, 1024), (6, 14)] {
        let (mut flags, mut count) = (core::ptr::null_mut::<c_void>(), 0usize);
        call!(table(HOOKS), index, (*mut *mut c_void, *mut usize) -> (), &mut flags, &mut count);
        assert_eq!(count, words);
        // SAFETY: the array has `count` words, and nothing writes to them.
        let flags = unsafe { core::slice::from_raw_parts(flags.cast::<u32>(), count) };
        assert!(flags.iter().all(|&word| word == 0));
    }
}

#[test]
fn only_integrity_answers_that_are_not_constants_depend_on_the_time() {
    let ask = |version: u32, seconds: u64| {
        let mut answer = [0u64; 2];
        let result = call!(
            table(INTEGRITY), 1, (u32, u64, *mut [u64; 2]) -> CUresult,
            version, seconds, &mut answer
        );
        assert_eq!(result, CUresult::CUDA_SUCCESS);
        answer
    };
    assert_eq!(ask(13000, 1), ask(13000, 2));
    assert_ne!(ask(13002, 1), ask(13002, 2));
    assert_eq!(ask(13002, 1), ask(13002, 1));
}

#[test]
fn context_checks_return_zero() {
    let mut bits = 9u32;
    let null = core::ptr::null_mut::<c_void>();
    let result = call!(
        table(CHECKS), 2, (*mut c_void, *mut u32, *mut c_void) -> CUresult,
        null, &mut bits, null
    );
    assert_eq!((result, bits), (CUresult::CUDA_SUCCESS, 0));
    assert_eq!(call!(table(CHECKS), 3, () -> u32,), 0);
}

#[test]
fn every_kernel_of_a_module_is_listed() {
    unsafe extern "C" fn note(seen: *mut c_void, function: CUfunction, name: *const c_char) {
        // SAFETY: the argument is the address of the test's `Vec`, and the driver provides a C
        // string.
        let (seen, name) =
            unsafe { (&mut *seen.cast::<Vec<(usize, String)>>(), core::ffi::CStr::from_ptr(name)) };
        seen.push((function.addr(), name.to_string_lossy().into_owned()));
    }
    type Note = unsafe extern "C" fn(*mut c_void, CUfunction, *const c_char);
    let mut seen: Vec<(usize, String)> = Vec::new();
    let count = call!(
        table(MODULE), 7, (CUcontext, CUmodule, Note, *mut c_void) -> usize,
        core::ptr::null_mut(), core::ptr::without_provenance_mut(0x5), note,
        (&raw mut seen).cast()
    );
    assert_eq!(count, 2);
    assert_eq!(seen, [(0x10, "first".to_owned()), (0x20, "second".to_owned())]);
}

#[test]
fn cublas_gets_its_arrays_and_frees_them() {
    let (mut first, mut second) = (core::ptr::null_mut::<u8>(), core::ptr::null_mut::<u8>());
    let table = table(TPC_TABLES_UUID);
    let result = call!(
        table, 4, (*mut *mut u8, *mut *mut u8) -> CUresult, &mut first, &mut second
    );
    assert_eq!(result, CUresult::CUDA_SUCCESS);
    // SAFETY: the fake driver returns three bytes for each array.
    let arrays =
        unsafe { [core::slice::from_raw_parts(first, 3), core::slice::from_raw_parts(second, 3)] };
    assert_eq!(arrays, [[1, 2, 3], [4, 5, 6]]);
    assert_eq!(call!(table, 13, (*mut u8, *mut u8) -> CUresult, first, second).0, 0);
}

type Key = *mut c_void;

/// Creates a key with the arguments that NVRTC passes for compiling to PTX.
fn create_key(code: &[u8], options: &core::ffi::CStr) -> (CUresult, Key) {
    create_key_of(2, code, options)
}

/// Creates a key with this value of `kind`.
fn create_key_of(kind: u32, code: &[u8], options: &core::ffi::CStr) -> (CUresult, Key) {
    let mut key: Key = core::ptr::null_mut();
    let result = call!(
        table(CACHE), 1,
        (*mut Key, u32, *const u8, usize, *const c_char, *const c_char, *const c_char, u32, u32)
            -> CUresult,
        &mut key, kind, code.as_ptr(), code.len(), options.as_ptr(), c"HOST64".as_ptr(),
        c"build".as_ptr(), 90, 0
    );
    (result, key)
}

/// Looks up a key, copies the entry that is found, and frees it as NVRTC does.
fn look_up(key: Key) -> Result<Vec<u8>, CUresult> {
    let (mut data, mut bytes) = (core::ptr::null_mut::<u8>(), 0u32);
    let result = call!(
        table(CACHE), 3, (Key, usize, *mut *mut u8, *mut u32) -> CUresult,
        key, 0, &mut data, &mut bytes
    );
    if result != CUresult::CUDA_SUCCESS {
        return Err(result);
    }
    // SAFETY: the function has returned this many bytes.
    let found = unsafe { core::slice::from_raw_parts(data, bytes as usize) }.to_vec();
    assert_eq!(call!(table(CACHE), 6, (*mut u8) -> CUresult, data), CUresult::CUDA_SUCCESS);
    Ok(found)
}

fn add(key: Key, data: &[u8]) -> CUresult {
    call!(
        table(CACHE), 4, (Key, usize, *const u8, usize) -> CUresult,
        key, 0, data.as_ptr(), data.len()
    )
}

fn destroy_key(key: Key) -> CUresult {
    call!(table(CACHE), 2, (Key) -> CUresult, key)
}

/// Runs a step of a test in another process, with its own environment.
fn run_step(test: &str, step: &str, variables: &[(&str, &std::ffi::OsStr)]) {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("export_tables::tests::{test}")]);
    command.env_remove("CUDA_CACHE_DISABLE").env("TEST_STEP", step).envs(variables.iter().copied());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{step}: {}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn compilers_find_what_they_compiled_before() {
    let run_step = |step: &str, variables: &[_]| {
        run_step("compilers_find_what_they_compiled_before", step, variables);
    };
    const NOT_FOUND: Result<Vec<u8>, CUresult> = Err(CUresult::CUDA_ERROR_NOT_FOUND);
    match std::env::var("TEST_STEP").as_deref() {
        Ok("compile") => {
            let (result, key) = create_key(b"code", c"-arch=sm_90");
            assert_eq!((result, look_up(key)), (CUresult::CUDA_SUCCESS, NOT_FOUND));
            assert_eq!(add(key, b"compiled"), CUresult::CUDA_SUCCESS);
            assert_eq!(look_up(key).unwrap(), b"compiled");
            assert_eq!(destroy_key(key), CUresult::CUDA_SUCCESS);
            assert_eq!(destroy_key(key), CUresult::CUDA_ERROR_INVALID_VALUE);
            assert_eq!(look_up(key), Err(CUresult::CUDA_ERROR_INVALID_VALUE));
            assert_eq!(add(key, b"compiled"), CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        Ok("compile again") => {
            assert_eq!(look_up(create_key(b"code", c"-arch=sm_90").1).unwrap(), b"compiled");
            assert_eq!(look_up(create_key(b"code", c"-arch=sm_90a").1), NOT_FOUND);
            assert_eq!(look_up(create_key(b"cod", c"e-arch=sm_90").1), NOT_FOUND);
        }
        Ok("compile without a cache") => {
            assert_eq!(create_key(b"code", c"").0, CUresult::CUDA_ERROR_NOT_INITIALIZED);
        }
        _ => {
            let directory = tempfile::tempdir().unwrap();
            let path_variable = ("CUDA_CACHE_PATH", directory.path().as_os_str());
            run_step("compile", &[path_variable]);
            run_step("compile again", &[path_variable]);
            run_step(
                "compile without a cache",
                &[path_variable, ("CUDA_CACHE_DISABLE", "1".as_ref())],
            );
        }
    }
}

/// The compute capability in the tests' keys.
const TARGET: u32 = 90;
const PTX: &[u8] = b".version 9.5\n.target sm_90\n";

#[test]
fn devices_that_execute_ptx_get_it_from_all_compilers() {
    use crate::ptx_image::{Linking, wrap};
    const NOT_FOUND: Result<Vec<u8>, CUresult> = Err(CUresult::CUDA_ERROR_NOT_FOUND);
    let known = |linking| wrap(b".version 9.0\n.target sm_90\n", TARGET, linking);
    match std::env::var("TEST_STEP").as_deref() {
        Ok(step @ ("without a GPU" | "with a GPU")) => {
            let executes_ptx = step == "without a GPU";
            let expected = |image| if executes_ptx { Ok(image) } else { NOT_FOUND };
            // nvJitLink's requests: a complete program, and an input of another link.
            for (options, linking) in
                [(c" -arch=sm_90", Linking::Complete), (c" -g -c -arch=sm_90", Linking::Input)]
            {
                let key = create_key_of(1, PTX, options).1;
                assert_eq!(look_up(key), expected(known(linking)));
            }
            // NVRTC's requests. The first process compiles the code. Another process, with
            // TEST_AGAIN, must find the first step's PTX in the directory.
            let to_ptx = create_key_of(2, b"BC code", c" -arch=compute_90").1;
            let first = look_up(to_ptx);
            assert_eq!(first.is_ok(), std::env::var_os("TEST_AGAIN").is_some());
            if first.is_err() {
                assert_eq!(add(to_ptx, PTX), CUresult::CUDA_SUCCESS);
            }
            let to_cubin = create_key_of(1, b"BC code", c" -arch=sm_90").1;
            let found = look_up(to_cubin);
            if executes_ptx {
                assert_eq!(found, Ok(known(Linking::Complete)));
            } else if first.is_err() {
                assert_eq!(found, NOT_FOUND);
                assert_eq!(add(to_cubin, b"machine code"), CUresult::CUDA_SUCCESS);
            } else {
                assert_eq!(found.unwrap(), b"machine code");
            }
        }
        Ok("without a GPU and a cache") => {
            let key = create_key_of(1, PTX, c"").1;
            assert_eq!(look_up(key), Ok(known(Linking::Complete)));
            let to_ptx = create_key_of(2, b"BC code", c"").1;
            assert_eq!(look_up(to_ptx), NOT_FOUND);
            assert_eq!(add(to_ptx, PTX), CUresult::CUDA_SUCCESS);
            assert_eq!(look_up(to_ptx), NOT_FOUND);
            assert!(look_up(create_key_of(1, b"BC code", c"").1).is_ok());
        }
        _ => {
            let directory = tempfile::tempdir().unwrap();
            let path = ("CUDA_CACHE_PATH", directory.path().as_os_str());
            let (ptx, again) = (("TEST_PTX", "1".as_ref()), ("TEST_AGAIN", "1".as_ref()));
            let run = |step: &str, variables: &[_]| {
                run_step("devices_that_execute_ptx_get_it_from_all_compilers", step, variables);
            };
            // Devices that execute PTX and GPUs share a directory. An entry for one kind of device
            // must not be returned for the other.
            run("with a GPU", &[path]);
            run("without a GPU", &[path, ptx]);
            run("without a GPU", &[path, ptx, again]);
            run("with a GPU", &[path, again]);
            let disabled = ("CUDA_CACHE_DISABLE", "1".as_ref());
            run("without a GPU and a cache", &[path, ptx, disabled]);
        }
    }
}
