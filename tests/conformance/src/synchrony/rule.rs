//! The rules for when copies and memsets return, as observed with NVIDIA's driver 580 on an H200.

use super::memory::Kind;
use std::time::Duration;

/// How long the gate is closed for a call that must wait. A short time suffices: a call that
/// wrongly doesn't wait returns at once, before the gate opens, and a call that waits can't be
/// mistaken for one that doesn't.
const BRIEF: Duration = Duration::from_millis(1);
/// How long the gate is closed for a call that must return while the gate is closed.
const PATIENT: Duration = Duration::from_secs(5);

/// When a copy in a batch may read its source (CUmemcpySrcAccessOrder).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Stream,
    DuringCall,
    Any,
}

/// The rule that an entry point follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A copy whose name doesn't say that one side is host memory.
    Copy,
    /// A copy whose name says that its source is host memory.
    CopyFromHost,
    /// A copy whose name says that its destination is host memory.
    CopyToHost,
    Memset,
    /// A copy in a batch, with the source access order that the program has requested.
    Batch(Order),
}

use Kind::*;

fn is_host(kind: Kind) -> bool {
    matches!(kind, Pageable | Pinned | Registered | WriteCombined)
}

fn is_managed(kind: Kind) -> bool {
    matches!(kind, Managed | Variable)
}

fn is_device(kind: Kind) -> bool {
    !is_host(kind) && !is_managed(kind)
}

impl Rule {
    /// Returns the letter that a call must have, or `*` if several letters are right.
    fn expected(self, streamed: bool, (src, dst): (Kind, Kind)) -> char {
        match self {
            Rule::Batch(_) => '*',
            Rule::Memset if streamed || is_device(dst) => 'R',
            Rule::Memset => 'W',
            _ if !streamed && is_device(src) && is_device(dst) => 'R',
            _ if !streamed => 'W',
            _ if is_host(src) && is_host(dst) => 'W',
            // In a VM, managed memory is host memory. With NVIDIA's driver, it can be device
            // memory. Therefore, several letters are right.
            _ if !is_device(src) && !is_device(dst) => '*',
            Rule::CopyFromHost if is_managed(src) => 'W',
            Rule::CopyToHost if is_managed(dst) => 'W',
            _ if src == Pageable => 'S',
            _ if dst == Pageable => 'W',
            _ => 'R',
        }
    }

    /// Returns how long earlier work is held back while the call is given time to return.
    pub fn limit(self, streamed: bool, kinds: (Kind, Kind)) -> Duration {
        match self.expected(streamed, kinds) {
            'R' | 'S' => PATIENT,
            _ => BRIEF,
        }
    }

    /// Returns whether a copy must have finished when its call has waited and returned. That isn't
    /// required of a copy from pageable or managed memory to device memory, because the driver may
    /// still copy the last part, nor of batches.
    pub fn done(self, (src, dst): (Kind, Kind)) -> bool {
        let pageable = src == Pageable || is_managed(src);
        !(matches!(self, Rule::Batch(_)) || pageable && is_device(dst))
    }

    /// Returns the letter to print for an observation: the observed letter, or `*` if several
    /// letters are right. Fails with the observed letter if it's wrong.
    pub fn judge(self, streamed: bool, kinds: (Kind, Kind), seen: char) -> Result<char, char> {
        // For a call that may wait or not, accept `u` wherever `R` is accepted. On a busy machine,
        // the gate may open before a call that doesn't wait has returned.
        let right = match self {
            Rule::Batch(Order::Stream) => "WSRu",
            // For a copy from pageable to managed memory, NVIDIA's driver reads the source even
            // after the call has returned.
            Rule::Batch(Order::DuringCall) if kinds == (Pageable, Managed) => "WSRXu",
            Rule::Batch(Order::DuringCall) => "WSX",
            Rule::Batch(Order::Any) => "WSRXu",
            _ => match self.expected(streamed, kinds) {
                '*' => "WwSRu",
                expected if expected == seen => return Ok(seen),
                _ => "",
            },
        };
        if right.contains(seen) { Ok('*') } else { Err(seen) }
    }
}
