//! The number of commands that may be queued in the driver.

/// The maximum number of commands queued at once. All streams count together, because several
/// streams may share a channel.
pub(super) const LIMIT: u32 = 832;
/// The number of unmarked commands in a stream after which the stream is marked.
pub(super) const MARK: u32 = LIMIT / 4;
