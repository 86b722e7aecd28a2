//! The routes by which a copy reaches the memory at its source and destination.

/// The ways in which a copy can reach the memory at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The GPU can access the memory, at `address`. `host` is the address at which the program can
    /// access the memory, if it can.
    Visible { address: u64, host: Option<u64> },
    /// The program's own memory, which the GPU can't access directly.
    Pageable,
}

/// The route of a copy's bytes. Each address is that at which the GPU accesses the memory, or the
/// program's address if the GPU can't access the memory or isn't involved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The program can access the source and the destination. As with NVIDIA's driver, the calling
    /// thread waits for the work that was queued before the copy, and then copies. The worker
    /// doesn't copy, because its driver would make it wait, too.
    OnHost { dst: u64, src: u64 },
    /// The GPU copies. `host` says whether the program can access the source or the destination, so
    /// that a blocking copy must wait.
    OnGpu { dst: u64, src: u64, host: bool },
    /// A copy from pageable memory to memory that only the GPU can access.
    Up { dst: u64, src: u64 },
    /// A copy from memory that only the GPU can access to pageable memory.
    Down { dst: u64, src: u64 },
}

impl Route {
    /// Returns the route between two places, with the addresses that the program passed.
    pub fn between((dst, to): (Place, u64), (src, from): (Place, u64)) -> Self {
        use Place::{Pageable, Visible};
        match (dst, src) {
            (Visible { host: Some(dst), .. }, Visible { host: Some(src), .. }) => {
                Self::OnHost { dst, src }
            }
            (Visible { address: dst, host: to }, Visible { address: src, host: from }) => {
                Self::OnGpu { dst, src, host: to.is_some() || from.is_some() }
            }
            (Pageable, Pageable) => Self::OnHost { dst: to, src: from },
            (Visible { host: Some(dst), .. }, Pageable) => Self::OnHost { dst, src: from },
            (Pageable, Visible { host: Some(src), .. }) => Self::OnHost { dst: to, src },
            (Visible { address: dst, host: None }, Pageable) => Self::Up { dst, src: from },
            (Pageable, Visible { address: src, host: None }) => Self::Down { dst: to, src },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_copies_what_it_can_access() {
        let device = Place::Visible { address: 1, host: None };
        let registered = Place::Visible { address: 2, host: Some(3) };
        let pageable = Place::Pageable;
        let route = |dst, src| Route::between((dst, 10), (src, 20));
        assert_eq!(route(registered, registered), Route::OnHost { dst: 3, src: 3 });
        assert_eq!(route(pageable, pageable), Route::OnHost { dst: 10, src: 20 });
        assert_eq!(route(registered, pageable), Route::OnHost { dst: 3, src: 20 });
        assert_eq!(route(pageable, registered), Route::OnHost { dst: 10, src: 3 });
        assert_eq!(route(device, pageable), Route::Up { dst: 1, src: 20 });
        assert_eq!(route(pageable, device), Route::Down { dst: 10, src: 1 });
        assert_eq!(route(device, device), Route::OnGpu { dst: 1, src: 1, host: false });
        assert_eq!(route(device, registered), Route::OnGpu { dst: 1, src: 2, host: true });
        assert_eq!(route(registered, device), Route::OnGpu { dst: 2, src: 1, host: true });
    }
}
