//! Limits for the number of commands queued in the driver.

/// The maximum number of commands queued in the driver at once, in all streams together, because
/// several streams may share one of the GPU's channels.
pub(super) const LIMIT: u32 = 832;
/// The number of commands in a stream since its last mark after which the worker records another
/// mark (an event that shows progress).
pub(super) const MARK: u32 = LIMIT / 4;
