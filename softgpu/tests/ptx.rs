//! Runs the kernels in `tests/ptx` through the driver API and compares what they write.
//!
//! Comments in each file say how to launch it and what it must write:
//!
//! ```text
//! // launch: 2 x 64          blocks and threads per block; `shared 128` may follow
//! // in: 1 2 3 0..5 7*4      32-bit words that the second parameter points to
//! // out: 10*32              words that the first parameter points to afterwards
//! // error: ILLEGAL_ADDRESS  the expected error of the kernel
//! // launched: INVALID_PTX   the expected error of the launch
//! // load: INVALID_PTX       the expected error of loading
//! // log: words              text that the error log must contain
//! ```

use std::ffi::{CString, c_uint, c_void};
use std::path::Path;

use common::*;

mod common;

/// Parses a list of numbers, ranges (`0..5`) and repetitions (`7*4`).
fn words(text: &str) -> Vec<u32> {
    let number = |t: &str| -> u32 {
        let parsed = match t.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).map(i64::from),
            None => t.parse::<i64>(),
        };
        parsed.unwrap_or_else(|e| panic!("'{t}': {e}")) as u32
    };
    let mut all = Vec::new();
    for item in text.split_whitespace() {
        if let Some((from, to)) = item.split_once("..") {
            all.extend(number(from)..number(to));
        } else if let Some((value, times)) = item.split_once('*') {
            all.extend(std::iter::repeat_n(number(value), number(times) as usize));
        } else {
            all.push(number(item));
        }
    }
    all
}

/// Returns the text after a key in the comments of a file. If several comments have the key, joins
/// their texts with spaces. Returns `None` if no comment has it.
fn field(text: &str, key: &str) -> Option<String> {
    let prefix = format!("// {key}:");
    let lines: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix(&prefix)).collect();
    (!lines.is_empty()).then(|| lines.join(" ").trim().to_owned())
}

fn code(name: &str) -> c_uint {
    match name {
        "INVALID_VALUE" => 1,
        "INVALID_IMAGE" => 200,
        "NO_BINARY_FOR_GPU" => 209,
        "INVALID_PTX" => 218,
        "UNSUPPORTED_PTX_VERSION" => 222,
        "ILLEGAL_ADDRESS" => 700,
        "ASSERT" => 710,
        "ILLEGAL_INSTRUCTION" => 715,
        "MISALIGNED_ADDRESS" => 716,
        "LAUNCH_FAILED" => 719,
        other => panic!("unknown error {other}"),
    }
}

fn check(name: &str, what: &str, result: c_uint) {
    assert_eq!(result, 0, "{name}: {what}");
}

fn run(name: &str, text: &str) {
    let launch = field(text, "launch").unwrap_or_else(|| "1 x 32".into());
    let numbers: Vec<u32> =
        launch.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
    let (blocks, threads) = (numbers[0], numbers[1]);
    let shared = numbers.get(2).copied().unwrap_or(0);
    let input = words(&field(text, "in").unwrap_or_else(|| "0".into()));
    let expected = words(&field(text, "out").unwrap_or_default());
    let source = CString::new(text).unwrap();
    // SAFETY: the arguments are valid for the driver API.
    unsafe {
        let (mut context, mut module, mut function) = (0, 0, 0);
        check(name, "cuInit", cuInit(0));
        check(name, "cuCtxCreate", cuCtxCreate_v2(&mut context, 0, 0));
        let mut log = [0u8; 1024];
        let options = [5, 6];
        let mut values = [log.as_mut_ptr().cast(), log.len() as *mut c_void];
        let loaded = cuModuleLoadDataEx(
            &mut module,
            source.as_ptr().cast(),
            2,
            options.as_ptr(),
            values.as_mut_ptr(),
        );
        let words = String::from_utf8_lossy(&log[..values[1] as usize]).into_owned();
        if let Some(error) = field(text, "load") {
            assert_eq!(loaded, code(&error), "{name}: loading: {words}");
            let wanted = field(text, "log").unwrap_or_default();
            assert!(words.contains(&wanted), "{name}: the log says '{words}', not '{wanted}'");
            check(name, "cuCtxDestroy", cuCtxDestroy_v2(context));
            return;
        }
        assert_eq!(loaded, 0, "{name}: loading: {words}");
        check(name, "kernel", cuModuleGetFunction(&mut function, module, c"test".as_ptr()));
        let (mut to, mut from) = (0u64, 0u64);
        check(name, "cuMemAlloc", cuMemAlloc_v2(&mut to, (expected.len() * 4).max(4)));
        check(name, "cuMemAlloc", cuMemAlloc_v2(&mut from, input.len() * 4));
        check(name, "copy", cuMemcpyHtoD_v2(from, input.as_ptr().cast(), input.len() * 4));
        let params = [(&raw const to).cast::<c_void>(), (&raw const from).cast()];
        let launched = cuLaunchKernel(
            function,
            blocks,
            1,
            1,
            threads,
            1,
            1,
            shared,
            0,
            params.as_ptr(),
            std::ptr::null(),
        );
        if let Some(error) = field(text, "launched") {
            assert_eq!(launched, code(&error), "{name}: cuLaunchKernel");
            check(name, "cuCtxDestroy", cuCtxDestroy_v2(context));
            return;
        }
        check(name, "cuLaunchKernel", launched);
        let ended = cuCtxSynchronize();
        match field(text, "error") {
            Some(error) => {
                assert_eq!(ended, code(&error), "{name}");
                // The error of a context is sticky, so this call also returns it.
                assert_eq!(cuMemAlloc_v2(&mut to, 4), code(&error), "{name}");
            }
            None => {
                assert_eq!(ended, 0, "{name}");
                let mut found = vec![0u32; expected.len()];
                check(
                    name,
                    "copy",
                    cuMemcpyDtoH_v2(found.as_mut_ptr().cast(), to, found.len() * 4),
                );
                for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    assert_eq!(
                        found, expected,
                        "{name}: word {i} is {found:#x}, not {expected:#x}"
                    );
                }
            }
        }
        check(name, "cuCtxDestroy", cuCtxDestroy_v2(context));
    }
}

#[test]
fn test_kernels_write_what_their_comments_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "ptx"));
    files.sort();
    assert!(files.len() > 20, "only {} files", files.len());
    for path in files {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        println!("{name}");
        run(&name, &std::fs::read_to_string(&path).unwrap());
    }
}
