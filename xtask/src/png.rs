//! Converts the mandelbrot program's binary PPM picture to PNG.

use std::error::Error;
use std::path::Path;

/// Converts `ppm` (P6, 8 bits) to `png`.
pub fn convert(ppm: &Path, png: &Path) -> Result<(), Box<dyn Error>> {
    let bytes = std::fs::read(ppm).map_err(|e| format!("cannot read {}: {e}", ppm.display()))?;
    let (width, height, pixels) =
        parse(&bytes).ok_or_else(|| format!("{} is not a binary PPM", ppm.display()))?;
    let file = std::fs::File::create(png)?;
    let mut encoder = png::Encoder::new(std::io::BufWriter::new(file), width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(pixels)?;
    Ok(())
}

/// Parses width, height and pixels: `P6 WIDTH HEIGHT 255`, one white space, then 3 bytes per pixel.
fn parse(bytes: &[u8]) -> Option<(u32, u32, &[u8])> {
    let mut rest = bytes;
    let mut word = || {
        let start = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let len = rest[start..].iter().position(u8::is_ascii_whitespace)?;
        let word = std::str::from_utf8(&rest[start..start + len]).ok()?;
        rest = &rest[start + len + 1..];
        Some(word)
    };
    if word()? != "P6" {
        return None;
    }
    let (width, height): (u32, u32) = (word()?.parse().ok()?, word()?.parse().ok()?);
    let fits = word()? == "255" && rest.len() as u64 == u64::from(width) * u64::from(height) * 3;
    fits.then_some((width, height, rest))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_ppm_is_parsed_and_invalid_input_refused() {
        assert_eq!(super::parse(b"P6\n1 2\n255\nabcdef"), Some((1, 2, &b"abcdef"[..])));
        for bad in [&b"P5\n1 2\n255\nabcdef"[..], b"P6\n1 2\n255\nabc", b"P6", b""] {
            assert_eq!(super::parse(bad), None);
        }
    }
}
