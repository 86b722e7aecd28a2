//! The calls that load or link an image.

use super::damage::Image;
use crate::cuda::{CallError, Called, Cuda, Outcome, cu};
use crate::file::File;
use cuda_api::sys::{CUjitInputType, CUkernel, CUlibrary, CUlinkState, CUmodule};
use std::ffi::c_void;
use std::ptr::null_mut;

/// The function for a column of the table, which makes one or two calls with an image. The inner
/// result is that of the calls. The outer result is an error if the test itself can't continue.
type Call = fn(&Cuda, &Image) -> Outcome<Called>;

/// The name of the kernel in all images.
const KERNEL: &std::ffi::CStr = c"twice";

pub const CALLS: &[(&str, Call)] = &[
    ("load-data", |cuda, image| Ok(load_data(cuda, image).map(drop))),
    ("load-data function", |cuda, image| {
        Ok(load_data(cuda, image).and_then(|module| function(cuda, module)))
    }),
    ("load-data-ex", |cuda, image| {
        let (mut module, none) = (null_mut(), null_mut());
        Ok(cu!(cuda, cuModuleLoadDataEx(&mut module, data(image), 0, null_mut(), none)))
    }),
    ("load-fat-binary", |cuda, image| {
        Ok(cu!(cuda, cuModuleLoadFatBinary(&mut null_mut(), data(image))))
    }),
    ("load-file", |cuda, image| {
        let path = file(image)?;
        let name = path.name();
        Ok(cu!(cuda, cuModuleLoad(&mut null_mut(), name.as_ptr())))
    }),
    ("library", |cuda, image| Ok(library(cuda, image).map(drop))),
    ("library kernel", |cuda, image| {
        Ok(library(cuda, image).and_then(|library| kernel(cuda, library).map(drop)))
    }),
    ("library function", |cuda, image| {
        Ok(library(cuda, image).and_then(|library| {
            let kernel = kernel(cuda, library)?;
            cu!(cuda, cuKernelGetFunction(&mut null_mut(), kernel))
        }))
    }),
    ("library-file", |cuda, image| {
        let path = file(image)?;
        let (name, mut library) = (path.name(), null_mut());
        let (path, none, nones) = (name.as_ptr(), null_mut(), null_mut());
        let (options, values) = (null_mut(), null_mut());
        Ok(cu!(cuda, cuLibraryLoadFromFile(&mut library, path, none, nones, 0, options, values, 0)))
    }),
    ("link", |cuda, image| linked(cuda, |link| add(cuda, link, image))),
    ("link complete", |cuda, image| {
        linked(cuda, |link| {
            add(cuda, link, image)?;
            cu!(cuda, cuLinkComplete(link, &mut null_mut(), &mut 0))
        })
    }),
    ("link-file", |cuda, image| {
        let path = file(image)?;
        let (name, kind, none) = (path.name(), image.input, null_mut());
        let path = name.as_ptr();
        linked(cuda, |link| cu!(cuda, cuLinkAddFile_v2(link, kind, path, 0, null_mut(), none)))
    }),
];

/// Number of zero bytes after an image in memory. A call that reads beyond the end of a truncated
/// image gets these bytes.
const ZEROS: usize = 1 << 16;

/// Returns the address of a copy of the image, which is followed by zeros.
fn data(image: &Image) -> *const c_void {
    let mut bytes = image.bytes.clone();
    bytes.resize(bytes.len() + ZEROS, 0);
    Box::leak(bytes.into_boxed_slice()).as_ptr().cast()
}

fn file(image: &Image) -> Outcome<File> {
    // A PTX text in memory ends with a null byte, but a file with the text doesn't.
    let bytes = match image.input {
        CUjitInputType::CU_JIT_INPUT_PTX => image.bytes.strip_suffix(&[0]),
        _ => None,
    };
    File::new("image", bytes.unwrap_or(&image.bytes))
}

fn load_data(cuda: &Cuda, image: &Image) -> Result<CUmodule, CallError> {
    let mut module = null_mut();
    cu!(cuda, cuModuleLoadData(&mut module, data(image))).map(|()| module)
}

fn function(cuda: &Cuda, module: CUmodule) -> Called {
    cu!(cuda, cuModuleGetFunction(&mut null_mut(), module, KERNEL.as_ptr()))
}

fn library(cuda: &Cuda, image: &Image) -> Result<CUlibrary, CallError> {
    let (mut library, none, values) = (null_mut(), null_mut(), null_mut());
    let (options, option_values, data) = (null_mut(), null_mut(), data(image));
    cu!(cuda, cuLibraryLoadData(&mut library, data, none, values, 0, options, option_values, 0))
        .map(|()| library)
}

fn kernel(cuda: &Cuda, library: CUlibrary) -> Result<CUkernel, CallError> {
    let mut kernel = null_mut();
    cu!(cuda, cuLibraryGetKernel(&mut kernel, library, KERNEL.as_ptr())).map(|()| kernel)
}

/// Creates a link, passes it to `calls`, and destroys it. Returns the result of `calls`.
fn linked(cuda: &Cuda, calls: impl FnOnce(CUlinkState) -> Called) -> Outcome<Called> {
    let mut link = null_mut();
    cu!(cuda, cuLinkCreate_v2(0, null_mut(), null_mut(), &mut link))?;
    let called = calls(link);
    cu!(cuda, cuLinkDestroy(link))?;
    Ok(called)
}

/// Adds an image to a link as an input.
fn add(cuda: &Cuda, link: CUlinkState, image: &Image) -> Called {
    let (data, name, none) = (data(image).cast_mut(), c"input".as_ptr(), null_mut());
    let (kind, length) = (image.input, image.bytes.len());
    cu!(cuda, cuLinkAddData_v2(link, kind, data, length, name, 0, null_mut(), none))
}
