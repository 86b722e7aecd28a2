//! Attributes of streams, kernel nodes, and launches.

use crate::error::{CuError, CuResult};
use crate::sys::{CUaccessProperty, CUlaunchAttributeID as A, CUsynchronizationPolicy};
use std::collections::BTreeMap;

const WINDOW: u32 = A::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW.0;
const COOPERATIVE: u32 = A::CU_LAUNCH_ATTRIBUTE_COOPERATIVE.0;
const POLICY: u32 = A::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY.0;
const PRIORITY: u32 = A::CU_LAUNCH_ATTRIBUTE_PRIORITY.0;
const DOMAIN_MAP: u32 = A::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP.0;
const DOMAIN: u32 = A::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN.0;
const CLUSTER: u32 = A::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION.0;
const PREFERRED_CLUSTER: u32 = A::CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION.0;
const UPDATABLE_NODE: u32 = A::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE.0;

/// The attributes that a stream can have.
pub const OF_STREAMS: &[u32] = &[WINDOW, POLICY, PRIORITY, DOMAIN_MAP, DOMAIN];
/// The attributes that a kernel node can have.
pub const OF_NODES: &[u32] = &[
    WINDOW,
    COOPERATIVE,
    CLUSTER,
    A::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE.0,
    PRIORITY,
    DOMAIN_MAP,
    DOMAIN,
    PREFERRED_CLUSTER,
    A::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT.0,
    A::CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING.0,
];
/// The kernel node attributes that aren't supported.
const UNSUPPORTED: &[u32] = &[UPDATABLE_NODE];

/// The value of an attribute: a `CUlaunchAttributeValue` as little-endian words.
pub type Value = [u64; 8];

/// Returns the members of an access policy window: the address, the length, the hit ratio, and the
/// properties of hits and misses.
pub fn window(value: &Value) -> (u64, u64, f32, u32, u32) {
    let [address, len, ratio_and_hit, miss, ..] = *value;
    let ratio = f32::from_bits(ratio_and_hit as u32);
    (address, len, ratio, (ratio_and_hit >> 32) as u32, miss as u32)
}

/// Fails if an attribute can't have this value on any device.
pub fn check(which: u32, value: &Value) -> CuResult {
    const PERSISTING: u32 = CUaccessProperty::CU_ACCESS_PROPERTY_PERSISTING.0;
    const POLICIES: std::ops::RangeInclusive<u32> = CUsynchronizationPolicy::CU_SYNC_POLICY_AUTO.0
        ..=CUsynchronizationPolicy::CU_SYNC_POLICY_BLOCKING_SYNC.0;
    let number = value[0] as u32;
    let valid = match which {
        WINDOW => {
            let (_, _, ratio, hit, miss) = window(value);
            (0.0..=1.0).contains(&ratio) && hit <= PERSISTING && miss < PERSISTING
        }
        POLICY => POLICIES.contains(&number),
        DOMAIN => number <= 1,
        _ => true,
    };
    if valid { Ok(()) } else { Err(CuError::INVALID_VALUE) }
}

/// Returns the value of an attribute that hasn't been set.
fn default_of(which: u32) -> Value {
    let word = match which {
        POLICY => CUsynchronizationPolicy::CU_SYNC_POLICY_AUTO.0.into(),
        // Each byte is the domain that a logical domain maps to. By default, the default domain
        // (byte 0) maps to 0, and the remote domain (byte 1) to 1.
        DOMAIN_MAP => 1 << 8,
        _ => 0,
    };
    [word, 0, 0, 0, 0, 0, 0, 0]
}

/// Returns a value in which the bytes that the attribute doesn't use are 0.
fn trimmed(which: u32, value: Value) -> Value {
    let [a, b, c, d, ..] = value;
    match which {
        WINDOW => [a, b, c, d & 0xffff_ffff, 0, 0, 0, 0],
        DOMAIN_MAP => [a & 0xffff, 0, 0, 0, 0, 0, 0, 0],
        // The dimensions of a cluster are three 32-bit numbers.
        CLUSTER | PREFERRED_CLUSTER => [a, b & 0xffff_ffff, 0, 0, 0, 0, 0, 0],
        _ => [a & 0xffff_ffff, 0, 0, 0, 0, 0, 0, 0],
    }
}

/// Attributes that have been set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes(BTreeMap<u32, Value>);

