//! Which GPUs a VM gets, and whether they have room for what it is promised. Pure.

use control_api::{GpuRequest, Percent};

use memory_ledger::GpuId;

#[cfg(test)]
mod tests;

/// A GPU, and what is promised of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) gpu: GpuId,
    pub(super) uuid: String,
    /// Bytes that may be promised: its memory without the reserve, times memory.overcommit.
    pub(super) memory: u64,
    /// Bytes that are.
    pub(super) memory_promised: u64,
    /// Time that may be guaranteed, in basis points: 10000 times compute.overcommit.
    pub(super) time: u64,
    /// Time that is.
    pub(super) time_promised: u64,
    /// Sum of the weights of its VMs.
    pub(super) weights: u64,
    /// Nothing is placed there.
    pub(super) faulty: bool,
}

/// What a VM wants of each of its GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Demand {
    /// memory.max, in bytes.
    pub(super) memory: u64,
    /// compute.min.
    pub(super) min: Percent,
}

/// Why a VM can't be placed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PlacementError {
    /// The host has no such GPU.
    #[error("there is no GPU {request}: the host has {count}, with index 0 to {}", count - 1)]
    NoGpu { request: GpuRequest, count: usize },
    /// Two requests name the same GPU.
    #[error("GPU {index} is named twice", index = gpu.0)]
    Twice { gpu: GpuId },
    /// It had a fault.
    #[error("GPU {index} had a fault, and no VM is placed there until vcudad is started again", index = gpu.0)]
    Faulty { gpu: GpuId },
    /// memory.max does not fit.
    #[error(
        "GPU {index} has no room for memory.max of {asked} bytes: {promised} of {room} bytes are \
         promised; memory.overcommit allows for more", index = gpu.0
    )]
    Memory { gpu: GpuId, asked: u64, promised: u64, room: u64 },
    /// compute.min does not fit.
    #[error(
        "GPU {index} has no room for compute.min of {asked}: {promised} of {room} are promised; \
         compute.overcommit allows for more", index = gpu.0
    )]
    Time { gpu: GpuId, asked: Percent, promised: Percent, room: Percent },
    /// There are fewer GPUs than the VM asks for.
    #[error("{asked} GPUs are asked for, and the host has {count}")]
    TooMany { asked: usize, count: usize },
    /// No GPU has room; why the last of them has none.
    #[error("no GPU has room: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    NoneFits(Vec<PlacementError>),
}

impl PlacementError {
    /// The setting that it is about.
    pub(super) fn field(&self) -> &'static str {
        match self {
            Self::Memory { .. } => "memory.max",
            Self::Time { .. } => "compute.min",
            Self::NoneFits(all) => all.first().map_or("gpus", Self::field),
            _ => "gpus",
        }
    }

    /// Whether another time, or with less, it could be placed; else it asks for what is not there.
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Memory { .. } | Self::Time { .. } | Self::NoneFits(_))
    }
}

impl Room {
    /// Whether a demand fits, besides what is promised.
    pub(super) fn check(&self, demand: &Demand) -> Result<(), PlacementError> {
        let (gpu, asked) = (self.gpu, demand.memory);
        if self.faulty {
            return Err(PlacementError::Faulty { gpu });
        }
        self.check_memory(asked)?;
        self.check_time(demand.min)
    }

    pub(super) fn check_memory(&self, asked: u64) -> Result<(), PlacementError> {
        let (gpu, room, promised) = (self.gpu, self.memory, self.memory_promised);
        match promised.checked_add(asked) {
            Some(sum) if sum <= room => Ok(()),
            _ => Err(PlacementError::Memory { gpu, asked, promised, room }),
        }
    }

    pub(super) fn check_time(&self, asked: Percent) -> Result<(), PlacementError> {
        if asked == Percent::NONE
            || self.time_promised + u64::from(asked.basis_points()) <= self.time
        {
            return Ok(());
        }
        let percent =
            |points: u64| Percent::from_basis_points(points.try_into().unwrap_or(u32::MAX));
        Err(PlacementError::Time {
            gpu: self.gpu,
            asked,
            promised: percent(self.time_promised),
            room: percent(self.time),
        })
    }

    /// Smaller is better: little promised of its time, then the tightest fit of memory, so that
    /// large rooms stay for large VMs.
    fn rank(&self) -> (u64, u64, u64, GpuId) {
        let free = self.memory.saturating_sub(self.memory_promised);
        (self.weights, self.time_promised, free, self.gpu)
    }
}

/// The GPUs of a VM, in the order of its requests. Those that are named go first, so that `any`
/// never takes one that the VM names later.
pub(super) fn place(
    rooms: &[Room],
    requests: &[GpuRequest],
    demand: &Demand,
) -> Result<Vec<GpuId>, PlacementError> {
    if requests.len() > rooms.len() {
        let (asked, count) = (requests.len(), rooms.len());
        return Err(PlacementError::TooMany { asked, count });
    }
    let mut placed: Vec<Option<GpuId>> = Vec::new();
    for request in requests {
        let named = match request {
            GpuRequest::Any => None,
            GpuRequest::Index(index) => Some(rooms.iter().find(|room| room.gpu.0 == *index)),
            GpuRequest::Uuid(uuid) => {
                Some(rooms.iter().find(|room| room.uuid.eq_ignore_ascii_case(uuid)))
            }
        };
        let Some(found) = named else {
            placed.push(None);
            continue;
        };
        let missing = || PlacementError::NoGpu { request: request.clone(), count: rooms.len() };
        let room = found.ok_or_else(missing)?;
        if placed.contains(&Some(room.gpu)) {
            return Err(PlacementError::Twice { gpu: room.gpu });
        }
        room.check(demand)?;
        placed.push(Some(room.gpu));
    }
    for place in 0..placed.len() {
        if placed[place].is_some() {
            continue;
        }
        let mut refusals = Vec::new();
        let free = rooms.iter().filter(|room| !placed.contains(&Some(room.gpu)));
        let fits = free.filter(|room| match room.check(demand) {
            Ok(()) => true,
            Err(refusal) => {
                refusals.push(refusal);
                false
            }
        });
        let best = fits.min_by_key(|room| room.rank()).map(|room| room.gpu);
        placed[place] = Some(best.ok_or(PlacementError::NoneFits(refusals))?);
    }
    Ok(placed.into_iter().flatten().collect())
}
