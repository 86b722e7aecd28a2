//! Limits for the number of commands queued in the driver.

/// The maximum number of commands queued in the driver at once, in all streams together, because
/// several streams may share one of the GPU's channels.
pub(super) const LIMIT: u32 = 832;
/// After this many commands since the last mark, another mark (an event that shows progress) is
/// recorded in a stream.
pub(super) const MARK: u32 = LIMIT / 4;
