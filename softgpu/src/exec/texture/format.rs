//! The formats of texels, and how textures convert them.

use crate::exec::round::F16;

/// The format of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Channel {
    U8,
    U16,
    U32,
    S8,
    S16,
    S32,
    F16,
    F32,
}

/// The form in which a texture returns the values of integer texels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    /// As integers, unchanged.
    Integer,
    /// 8-bit and 16-bit integers as numbers from 0 to 1, or from -1 to 1 if they are signed. 32-bit
    /// integers can't be converted.
    Normalized,
    /// As numbers, converted as in `Normalized`. The first three components of 8-bit formats are
    /// also converted from sRGB to linear.
    Srgb,
}

/// The format of a texel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// The format of each component.
    pub channel: Channel,
    /// The number of components: 1, 2 or 4.
    pub count: u8,
}

impl Channel {
    /// Returns the size of a component in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 | Self::F16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
        }
    }

    /// Returns whether a texture with this conversion returns floating-point numbers.
    pub fn is_float(self, conversion: Conversion) -> bool {
        match self {
            Self::F16 | Self::F32 => true,
            Self::U32 | Self::S32 => false,
            _ => conversion != Conversion::Integer,
        }
    }

    fn decode(self, word: u32, conversion: Conversion) -> u32 {
        let floats = self.is_float(conversion);
        let part = |value: f32, largest: f32| (value / largest).max(-1.0).to_bits();
        match self {
            Self::U8 if conversion == Conversion::Srgb => linear(word as u8).to_bits(),
            Self::U8 if floats => part(f32::from(word as u8), 255.0),
            Self::S8 if floats => part(f32::from(word as i8), 127.0),
            Self::U16 if floats => part(f32::from(word as u16), 65535.0),
            Self::S16 if floats => part(f32::from(word as i16), 32767.0),
            Self::S8 => i32::from(word as i8) as u32,
            Self::S16 => i32::from(word as i16) as u32,
            Self::F16 => (F16.decode(word as u16) as f32).to_bits(),
            Self::U8 | Self::U16 | Self::U32 | Self::S32 | Self::F32 => word,
        }
    }
}

/// Converts a component from sRGB to linear.
fn linear(value: u8) -> f32 {
    let value = f64::from(value) / 255.0;
    let linear = if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) };
    linear as f32
}

impl Format {
    /// Returns the size of a texel in bytes.
    pub fn bytes(self) -> usize {
        self.channel.bytes() * usize::from(self.count)
    }

    /// Converts a texel to four components. Missing components are 0, except for the last one,
    /// which is 1.
    pub fn decode(self, bytes: &[u8; 16], conversion: Conversion) -> [u32; 4] {
        let one = if self.channel.is_float(conversion) { 1f32.to_bits() } else { 1 };
        let mut components = [0, 0, 0, one];
        let words = bytes.chunks_exact(self.channel.bytes()).take(self.count.into());
        for (index, (component, part)) in components.iter_mut().zip(words).enumerate() {
            let mut word = [0; 4];
            word[..part.len()].copy_from_slice(part);
            let conversion = match (index, conversion) {
                // The last component is the opacity, which isn't encoded in sRGB.
                (3, Conversion::Srgb) => Conversion::Normalized,
                (_, conversion) => conversion,
            };
            *component = self.channel.decode(u32::from_le_bytes(word), conversion);
        }
        components
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(channel: Channel, bytes: [u8; 8], conversion: Conversion) -> [f32; 4] {
        let mut all = [0; 16];
        all[..8].copy_from_slice(&bytes);
        Format { channel, count: 4 }.decode(&all, conversion).map(f32::from_bits)
    }

    #[test]
    fn test_integers_become_numbers_up_to_1() {
        let normal = Conversion::Normalized;
        let found = floats(Channel::U8, [0, 51, 255, 1, 0, 0, 0, 0], normal);
        assert_eq!(found, [0.0, 0.2, 1.0, 1.0 / 255.0]);
        let found = floats(Channel::S8, [0x80, 0x81, 0x7f, 0, 0, 0, 0, 0], normal);
        assert_eq!(found, [-1.0, -1.0, 1.0, 0.0]);
        let found = floats(Channel::U16, [0xff, 0xff, 0, 0, 0x33, 0x33, 0, 0], normal);
        assert_eq!(found, [1.0, 0.0, 0.2, 0.0]);
        let found = floats(Channel::S16, [0xff, 0x7f, 0, 0x80, 1, 0x80, 0, 0], normal);
        assert_eq!(found, [1.0, -1.0, -1.0, 0.0]);
    }

    #[test]
    fn test_srgb_affects_colors_but_not_opacity() {
        let found = floats(Channel::U8, [0, 255, 10, 10, 0, 0, 0, 0], Conversion::Srgb);
        assert_eq!(found[..2], [0.0, 1.0]);
        assert!((found[2] - 10.0 / 255.0 / 12.92).abs() < 1e-7);
        assert_eq!(found[3], 10.0 / 255.0);
    }

    #[test]
    fn test_integers_and_halves_keep_their_values() {
        let bytes = |low: &[u8]| {
            let mut all = [0; 16];
            all[..low.len()].copy_from_slice(low);
            all
        };
        let short = Format { channel: Channel::S16, count: 2 };
        let found = short.decode(&bytes(&[0xfe, 0xff, 3, 0]), Conversion::Integer);
        assert_eq!(found, [-2i32 as u32, 3, 0, 1]);
        // 32-bit integers are never converted.
        let word = Format { channel: Channel::U32, count: 1 };
        assert_eq!(word.decode(&bytes(&[7]), Conversion::Normalized), [7, 0, 0, 1]);
        let half = Format { channel: Channel::F16, count: 1 };
        let found = half.decode(&bytes(&[0, 0xc1]), Conversion::Normalized);
        assert_eq!(found.map(f32::from_bits), [-2.5, 0.0, 0.0, 1.0]);
    }
}
