//! The attributes of GPU core dumps.

use super::cases;
use crate::cuda::{cu, refused, same};
use cuda_api::sys::CUcoredumpSettings as Attribute;
use std::ptr::null_mut;

cases! {
    fn attributes_are_kept_for_the_process_and_for_a_context(cuda, primary) {
        let enable = Attribute::CU_COREDUMP_ENABLE_ON_EXCEPTION;
        let (mut value, mut size) = (7u8, 1);
        let byte = (&raw mut value).cast();
        cu!(cuda, cuCoredumpGetAttribute(enable, byte, &mut size))?;
        same!(value, 0);
        let file = Attribute::CU_COREDUMP_FILE;
        let mut name = *b"/tmp/x.core\0";
        size = name.len();
        cu!(cuda, cuCoredumpSetAttributeGlobal(file, name.as_mut_ptr().cast(), &mut size))?;
        let mut other = *b"/tmp/y.core\0";
        cu!(cuda, cuCoredumpSetAttribute(file, other.as_mut_ptr().cast(), &mut size))?;
        let mut text = [1u8; 1024];
        size = 1024;
        cu!(cuda, cuCoredumpGetAttribute(file, text.as_mut_ptr().cast(), &mut size))?;
        same!(text[..12], other);
        size = 1024;
        cu!(cuda, cuCoredumpGetAttributeGlobal(file, text.as_mut_ptr().cast(), &mut size))?;
        same!(text[..12], name);
        size = 0;
        cu!(cuda, cuCoredumpGetAttribute(file, null_mut(), &mut size))?;
        same!(size, 1024);
    }

    fn sizes_must_match(cuda, primary) {
        let (mut value, mut size) = ([0u8; 1024], 1024);
        let to = value.as_mut_ptr().cast();
        for attribute in [1, 2, 3, 4, 7, 8].map(Attribute) {
            refused!(cu!(cuda, cuCoredumpGetAttribute(attribute, to, &mut size)), INVALID_VALUE);
            refused!(cu!(cuda, cuCoredumpGetAttributeGlobal(attribute, to, &mut size)), INVALID_VALUE);
        }
        // The pipe's name is an attribute of the process, not of a context.
        let pipe = Attribute::CU_COREDUMP_PIPE;
        refused!(cu!(cuda, cuCoredumpGetAttribute(pipe, to, &mut size)), INVALID_VALUE);
        cu!(cuda, cuCoredumpGetAttributeGlobal(pipe, to, &mut size))?;
        size = 8;
        let enable = Attribute::CU_COREDUMP_ENABLE_ON_EXCEPTION;
        refused!(cu!(cuda, cuCoredumpSetAttribute(enable, to, &mut size)), INVALID_VALUE);
        refused!(cu!(cuda, cuCoredumpSetAttributeGlobal(enable, to, &mut size)), INVALID_VALUE);
        size = 1;
        value[0] = 1;
        cu!(cuda, cuCoredumpSetAttributeGlobal(enable, value.as_mut_ptr().cast(), &mut size))?;
        value[0] = 0;
        cu!(cuda, cuCoredumpGetAttributeGlobal(enable, value.as_mut_ptr().cast(), &mut size))?;
        same!(value[0], 1);
    }
}
