//! Calls that return properties of the driver and of devices.

use cuda_api::sys::CUdevice;
use protocol::calls as api;

use crate::calls::commands::cx::Cx;
use crate::calls::properties::Properties;
use crate::driver::CuResult;

pub(in crate::calls) fn vcuda_nop(_: &Cx<'_>, _: api::VcudaNop) -> CuResult {
    Ok(())
}

pub(in crate::calls) fn vcuda_ping(_: &Cx<'_>, _: api::VcudaPing) -> CuResult {
    Ok(())
}

pub(in crate::calls) fn vcuda_facts(
    cx: &Cx<'_>,
    _: api::VcudaFacts,
) -> CuResult<api::VcudaFactsAnswer> {
    let Properties { driver_version, devices } = &cx.shared.properties;
    let mut devices = devices.clone();
    for (device, facts) in devices.iter_mut().enumerate() {
        let max = cx.shared.session.ledger.usage(device as CUdevice).max;
        facts.total_memory = facts.total_memory.min(max);
    }
    Ok(api::VcudaFactsAnswer { driver_version: *driver_version, devices })
}
