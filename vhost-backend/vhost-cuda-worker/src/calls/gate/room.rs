//! How many commands may be queued in the driver.

/// The number of commands queued at once. Several streams may share a channel, so the commands of all
/// streams count together.
pub(super) const LIMIT: u32 = 832;
/// The number of unmarked commands in a stream after which the stream is marked.
pub(super) const MARK: u32 = LIMIT / 4;
