//! Reads numbers from structures of the driver.

/// Returns the 16-bit number at an offset, which must be within `bytes`.
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes[at..at + 2].try_into().map(u16::from_ne_bytes).unwrap_or_default()
}

/// Returns the 32-bit number at an offset, which must be within `bytes`.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].try_into().map(u32::from_ne_bytes).unwrap_or_default()
}

/// Returns the 64-bit number at an offset, which must be within `bytes`.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].try_into().map(u64::from_ne_bytes).unwrap_or_default()
}
