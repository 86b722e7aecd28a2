//! The layout of a kernel's parameters.

use std::sync::Arc;

use cuda_api::sys::{CUfunction, CUkernel};
use protocol::limits::{PARAMETER_BYTES_MAX, PARAMETERS_MAX};
use protocol::structs::ParameterPlace;

use crate::calls::commands::cx::Cx;
use crate::calls::tables::handles::Layout;
use crate::driver::{CuError, CuResult};

/// Determines a kernel's parameter layout by querying one parameter after another, until the driver
/// returns an error because there are no more.
fn layout(ask: impl Fn(usize, &mut usize, &mut usize) -> CuResult) -> CuResult<Layout> {
    let mut parameters = Vec::new();
    while parameters.len() < PARAMETERS_MAX {
        let (mut offset, mut size) = (0, 0);
        match ask(parameters.len(), &mut offset, &mut size) {
            Ok(()) if offset.saturating_add(size) <= PARAMETER_BYTES_MAX => {
                parameters.push((offset as u32, size as u32));
            }
            Ok(()) => return Err(CuError::INVALID_IMAGE),
            Err(CuError::INVALID_VALUE) => return Ok(Some(Arc::from(parameters))),
            Err(CuError::NOT_SUPPORTED) if parameters.is_empty() => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Err(CuError::INVALID_IMAGE)
}

/// Converts a parameter layout to the form that replies to the guest contain.
pub(in crate::calls) fn places(layout: &Layout) -> Vec<ParameterPlace> {
    let parameters = layout.as_deref().unwrap_or_default().iter();
    let place = |(offset, size): &(u32, u32)| ParameterPlace {
        offset: (*offset).into(),
        size: (*size).into(),
    };
    parameters.map(place).collect()
}

pub(in crate::calls) fn function_layout(cx: &Cx<'_>, function: CUfunction) -> CuResult<Layout> {
    // SAFETY: the function is live, because the calling function has looked it up. The pointers are
    // to local variables.
    layout(|index, offset, size| unsafe {
        cx.driver().cuFuncGetParamInfo(function, index, offset, size)
    })
}

pub(in crate::calls) fn kernel_layout(cx: &Cx<'_>, kernel: CUkernel) -> CuResult<Layout> {
    // SAFETY: the kernel is live, because the calling function has looked it up. The pointers are
    // to local variables.
    layout(|index, offset, size| unsafe {
        cx.driver().cuKernelGetParamInfo(kernel, index, offset, size)
    })
}
