//! Computes addresses in surfaces.

use super::object::Image;
use crate::exec::memory::Fault;
use crate::ptx::image::{Bounds, Geometry};

impl Image {
    /// Returns the address of a surface access of `size` bytes. The first coordinate is in bytes.
    /// Returns `None` if the access is outside of the surface; the caller must then ignore it.
    pub fn surface_address(
        &self,
        geometry: Geometry,
        layer: u32,
        at: [i32; 3],
        size: u64,
        bounds: Bounds,
    ) -> Result<Option<u64>, Fault> {
        let row = u64::from(self.width) * self.format.bytes() as u64;
        let Some(last) = row.checked_sub(size) else { return Err(Fault::IllegalAddress) };
        let used = geometry.coordinates();
        let outer = match geometry.layered() {
            true => i64::from(layer),
            false => i64::from(if used > 2 { at[2] } else { 0 }),
        };
        let mut place = [i64::from(at[0]), i64::from(if used > 1 { at[1] } else { 0 }), outer];
        let ends = [last as i64, i64::from(self.height) - 1, i64::from(self.depth) - 1];
        if place.iter().zip(ends).any(|(at, end)| !(0..=end).contains(at)) {
            match bounds {
                Bounds::Trap => return Err(Fault::IllegalAddress),
                Bounds::Zero => return Ok(None),
                Bounds::Clamp => {
                    for (at, end) in place.iter_mut().zip(ends) {
                        *at = (*at).clamp(0, end);
                    }
                    place[0] -= place[0] % size as i64;
                }
            }
        }
        let [x, y, outer] = place.map(|at| at as u64);
        if !x.is_multiple_of(size) {
            return Err(Fault::Misaligned);
        }
        Ok(Some(self.address + outer * self.slice + y * self.pitch + x))
    }
}

#[cfg(test)]
mod tests {
    use super::super::format::{Channel, Format};
    use super::*;

    #[test]
    fn test_accesses_outside_trap_or_are_moved_or_ignored() {
        let surface = Image {
            address: 0x1000,
            format: Format { channel: Channel::F32, count: 1 },
            width: 8,
            height: 4,
            depth: 3,
            layered: true,
            pitch: 32,
            slice: 128,
        };
        let at = |layer, x, y, size, bounds| {
            surface.surface_address(Geometry::Layered2, layer, [x, y, 99], size, bounds)
        };
        assert_eq!(at(2, 28, 3, 4, Bounds::Trap), Ok(Some(0x1000 + 256 + 96 + 28)));
        assert_eq!(at(0, 2, 0, 4, Bounds::Clamp), Err(Fault::Misaligned));
        for (layer, x, y, size, nearest) in [
            (0, 32, 0, 4, 28),
            (0, -1, 0, 4, 0),
            (0, 24, 0, 16, 16),
            (0, 0, 4, 4, 96),
            (0, 0, i32::MIN, 4, 0),
            (3, 0, 0, 4, 256),
            (u32::MAX, i32::MAX, i32::MAX, 8, 256 + 96 + 24),
        ] {
            assert_eq!(at(layer, x, y, size, Bounds::Trap), Err(Fault::IllegalAddress));
            assert_eq!(at(layer, x, y, size, Bounds::Zero), Ok(None));
            assert_eq!(at(layer, x, y, size, Bounds::Clamp), Ok(Some(0x1000 + nearest)));
        }
        let small = Image { width: 1, ..surface };
        let found = small.surface_address(Geometry::D1, 0, [0; 3], 8, Bounds::Zero);
        assert_eq!(found, Err(Fault::IllegalAddress));
    }
}
