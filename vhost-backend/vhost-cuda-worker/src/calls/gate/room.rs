//! How many commands may be in the driver.

/// Commands queued at once. Several streams may share a channel, so all count together.
pub(super) const LIMIT: u32 = 832;
/// So many of a stream's, and progress there is asked for.
pub(super) const MARK: u32 = LIMIT / 4;
