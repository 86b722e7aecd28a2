//! Made from `protocol/api.table` by `cargo xtask codegen`; not to be edited.

use super::stream::stream_id;
use crate::capture;
use crate::context;
use crate::driver;
use crate::error::CuError;
use crate::handles::Handle;
use cuda_api::args::In;
use cuda_api::args::Out;
use protocol::calls::{
    CuCtxGetCacheConfig, CuCtxGetLimit, CuCtxGetSharedMemConfig, CuCtxGetStreamPriorityRange,
    CuCtxResetPersistingL2Cache, CuCtxSetCacheConfig, CuCtxSetLimit, CuCtxSetSharedMemConfig,
    CuDeviceGetLuid, CuDeviceGetTexture1DLinearMaxWidth, CuProfilerStart, CuProfilerStop,
    CuStreamGetAttribute, CuStreamSetAttribute,
};

entries! {
    fn cuDeviceGetLuid(luid: Out<[u8; 8]>, device_node_mask: Out<u32>, dev: i32) {
        let driver = driver::driver()?;
        luid.check()?;
        device_node_mask.check()?;
        driver.device(dev)?;
        let answer = driver.session.call(&CuDeviceGetLuid { dev })?;
        luid.set(answer.luid)?;
        device_node_mask.set(answer.device_node_mask)?;
        Ok(())
    }

    fn cuDeviceGetTexture1DLinearMaxWidth(max_width_in_elements: Out<usize>, format: u32, num_channels: u32, dev: i32) {
        let driver = driver::driver()?;
        max_width_in_elements.check()?;
        driver.device(dev)?;
        let answer = driver.session.call(&CuDeviceGetTexture1DLinearMaxWidth { format, num_channels, dev })?;
        max_width_in_elements.set(answer.max_width_in_elements)?;
        Ok(())
    }

    fn cuCtxGetLimit(pvalue: Out<usize>, limit: u32) {
        let driver = context::driver()?;
        let answer = driver.session.call(&CuCtxGetLimit { limit })?;
        pvalue.set_if_wanted(answer.pvalue);
        Ok(())
    }

    fn cuCtxSetLimit(limit: u32, value: usize) {
        let driver = context::driver()?;
        driver.session.call(&CuCtxSetLimit { limit, value })
    }

    fn cuCtxGetStreamPriorityRange(least_priority: Out<i32>, greatest_priority: Out<i32>) {
        let driver = context::driver()?;
        let answer = driver.session.call(&CuCtxGetStreamPriorityRange {})?;
        least_priority.set_if_wanted(answer.least_priority);
        greatest_priority.set_if_wanted(answer.greatest_priority);
        Ok(())
    }

    fn cuCtxGetCacheConfig(pconfig: Out<u32>) {
        let driver = context::driver()?;
        let answer = driver.session.call(&CuCtxGetCacheConfig {})?;
        pconfig.set_if_wanted(answer.pconfig);
        Ok(())
    }

    fn cuCtxSetCacheConfig(config: u32) {
        let driver = context::driver()?;
        driver.session.call(&CuCtxSetCacheConfig { config })
    }

    fn cuCtxGetSharedMemConfig(p_config: Out<u32>) {
        let driver = context::driver()?;
        let answer = driver.session.call(&CuCtxGetSharedMemConfig {})?;
        p_config.set_if_wanted(answer.p_config);
        Ok(())
    }

    fn cuCtxSetSharedMemConfig(config: u32) {
        let driver = context::driver()?;
        driver.session.call(&CuCtxSetSharedMemConfig { config })
    }

    fn cuCtxResetPersistingL2Cache() {
        let driver = context::driver()?;
        driver.session.call(&CuCtxResetPersistingL2Cache {})
    }

    fn cuProfilerStart() {
        let driver = context::driver()?;
        driver.session.call(&CuProfilerStart {})
    }

    fn cuProfilerStop() {
        let driver = context::driver()?;
        driver.session.call(&CuProfilerStop {})
    }

    fn cuStreamGetAttribute, fn cuStreamGetAttribute_ptsz(h_stream: Handle, attr: u32, value: Out<[u64; 8]>) |null| {
        let driver = context::driver()?;
        let h_stream = stream_id(driver, h_stream, null)?;
        if !protocol::options::STREAM_ATTRIBUTES.contains(&attr) {
            return Err(CuError::NOT_SUPPORTED);
        }
        value.check()?;
        let answer = driver.session.call(&CuStreamGetAttribute { h_stream, attr })?;
        value.set(answer.value)?;
        Ok(())
    }

    fn cuStreamSetAttribute, fn cuStreamSetAttribute_ptsz(h_stream: Handle, attr: u32, param: In<[u64; 8]>) |null| {
        let driver = context::driver()?;
        capture::unsupported_on(driver, h_stream, null, "cuStreamSetAttribute")?;
        let h_stream = stream_id(driver, h_stream, null)?;
        if !protocol::options::STREAM_ATTRIBUTES.contains(&attr) {
            return Err(CuError::NOT_SUPPORTED);
        }
        let param = param.get()?;
        driver.session.call(&CuStreamSetAttribute { h_stream, attr, param })
    }
}
