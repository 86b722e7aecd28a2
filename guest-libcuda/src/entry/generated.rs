//! Made from `protocol/api.table` by `cargo xtask codegen`; not to be edited.

use crate::context;
use cuda_api::args::Out;
use protocol::calls::{
    CuCtxGetCacheConfig, CuCtxGetLimit, CuCtxGetSharedMemConfig, CuCtxGetStreamPriorityRange,
    CuCtxResetPersistingL2Cache, CuCtxSetCacheConfig, CuCtxSetLimit, CuCtxSetSharedMemConfig,
};

entries! {
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
}
