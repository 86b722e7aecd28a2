//! Stream attributes that a program can set. They don't affect how softgpu executes work.

use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::{
    CUlaunchAttributeID as A, CUlaunchMemSyncDomain, CUlaunchMemSyncDomainMap, CUstreamAttrValue,
    CUsynchronizationPolicy,
};

/// The number of memory synchronization domains, as on compute capability 9.0.
const DOMAINS: u8 = 4;

/// The attributes of a stream.
#[derive(Clone, Copy)]
pub(crate) struct Attributes {
    policy: CUsynchronizationPolicy,
    domain: CUlaunchMemSyncDomain,
    domain_map: CUlaunchMemSyncDomainMap,
}

impl Default for Attributes {
    fn default() -> Self {
        Self {
            policy: CUsynchronizationPolicy::CU_SYNC_POLICY_AUTO,
            domain: CUlaunchMemSyncDomain::CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT,
            domain_map: CUlaunchMemSyncDomainMap { default_: 0, remote: 1 },
        }
    }
}

impl Attributes {
    /// Returns the value of an attribute, with unused bytes set to 0.
    pub(crate) fn get(&self, attribute: A) -> CuResult<CUstreamAttrValue> {
        let mut value = CUstreamAttrValue { pad: [0; 64] };
        match attribute {
            A::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY => value.syncPolicy = self.policy,
            A::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => value.memSyncDomain = self.domain,
            A::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP => value.memSyncDomainMap = self.domain_map,
            _ => return Err(CuError::NOT_SUPPORTED),
        }
        Ok(value)
    }

    /// Sets an attribute.
    pub(crate) fn set(&mut self, attribute: A, value: CUstreamAttrValue) -> CuResult {
        // SAFETY: these union members consist of integers, so every bit pattern is valid.
        let (policy, domain, map) =
            unsafe { (value.syncPolicy, value.memSyncDomain, value.memSyncDomainMap) };
        let valid = match attribute {
            A::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY => (1..=4).contains(&policy.0),
            A::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => domain.0 <= 1,
            A::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP => map.default_.max(map.remote) < DOMAINS,
            _ => return Err(CuError::NOT_SUPPORTED),
        };
        if !valid {
            return Err(CuError::INVALID_VALUE);
        }
        match attribute {
            A::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY => self.policy = policy,
            A::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => self.domain = domain,
            _ => self.domain_map = map,
        }
        Ok(())
    }
}
