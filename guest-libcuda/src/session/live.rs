//! A session that has started: its worker, and the pages that it shares with the worker.

use super::arena::{Arena, Part};
use super::clock::{Calibration, SpinBudget};
use super::config::Config;
use crate::log::say;
use crate::transport::{Mapping, Transport, TransportError};
use guest_transport::facts::Snapshot;
use parking_lot::Mutex;
use protocol::codec::Writer;
use protocol::ring::{GuestRing, Shared};
use protocol::uapi::{ERR_NO_WORKER, RING_HEADER_BYTES};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const WORD_SPIN: Duration = Duration::from_millis(100);

/// The guest's side of the ring, with a buffer for encoding commands.
pub struct Producer {
    pub ring: GuestRing,
    pub writer: Writer,
}

/// A session's connection to its worker.
pub struct Live {
    pub transport: Box<dyn Transport>,
    _region: Mapping,
    /// Shared pages for replies and for data in transit.
    pub arena: Arena,
    pub producer: Mutex<Producer>,
    pub shared: Shared,
    pub max_command: usize,
    pub spin: SpinBudget,
    /// The time for which a thread polls a completion word between checks that the session hasn't
    /// ended.
    pub word_spin: SpinBudget,
}

impl Live {
    /// Starts a session on an open device.
    pub fn start(
        transport: Box<dyn Transport>,
        config: &Config,
        calibration: Calibration,
    ) -> Result<Self, TransportError> {
        let started = transport.start(&config.env, config.ring_bytes, config.arena_bytes);
        let started = started.inspect_err(|error| {
            if let TransportError::Refused { status: ERR_NO_WORKER, .. } = error
                && let Ok(snapshot) = Snapshot::query(&*transport)
            {
                let (used, limits) = (snapshot.memory_use(), snapshot.memory_limits());
                say!(Error, "this VM's programs use {used}{limits}");
            }
        })?;
        let base = started.region.as_ptr();
        let ring = config.ring_bytes as usize;
        // SAFETY: the region begins with the header page and the ring, and stays mapped as long as
        // the session exists.
        let shared = unsafe { Shared::new(base, ring) }
            .map_err(|_| TransportError::Unsupported { what: "a ring of this size" })?;
        let skip = RING_HEADER_BYTES + ring;
        let len = (started.region.len() - skip).min(config.arena_bytes as usize);
        // SAFETY: the bytes after the header page and the ring are the arena, and stay mapped as
        // long as the session exists.
        let arena = unsafe { Arena::new(base.add(skip), len) };
        say!(Info, "session {} with {} bytes of ring", started.session, ring);
        Ok(Self {
            transport,
            _region: started.region,
            arena,
            producer: Mutex::new(Producer { ring: GuestRing::new(shared), writer: Writer::new() }),
            shared,
            max_command: GuestRing::new(shared).max_command(),
            spin: calibration.end(config.spin),
            word_spin: calibration.end(WORD_SPIN),
        })
    }

    /// Returns the state of a reply, or `None` if the worker hasn't written the reply yet.
    pub fn reply_state(&self, part: Part) -> Option<u32> {
        // SAFETY: the part lies in the arena and is aligned, and the guest and the worker access
        // this word atomically.
        let state = unsafe { AtomicU32::from_ptr(self.arena.ptr(part).cast()) };
        Some(state.load(Ordering::Acquire)).filter(|&state| state != 0)
    }
}
