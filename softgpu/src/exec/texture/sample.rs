//! Reading textures: texels, filtering, and levels.

use super::coordinate::{Axis, Neighbors, STEPS, Wrap};
use super::cube;
use super::object::{Image, Texture};
use crate::exec::lanes::from_f32;
use crate::exec::memory::Fault;
use crate::ptx::image::Geometry;

/// The four components of a texel, as the bits of floats or integers.
pub type Texel = [u32; 4];

/// A function that reads the texel at column `x`, row `y`, and a slice of an image. The position is
/// inside the image.
pub type Read<'r> = &'r mut dyn FnMut(&Image, [u32; 3]) -> Result<Texel, Fault>;

/// A point in a texture, given by coordinates.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    /// The texture geometry that the instruction specifies.
    pub geometry: Geometry,
    /// The index of the layer, if the geometry has layers.
    pub layer: u32,
    /// The coordinates of the point. The geometry determines how many of them are used.
    pub at: [f32; 3],
}

/// How an instruction selects the level to read.
#[derive(Debug, Clone, Copy)]
pub enum Level {
    /// The first level.
    First,
    /// This level, after adding the texture object's bias and applying its limits.
    Number(f32),
    /// The level in which points of neighboring pixels are about one texel apart. The value
    /// contains the derivatives of the coordinates in the two screen directions.
    Distance([[f32; 3]; 2]),
}

/// The plane or volume of an image that an instruction reads, and the axes of its coordinates.
struct View {
    axes: [Axis; 3],
    dimensions: usize,
    slice: u32,
    at: [f32; 3],
}

impl View {
    fn new(texture: &Texture, image: &Image, point: &Point) -> Self {
        let layer = point.layer.min(image.depth - 1);
        let mut axes = [0, 1, 2].map(|axis| Axis {
            size: image.sizes()[axis],
            wrap: texture.wraps[axis],
            normalized: texture.normalized,
        });
        if point.geometry.cube() {
            let (face, [s, t]) = cube::face(point.at);
            for axis in &mut axes {
                (axis.wrap, axis.normalized) = (Wrap::Clamp, true);
            }
            let first = point.layer.saturating_mul(6).min((image.depth - 1) / 6 * 6);
            let slice = (first + face).min(image.depth - 1);
            return Self { axes, dimensions: 2, slice, at: [s, t, 0.0] };
        }
        let slice = if point.geometry.layered() { layer } else { 0 };
        Self { axes, dimensions: point.geometry.coordinates(), slice, at: point.at }
    }

    /// Calls `texel` for each axis, and returns the position in the image that the results select.
    /// Returns `None` for the border.
    fn place(&self, texel: impl Fn(usize) -> Option<u32>) -> Option<[u32; 3]> {
        let mut place = [0, 0, self.slice];
        for (axis, place) in place.iter_mut().enumerate().take(self.dimensions) {
            *place = texel(axis)?;
        }
        Some(place)
    }
}

impl Texture {
    /// Returns the level of detail: the base-2 logarithm of the distance in texels that the point
    /// moves in the given directions. Uses the direction with the larger distance.
    fn detail(&self, point: &Point, directions: [[f32; 3]; 2]) -> f32 {
        let sizes = self.levels[0].sizes();
        let cube = point.geometry.cube();
        let squares = directions.map(|direction| {
            let direction = match cube {
                true => {
                    let [s, t] = cube::gradient(point.at, direction);
                    [s, t, 0.0]
                }
                false => direction,
            };
            let texels = (0..point.geometry.coordinates()).map(|axis| {
                let scaled = self.normalized || cube;
                let size = if scaled { f64::from(sizes[axis]) } else { 1.0 };
                (f64::from(direction[axis]) * size).powi(2)
            });
            texels.sum::<f64>()
        });
        // Half of the logarithm of a square is the logarithm of its root.
        (squares[0].max(squares[1]).log2() / 2.0) as f32
    }

    /// Returns the first level to read, and the weight of the next level in units of 1/[`STEPS`].
    fn level(&self, level: Level, point: &Point) -> (usize, u32) {
        let number = match level {
            Level::First => return (0, 0),
            Level::Number(number) => number,
            Level::Distance(directions) => self.detail(point, directions),
        };
        let last = self.levels.len() - 1;
        // `max` ignores NaN, so NaN becomes the lower limit.
        let limited = (number + self.bias).max(self.min_level).min(self.max_level);
        let steps = (f64::from(limited) * f64::from(STEPS) + 0.5).floor() as i64;
        let steps = steps.clamp(0, last as i64 * i64::from(STEPS)) as usize;
        let unit = STEPS as usize;
        if self.linear_levels {
            (steps / unit, (steps % unit) as u32)
        } else {
            ((steps + unit / 2) / unit, 0)
        }
    }

