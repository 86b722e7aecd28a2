//! State spaces of generic addresses.

use super::memory::Fault;
use crate::ptx::ir::{Lanes, Space, WINDOW_LOCAL, WINDOW_PARAM, WINDOW_SHARED, WINDOW_SHIFT};

/// Returns a mask of the lanes whose generic address is in the state space.
pub(crate) fn in_space(addresses: &Lanes, space: Space) -> u32 {
    let wanted = window(space);
    let mut bits = 0;
    for (i, address) in addresses.iter().enumerate() {
        bits |= u32::from(address >> WINDOW_SHIFT == wanted) << i;
    }
    bits
}

fn window(space: Space) -> u64 {
    match space {
        Space::Generic | Space::Global => 0,
        Space::Shared => WINDOW_SHARED,
        Space::Local => WINDOW_LOCAL,
        Space::Param => WINDOW_PARAM,
    }
}

/// Splits a generic address into its state space and the offset in that space.
pub(crate) fn resolve(address: u64) -> Result<(Space, u64), Fault> {
    let low = address & ((1 << WINDOW_SHIFT) - 1);
    match address >> WINDOW_SHIFT {
        0 => Ok((Space::Global, address)),
        WINDOW_SHARED => Ok((Space::Shared, low)),
        WINDOW_LOCAL => Ok((Space::Local, low)),
        WINDOW_PARAM => Ok((Space::Param, low)),
        _ => Err(Fault::IllegalAddress),
    }
}
