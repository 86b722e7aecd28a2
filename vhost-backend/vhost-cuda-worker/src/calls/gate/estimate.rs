//! Estimates how long gated calls take on the GPU, based on measurements of calls of the same kind.

use protocol::calls as api;
use protocol::codec::Call;
use protocol::ids::{FuncId, GraphExecId};

use crate::calls::tables::id_map::IdMap;
use crate::executor::Command;

/// The maximum number of kinds of call for which there is an estimate. All estimates are dropped
/// when there are more.
const MAX_KINDS: usize = 4096;
/// The estimate, in ns, for a kernel or graph whose time hasn't been measured yet.
const UNKNOWN: u64 = 250_000;
/// The estimate, in ns, for a [`Kind::Signal`]. These calls aren't measured, because a wait can
/// take any amount of time.
const SIGNAL: u64 = 5_000;
/// A copy to the device counts as running on a copy engine if [`size`] of its length is larger than
/// this, that is, from 64 KiB. On an H200, anything above 24 KiB uses a copy engine; the margin is
/// for other drivers.
const ENGINE: u32 = 16;
/// The smallest possible estimate (`LEAST`) and the largest (`MOST`), in ns.
const LEAST: u64 = 1_000;
const MOST: u64 = 1 << 42;

/// A kind of call. Calls of the same kind should take about the same time on the GPU, so they share
/// one estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::calls) enum Kind {
    /// Launches of a function or kernel: its id, and [`size`] of the number of blocks.
    Kernel(FuncId, u32),
    /// Copies between host and device: the path, and [`size`] of the number of bytes.
    HostCopy(HostPath, u32),
    /// Memsets and copies within device memory: [`size`] of the number of bytes.
    DeviceCopy(u32),
    /// Calls that make a stream record an event, write a value to memory, or wait for a value.
    Signal,
    /// Any other gated call: its opcode, and the executable graph that it launches, if any.
    Other(u32, GraphExecId),
}

/// The path of a copy's bytes between host and device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::calls) enum HostPath {
    /// To the device, from bytes in the command's own arguments.
    Inline,
    /// To the device, from host memory that the GPU reads directly.
    In,
    /// From the device, to host memory that the GPU writes directly, or to the worker's memory.
    Out,
}

/// Returns the base-2 logarithm of a size, rounded down, plus 1, or 0 if the size is 0. Calls with
/// the same result share an estimate.
fn size(value: u64) -> u32 {
    64 - value.leading_zeros()
}

impl Kind {
    /// Returns the kind of a gated command. `is_host` returns whether an address is in host memory.
    /// A command that can't be decoded gets [`Kind::Other`]. It's refused later, when it runs.
    pub(super) fn of(command: &Command<'_>, is_host: impl Fn(u64) -> bool) -> Self {
        let kernel = |f, x: u32, y: u32, z: u32| {
            let blocks = u64::from(x).saturating_mul(y.into()).saturating_mul(z.into());
            Self::Kernel(f, size(blocks))
        };
        let other = Self::Other(command.opcode, GraphExecId(0));
        fn decode<'a, C: Call<'a>>(command: &Command<'a>) -> Option<C> {
            C::decode(command.args).ok()
        }
        let host = |path: HostPath, len: usize| Self::HostCopy(path, size(len as u64));
        let kind = match command.opcode {
            api::VcudaLaunch::OPCODE => decode::<api::VcudaLaunch<'_>>(command)
                .map(|call| kernel(call.f, call.grid_x, call.grid_y, call.grid_z)),
            api::VcudaLaunchEvent::OPCODE => decode::<api::VcudaLaunchEvent<'_>>(command)
                .map(|call| kernel(call.f, call.grid_x, call.grid_y, call.grid_z)),
            api::VcudaLaunchEvents::OPCODE => decode::<api::VcudaLaunchEvents<'_>>(command)
                .map(|call| kernel(call.f, call.grid_x, call.grid_y, call.grid_z)),
            api::VcudaLaunchCooperative::OPCODE => {
                decode::<api::VcudaLaunchCooperative<'_>>(command)
                    .map(|call| kernel(call.f, call.grid_x, call.grid_y, call.grid_z))
            }
            api::VcudaCopyIn::OPCODE => decode::<api::VcudaCopyIn<'_>>(command)
                .map(|call| host(HostPath::Inline, call.data.len())),
            api::VcudaCopyInStaged::OPCODE => {
                decode::<api::VcudaCopyInStaged>(command).map(|call| host(HostPath::In, call.len))
            }
            api::VcudaCopyOut::OPCODE => {
                decode::<api::VcudaCopyOut>(command).map(|call| host(HostPath::Out, call.len))
            }
            api::VcudaCopyOutStaged::OPCODE => {
                decode::<api::VcudaCopyOutStaged>(command).map(|call| host(HostPath::Out, call.len))
            }
            api::VcudaCopy::OPCODE => decode::<api::VcudaCopy>(command).map(|call| {
                match (is_host(call.dst), is_host(call.src)) {
                    (false, false) => Self::DeviceCopy(size(call.len as u64)),
                    (false, true) => host(HostPath::In, call.len),
                    (true, _) => host(HostPath::Out, call.len),
                }
            }),
            api::CuGraphLaunch::OPCODE => decode::<api::CuGraphLaunch>(command)
                .map(|call| Self::Other(command.opcode, call.h_graph)),
            api::CuEventRecordWithFlags::OPCODE
            | api::VcudaStreamMemoryOperation::OPCODE
            | api::VcudaStreamWaitInterprocessEvent::OPCODE => Some(Self::Signal),
            api::VcudaMemset::OPCODE => decode::<api::VcudaMemset>(command)
                .map(|call| Self::DeviceCopy(size(call.width.saturating_mul(call.height) as u64))),
            _ => None,
        };
        kind.unwrap_or(other)
    }