    /// Returns the value at a point, filtered as the texture object says.
    pub fn sample(&self, point: &Point, level: Level, read: Read<'_>) -> Result<Texel, Fault> {
        let (level, weight) = self.level(level, point);
        let first = self.sample_level(&self.levels[level], point, read)?;
        if weight == 0 {
            return Ok(first);
        }
        let second = self.sample_level(&self.levels[level + 1], point, read)?;
        let mut sum = Sum::default();
        sum.add(&first, STEPS - weight, STEPS);
        sum.add(&second, weight, STEPS);
        Ok(sum.texel())
    }

    fn sample_level(&self, image: &Image, point: &Point, read: Read<'_>) -> Result<Texel, Fault> {
        let view = View::new(self, image, point);
        if !self.linear {
            let place = view.place(|axis| view.axes[axis].nearest(view.at[axis]));
            return place.map_or(Ok(self.border), |place| read(image, place));
        }
        let neighbors: [Neighbors; 3] =
            [0, 1, 2].map(|axis| view.axes[axis].neighbors(view.at[axis]));
        let mut sum = Sum::default();
        for corner in 0..1 << view.dimensions {
            let side = |axis: usize| corner >> axis & 1;
            let weights = (0..view.dimensions).map(|axis| neighbors[axis].weights[side(axis)]);
            let weight = weights.product();
            // Skip a texel with weight 0, because 0 times an infinite texel would be NaN.
            if weight > 0 {
                let place = view.place(|axis| neighbors[axis].texels[side(axis)]);
                let texel = place.map_or(Ok(self.border), |place| read(image, place))?;
                sum.add(&texel, weight, STEPS.pow(view.dimensions as u32));
            }
        }
        Ok(sum.texel())
    }

    /// Returns one component of each of the four texels that bilinear filtering uses. The order is
    /// counterclockwise, beginning with the lower left texel.
    pub fn gather(&self, point: &Point, component: u8, read: Read<'_>) -> Result<Texel, Fault> {
        let image = &self.levels[0];
        let view = View::new(self, image, point);
        let neighbors = [0, 1].map(|axis| view.axes[axis].neighbors(view.at[axis]).texels);
        let mut found = [0; 4];
        for (found, sides) in found.iter_mut().zip([[0, 1], [1, 1], [1, 0], [0, 0]]) {
            let place = view.place(|axis| neighbors[axis][sides[axis]]);
            let texel = place.map_or(Ok(self.border), |place| read(image, place))?;
            *found = texel[usize::from(component)];
        }
        Ok(found)
    }

    /// Returns the texel at integer coordinates, and zeros outside the texture.
    pub fn texel(
        &self,
        geometry: Geometry,
        layer: u32,
        at: [i32; 3],
        level: i32,
        read: Read<'_>,
    ) -> Result<Texel, Fault> {
        let last = self.levels.len() - 1;
        let image = &self.levels[usize::try_from(level).unwrap_or(0).min(last)];
        let mut place = [0; 3];
        if geometry.layered() {
            place[2] = layer.min(image.depth - 1);
        }
        for axis in 0..geometry.coordinates() {
            match u32::try_from(at[axis]) {
                Ok(texel) if texel < image.sizes()[axis] => place[axis] = texel,
                _ => return Ok([0; 4]),
            }
        }
        read(image, place)
    }
}

/// A weighted sum of texels with floating-point components.
#[derive(Default)]
struct Sum([f64; 4]);

impl Sum {
    fn add(&mut self, texel: &Texel, weight: u32, of: u32) {
        let weight = f64::from(weight) / f64::from(of);
        for (sum, component) in self.0.iter_mut().zip(texel) {
            *sum += weight * f64::from(f32::from_bits(*component));
        }
    }

