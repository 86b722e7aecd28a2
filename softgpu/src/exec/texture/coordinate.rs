//! Maps texture coordinates to texels, as described under "Texture Fetching" in the CUDA C++
//! Programming Guide. Fractions of coordinates have 8 bits, as in hardware.

/// Number of steps into which the distance between two texels is divided.
pub const STEPS: u32 = 1 << 8;

/// The addressing mode: how a coordinate outside the texture selects a texel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrap {
    /// The texture repeats.
    Repeat,
    /// The coordinate selects the nearest texel in the texture.
    Clamp,
    /// The texture repeats, and every second copy is mirrored.
    Mirror,
    /// The coordinate selects the border color.
    Border,
}

/// The size and the addressing of a texture in one dimension.
#[derive(Debug, Clone, Copy)]
pub struct Axis {
    /// The number of texels, at least 1.
    pub size: u32,
    /// The addressing mode for coordinates outside the texture.
    pub wrap: Wrap,
    /// Whether coordinates between 0 and 1 cover the texture. If not, `wrap` is `Clamp` or
    /// `Border`.
    pub normalized: bool,
}

/// The two neighboring texels between which linear filtering interpolates, with their weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbors {
    /// The positions of the texels. `None` is a texel of the border.
    pub texels: [Option<u32>; 2],
    /// The weights of the texels, whose sum is [`STEPS`].
    pub weights: [u32; 2],
}

impl Axis {
    /// Returns the coordinate in texels. The product of a single-precision number and a size is
    /// exact in double precision.
    fn scaled(&self, coordinate: f64) -> f64 {
        if self.normalized { coordinate * f64::from(self.size) } else { coordinate }
    }

    /// Returns the texel that contains a coordinate, or `None` for the border.
    pub fn nearest(&self, coordinate: f32) -> Option<u32> {
        let coordinate = f64::from(coordinate);
        let whole = coordinate.floor();
        let inside = match self.wrap {
            Wrap::Repeat => coordinate - whole,
            Wrap::Mirror if whole.rem_euclid(2.0) == 1.0 => 1.0 - (coordinate - whole),
            Wrap::Mirror => coordinate - whole,
            Wrap::Clamp | Wrap::Border => coordinate,
        };
        // The cast turns NaN into 0 and saturates values outside the range of i64.
        let texel = self.scaled(inside).floor() as i64;
        let last = i64::from(self.size) - 1;
        if self.wrap == Wrap::Border && !(0..=last).contains(&texel) {
            return None;
        }
        Some(texel.clamp(0, last) as u32)
    }

    /// Returns the texels around a coordinate, with their weights.
    pub fn neighbors(&self, coordinate: f32) -> Neighbors {
        let steps = (self.scaled(f64::from(coordinate)) - 0.5) * f64::from(STEPS);
        let steps = (steps + 0.5).floor() as i64;
        let first = steps.div_euclid(i64::from(STEPS));
        let second = steps.rem_euclid(i64::from(STEPS)) as u32;
        Neighbors {
            texels: [self.wrapped(first), self.wrapped(first.saturating_add(1))],
            weights: [STEPS - second, second],
        }
    }

    fn wrapped(&self, texel: i64) -> Option<u32> {
        let size = i64::from(self.size);
        let inside = match self.wrap {
            Wrap::Clamp => texel.clamp(0, size - 1),
            Wrap::Border => return u32::try_from(texel).ok().filter(|texel| *texel < self.size),
            Wrap::Repeat => texel.rem_euclid(size),
            Wrap::Mirror => match texel.rem_euclid(2 * size) {
                texel if texel < size => texel,
                texel => 2 * size - 1 - texel,
            },
        };
        Some(inside as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(wrap: Wrap, normalized: bool) -> Axis {
        Axis { size: 4, wrap, normalized }
    }

    #[test]
    fn test_nearest_texels_inside_and_outside() {
        let clamp = axis(Wrap::Clamp, false);
        for (x, texel) in [(0.0, 0), (0.99, 0), (3.99, 3), (-7.0, 0), (1e30, 3), (f32::NAN, 0)] {
            assert_eq!(clamp.nearest(x), Some(texel), "{x}");
        }
        let border = axis(Wrap::Border, true);
        assert_eq!(
            [-0.01, 0.0, 0.76, 1.0].map(|x| border.nearest(x)),
            [None, Some(0), Some(3), None]
        );
        let repeat = axis(Wrap::Repeat, true);
        assert_eq!([1.3, -0.1, 2.0].map(|x| repeat.nearest(x)), [Some(1), Some(3), Some(0)]);
        let mirror = axis(Wrap::Mirror, true);
        assert_eq!([1.1, 1.9, -0.1, 2.3].map(|x| mirror.nearest(x)), [3, 0, 0, 1].map(Some));
        for wrap in [Wrap::Clamp, Wrap::Repeat, Wrap::Mirror] {
            for x in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, -1e-40] {
                assert!(axis(wrap, true).nearest(x).unwrap() < 4, "{wrap:?} {x}");
            }
        }
    }

    #[test]
    fn test_weights_are_the_distances_from_the_centers_of_texels() {
        let clamp = axis(Wrap::Clamp, false);
        let at = |x| {
            let found = clamp.neighbors(x);
            (found.texels.map(Option::unwrap), found.weights)
        };
        assert_eq!(at(1.5), ([1, 2], [256, 0]));
        assert_eq!(at(2.0), ([1, 2], [128, 128]));
        assert_eq!(at(2.25), ([1, 2], [64, 192]));
        assert_eq!(at(0.25), ([0, 0], [64, 192]));
        assert_eq!(at(9.0), ([3, 3], [128, 128]));
        // The distance is rounded to a multiple of 1/256.
        assert_eq!(at(1.5 + 1.0 / 1024.0), ([1, 2], [256, 0]));
        assert_eq!(at(1.5 + 3.0 / 1024.0), ([1, 2], [255, 1]));
    }

    #[test]
    fn test_neighbors_outside() {
        let texels = |wrap, x| axis(wrap, true).neighbors(x).texels;
        assert_eq!(texels(Wrap::Repeat, 0.0), [Some(3), Some(0)]);
        assert_eq!(texels(Wrap::Mirror, 0.0), [Some(0), Some(0)]);
        assert_eq!(texels(Wrap::Mirror, 1.25), [Some(3), Some(2)]);
        assert_eq!(texels(Wrap::Border, 1.0), [Some(3), None]);
        for wrap in [Wrap::Clamp, Wrap::Repeat, Wrap::Mirror] {
            for x in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX] {
                assert!(texels(wrap, x).iter().all(|texel| texel.unwrap() < 4), "{wrap:?} {x}");
            }
        }
    }
}