    /// Returns whether calls of this kind use only a copy engine, and so don't use the engine that
    /// runs kernels. The driver uses the latter for short copies to the device (up to 24 KiB on an
    /// H200) and for all copies within the device.
    pub(super) fn only_copies(self) -> bool {
        match self {
            Self::HostCopy(HostPath::In, bytes) => bytes > ENGINE,
            Self::HostCopy(HostPath::Out, _) => true,
            _ => false,
        }
    }
}

/// The estimated time of each kind of call, in ns.
#[derive(Default)]
pub(in crate::calls) struct Estimates {
    known: IdMap<Kind, u64>,
}

impl Estimates {
    /// Returns the estimated time of a kind of call in ns, and whether the estimate is based on a
    /// measurement or on a known transfer rate.
    pub(super) fn of(&self, kind: Kind) -> (u64, bool) {
        match (self.known.get(&kind), kind) {
            (_, Kind::Signal) => (SIGNAL, true),
            (Some(ns), _) => (*ns, true),
            // Assume 10 GB/s, and 5 us to start the copy.
            (None, Kind::HostCopy(_, size)) => (5_000 + (1u64 << size.min(40)) / 10, true),
            // Assume 1 TB/s, and 3 us to start the copy.
            (None, Kind::DeviceCopy(size)) => (3_000 + (1u64 << size.min(40)) / 1000, true),
            (None, _) => (UNKNOWN, false),
        }
    }

    /// Updates the estimates after calls that ran one after another took `took` ns in total.
    /// `kinds` contains each kind of these calls with its estimate, and `expected` is the estimated
    /// total time. `alone` says that `took` includes nothing but these calls. If it's false, `took`
    /// may include, for example, the context switch at the beginning of a window or another VM's
    /// work.
    pub(super) fn learn(&mut self, kinds: &[(Kind, u64)], expected: u64, took: u64, alone: bool) {
        if self.known.len() > MAX_KINDS {
            self.known.clear();
        }
        for (kind, share) in kinds {
            let (before, measured) = self.of(*kind);
            // Divide the time among the calls, in proportion to their estimates.
            let part = u128::from(took) * u128::from(*share) / u128::from(expected.max(1));
            let now = u64::try_from(part).unwrap_or(MOST).clamp(LEAST, MOST);
            let next = match measured {
                false => now,
                // Always accept a shorter time: even if the measurement includes other work, the
                // call took at most this long.
                true if now < before => before / 2 + now / 2,
                true if !alone => before,
                // Adapt to longer times quickly, because calls that take longer than estimated run
                // past the end of the window.
                true if now > before * 2 => before / 2 + now / 2,
                true => before - before / 8 + now / 8,
            };
            self.known.insert(*kind, next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const F: Kind = Kind::Kernel(FuncId(9), 3);

    #[test]
    fn the_first_measurement_replaces_the_default() {
        let mut estimates = Estimates::default();
        assert_eq!(estimates.of(F), (UNKNOWN, false));
        estimates.learn(&[(F, UNKNOWN)], UNKNOWN, 20_000, true);
        assert_eq!(estimates.of(F), (20_000, true));
    }

    #[test]
    fn estimates_follow_large_changes_quickly() {
        let mut estimates = Estimates::default();
        estimates.learn(&[(F, UNKNOWN)], UNKNOWN, 100_000, true);
        estimates.learn(&[(F, 100_000)], 400_000, 4_000_000, true);
        assert_eq!(estimates.of(F).0, 550_000);
        estimates.learn(&[(F, 550_000)], 550_000, 100_000, true);
        assert_eq!(estimates.of(F).0, (550_000 + 100_000) / 2);
    }

    #[test]
    fn measurements_with_a_context_switch_only_shorten_an_estimate() {
        let mut estimates = Estimates::default();
        estimates.learn(&[(F, UNKNOWN)], UNKNOWN, 400_000, false);
        estimates.learn(&[(F, 400_000)], 400_000, 20_000, false);
        assert_eq!(estimates.of(F).0, 210_000);
        estimates.learn(&[(F, 210_000)], 210_000, 2_000_000, false);
        assert_eq!(estimates.of(F).0, 210_000);
    }

    #[test]
    fn calls_queued_with_an_old_estimate_do_not_inflate_it() {
        let mut estimates = Estimates::default();
        // Many launches of a kernel without a measurement are queued before the first one has
        // finished.
        for _ in 0..200 {
            estimates.learn(&[(F, UNKNOWN)], UNKNOWN, 3_000_000, true);
        }
        let (now, _) = estimates.of(F);
        assert!((2_900_000..=3_000_000).contains(&now), "{now}");
    }

    #[test]
    fn the_time_of_two_kinds_is_divided_by_their_estimates() {
        let (mut estimates, g) = (Estimates::default(), Kind::Kernel(FuncId(10), 3));
        estimates.learn(&[(F, UNKNOWN)], UNKNOWN, 100_000, true);
        estimates.learn(&[(g, UNKNOWN)], UNKNOWN, 300_000, true);
        for _ in 0..100 {
            let each = [F, g].map(|kind| (kind, estimates.of(kind).0));
            estimates.learn(&each, each[0].1 + each[1].1, 800_000, true);
        }
        let (f, g) = (estimates.of(F).0, estimates.of(g).0);
        assert!(
            (780_000..=810_000).contains(&(f + g)) && (29..=31).contains(&(g * 10 / f)),
            "{f} {g}"
        );
    }
}