    fn texel(self) -> Texel {
        self.0.map(|sum| from_f32(sum as f32) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::super::format::{Channel, Conversion, Format};
    use super::*;

    fn image(width: u32, height: u32, depth: u32) -> Image {
        Image {
            address: 0,
            format: Format { channel: Channel::F32, count: 1 },
            width,
            height,
            depth,
            layered: false,
            pitch: 0,
            slice: 0,
        }
    }

    fn texture(levels: Vec<Image>) -> Texture {
        Texture {
            levels,
            conversion: Conversion::Normalized,
            wraps: [Wrap::Clamp; 3],
            normalized: false,
            linear: true,
            linear_levels: true,
            bias: 0.0,
            min_level: 0.0,
            max_level: 99.0,
            border: [7f32.to_bits(); 4],
        }
    }

    /// Computes a texel's value from its position: x + 10 y + 100 z + 1000 for each level after the
    /// first.
    fn value(image: &Image, [x, y, z]: [u32; 3]) -> Result<Texel, Fault> {
        let level = 3 - image.width.ilog2();
        assert!(x < image.width && y < image.height && z < image.depth);
        Ok([((x + 10 * y + 100 * z + 1000 * level) as f32).to_bits(), 1, 2, 3])
    }

    fn sample(texture: &Texture, geometry: Geometry, layer: u32, at: [f32; 3]) -> f32 {
        let point = Point { geometry, layer, at };
        f32::from_bits(texture.sample(&point, Level::First, &mut value).unwrap()[0])
    }

    #[test]
    fn test_linear_filtering_interpolates_in_each_dimension() {
        let texture = texture(vec![image(8, 8, 8)]);
        assert_eq!(sample(&texture, Geometry::D1, 9, [2.75, 0.0, 0.0]), 2.25);
        assert_eq!(sample(&texture, Geometry::D2, 9, [2.75, 4.0, 0.0]), 37.25);
        assert_eq!(sample(&texture, Geometry::D3, 9, [2.75, 4.0, 1.75]), 162.25);
        assert_eq!(sample(&texture, Geometry::Layered2, 5, [2.75, 4.0, 0.0]), 537.25);
        assert_eq!(sample(&texture, Geometry::Layered2, 50, [0.0, 0.0, 0.0]), 700.0);
    }

    #[test]
    fn test_point_sampling_and_the_border() {
        let mut texture = texture(vec![image(8, 8, 1)]);
        texture.linear = false;
        texture.wraps = [Wrap::Border; 3];
        assert_eq!(sample(&texture, Geometry::D2, 0, [2.9, 7.1, 0.0]), 72.0);
        assert_eq!(sample(&texture, Geometry::D2, 0, [2.9, 8.0, 0.0]), 7.0);
        texture.linear = true;
        assert_eq!(sample(&texture, Geometry::D2, 0, [0.0, 0.5, 0.0]), 3.5);
    }

    #[test]
    fn test_infinite_neighbors_without_weight_do_not_matter() {
        let texture = texture(vec![image(8, 1, 1)]);
        let point = Point { geometry: Geometry::D1, layer: 0, at: [2.5, 0.0, 0.0] };
        let mut read = |_: &Image, [x, _, _]: [u32; 3]| {
            Ok([if x == 2 { 5.0 } else { f32::INFINITY }.to_bits(), 0, 0, 0])
        };
        let found = texture.sample(&point, Level::First, &mut read).unwrap();
        assert_eq!(f32::from_bits(found[0]), 5.0);
    }

    #[test]
    fn test_levels_are_chosen_and_mixed() {
        let levels = vec![image(8, 8, 1), image(4, 4, 1), image(2, 2, 1)];
        let mut texture = texture(levels);
        texture.normalized = true;
        let point = Point { geometry: Geometry::D2, layer: 0, at: [0.0; 3] };
        let at = |texture: &Texture, level| {
            f32::from_bits(texture.sample(&point, level, &mut value).unwrap()[0])
        };
        assert_eq!(
            [0.0, 0.25, 1.0, 9.0].map(|n| at(&texture, Level::Number(n))),
            [0.0, 250.0, 1000.0, 2000.0]
        );
        assert_eq!(at(&texture, Level::Number(f32::NAN)), 0.0);
        let quarter = [[0.25, 0.0, 0.0], [0.0, 0.125, 0.0]];
        assert_eq!(at(&texture, Level::Distance(quarter)), 1000.0);
        assert_eq!(at(&texture, Level::Distance([[0.0; 3]; 2])), 0.0);
        let x = Point { geometry: Geometry::Cube, layer: 0, at: [2.0, 0.0, 0.0] };
        let turn = Level::Distance([[0.0, 0.0, 1.0], [0.0; 3]]);
        assert_eq!(texture.level(turn, &x), (1, 0));
        (texture.min_level, texture.max_level, texture.bias) = (0.5, 1.5, 1.0);
        assert_eq!(
            [-9.0, 0.0, 9.0].map(|n| at(&texture, Level::Number(n))),
            [500.0, 1000.0, 1500.0]
        );
        (texture.linear_levels, texture.bias) = (false, 0.0);
        assert_eq!(
            [0.5, 1.25, 1.5].map(|n| at(&texture, Level::Number(n))),
            [1000.0, 1000.0, 2000.0]
        );
    }

    #[test]
    fn test_cubemaps_read_the_face_in_the_direction() {
        let mut texture = texture(vec![image(8, 8, 12)]);
        texture.linear = false;
        let down = [0.0, -1.0, 0.0];
        assert_eq!(sample(&texture, Geometry::Cube, 0, down), 344.0);
        assert_eq!(sample(&texture, Geometry::LayeredCube, 1, down), 944.0);
        assert_eq!(sample(&texture, Geometry::LayeredCube, 9, down), 944.0);
    }

    #[test]
    fn test_texels_outside_are_zero_and_gathers_go_around() {
        let texture = texture(vec![image(8, 8, 1)]);
        let texel = |at| texture.texel(Geometry::D2, 0, at, 0, &mut value).unwrap();
        assert_eq!(f32::from_bits(texel([3, 4, 0])[0]), 43.0);
        assert_eq!([texel([8, 0, 0]), texel([0, -1, 0])], [[0; 4]; 2]);
        let point = Point { geometry: Geometry::D2, layer: 0, at: [3.0, 5.0, 0.0] };
        let found = texture.gather(&point, 0, &mut value).unwrap();
        assert_eq!(found.map(f32::from_bits), [52.0, 53.0, 43.0, 42.0]);
    }
}