impl Attributes {
    /// Returns the value of an attribute.
    pub fn get(&self, which: u32) -> Value {
        self.0.get(&which).copied().unwrap_or_else(|| default_of(which))
    }

    /// Sets an attribute without checking it.
    pub fn insert(&mut self, which: u32, value: Value) {
        self.0.insert(which, trimmed(which, value));
    }

    /// Returns an attribute of a stream.
    pub fn of_stream(&self, which: u32) -> CuResult<Value> {
        match OF_STREAMS.contains(&which) {
            true => Ok(self.get(which)),
            false => Err(CuError::INVALID_VALUE),
        }
    }

    /// Sets an attribute of a stream.
    pub fn set_of_stream(&mut self, which: u32, value: Value) -> CuResult {
        self.of_stream(which)?;
        check(which, &value)?;
        self.insert(which, value);
        Ok(())
    }

    /// Returns an attribute of a kernel node.
    pub fn of_node(&self, which: u32) -> CuResult<Value> {
        match which {
            which if OF_NODES.contains(&which) => Ok(self.get(which)),
            which if UNSUPPORTED.contains(&which) => Err(CuError::NOT_SUPPORTED),
            _ => Err(CuError::INVALID_VALUE),
        }
    }

    /// Sets an attribute of a kernel node.
    pub fn set_of_node(&mut self, which: u32, value: Value) -> CuResult {
        self.of_node(which)?;
        check(which, &value)?;
        self.insert(which, value);
        Ok(())
    }

    /// Adds the attributes that a captured launch gets from its stream, except those that it has
    /// itself.
    pub fn inherit(&mut self, stream: &Self) {
        for (which, value) in stream.iter().filter(|(which, _)| OF_NODES.contains(which)) {
            self.0.entry(which).or_insert(value);
        }
    }

    /// Returns the attributes that have been set.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Value)> {
        self.0.iter().map(|(which, value)| (*which, *value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INVALID: CuResult = Err(CuError::INVALID_VALUE);

    fn word(word: u64) -> Value {
        [word, 0, 0, 0, 0, 0, 0, 0]
    }

    #[test]
    fn a_window_has_a_ratio_and_properties() {
        let window = |ratio: f32, hit: u64, miss: u64| {
            let bits = u64::from(ratio.to_bits()) | hit << 32;
            Attributes::default().set_of_stream(WINDOW, [4096, 64, bits, miss, 0, 0, 0, 0])
        };
        assert_eq!([window(0.0, 0, 0), window(1.0, 2, 1)], [Ok(()); 2]);
        for (ratio, hit, miss) in [(1.5, 2, 1), (-0.5, 2, 1), (f32::NAN, 2, 1), (1.0, 3, 1)] {
            assert_eq!(window(ratio, hit, miss), INVALID);
        }
        assert_eq!(window(1.0, 2, 2), INVALID);
    }

    #[test]
    fn streams_and_nodes_have_different_attributes() {
        let mut attributes = Attributes::default();
        assert_eq!(attributes.set_of_stream(COOPERATIVE, word(1)), INVALID);
        assert_eq!(attributes.set_of_node(COOPERATIVE, word(1)), Ok(()));
        assert_eq!(attributes.set_of_node(POLICY, word(1)), INVALID);
        assert_eq!(attributes.set_of_stream(POLICY, word(0)), INVALID);
        assert_eq!(attributes.set_of_stream(POLICY, word(3)), Ok(()));
        assert_eq!(attributes.of_node(UPDATABLE_NODE), Err(CuError::NOT_SUPPORTED));
        assert_eq!(attributes.of_stream(DOMAIN_MAP), Ok(word(256)));
    }

    #[test]
    fn a_captured_launch_gets_the_attributes_of_its_stream() {
        let (mut stream, mut launch) = (Attributes::default(), Attributes::default());
        stream.set_of_stream(PRIORITY, [u64::MAX; 8]).unwrap();
        stream.set_of_stream(POLICY, word(2)).unwrap();
        stream.set_of_stream(DOMAIN, word(1)).unwrap();
        launch.set_of_node(DOMAIN, word(0)).unwrap();
        launch.inherit(&stream);
        let all: Vec<_> = launch.iter().collect();
        assert_eq!(all, [(PRIORITY, word(0xffff_ffff)), (DOMAIN, word(0))]);
    }
}
