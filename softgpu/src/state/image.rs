//! Finds the PTX in the images that programs load or link.

use cuda_api::error::CuError;
use cuda_api::fatbin::{self, Fatbin, Image};
use cuda_api::{machine_code, ptx_image};

use super::device::capability;
use super::elf;
use crate::log;
use crate::ptx::error::PtxError;
use crate::ptx::source::{self, Source};
use crate::ptx::unit::{self, Unit};

/// The newest supported PTX `.version`, as major * 10 + minor.
const PTX_VERSION: i32 = 90;
/// Maximum decompressed size of the PTX text in a fatbin, in bytes.
const MAX_TEXT: usize = 256 << 20;

/// The reason why an image couldn't be loaded: an error code, and a message for the log.
#[derive(Debug)]
pub(crate) struct LoadError {
    pub(crate) code: CuError,
    pub(crate) text: String,
}

impl LoadError {
    pub(crate) fn new(code: CuError, text: impl Into<String>) -> Self {
        let error = Self { code, text: text.into() };
        log::line(&format!("module not loaded: {}", error.text));
        error
    }
}

/// The machine type (`e_machine`) of an ELF file with code for a GPU.
const CUDA: [u8; 2] = [190, 0];

impl From<PtxError> for LoadError {
    fn from(error: PtxError) -> Self {
        let code = match &error {
            PtxError::Unsupported { .. } | PtxError::TooNew(_) => CuError::UNSUPPORTED_PTX_VERSION,
            _ => CuError::INVALID_PTX,
        };
        Self::new(code, error.to_string())
    }
}

/// Parses an image: PTX, a fatbin with PTX that the device can run, or a linked image.
pub(crate) fn parse(bytes: &[u8]) -> Result<Source, LoadError> {
    let mut source = source::link(units(bytes)?)?;
    if bytes.starts_with(b"\x7fELF") {
        source.frames = elf::frames(bytes).unwrap_or_default().into_iter().collect();
    }
    Ok(source)
}

/// Returns the declarations in an image's PTX texts.
pub(crate) fn units(bytes: &[u8]) -> Result<Vec<Unit>, LoadError> {
    let texts = ptx_image::texts(bytes);
    if !texts.is_empty() {
        return texts.into_iter().map(text).collect();
    }
    if bytes.starts_with(b"\x7fELF") {
        if elf::sections(bytes).is_none() || bytes.get(18..20) != Some(&CUDA) {
            return Err(LoadError { code: CuError::INVALID_IMAGE, ..no_ptx(bytes) });
        }
        let texts = elf::texts(bytes).ok_or_else(|| no_ptx(bytes))?;
        return texts.into_iter().map(ptx).collect();
    }
    if bytes.starts_with(&fatbin::FATBIN_MAGIC.to_le_bytes()) {
        return Ok(vec![from_fatbin(bytes)?]);
    }
    Ok(vec![text(bytes.split(|b| *b == 0).next().unwrap_or_default())?])
}

fn text(bytes: &[u8]) -> Result<Unit, LoadError> {
    if !fatbin::is_ptx(bytes) {
        return Err(LoadError::new(CuError::INVALID_IMAGE, "the image is not PTX text"));
    }
    let text = String::from_utf8(bytes.to_vec())
        .map_err(|_| LoadError::new(CuError::INVALID_PTX, "the PTX text is not UTF-8"))?;
    ptx(text)
}

/// Parses the declarations in PTX text, and checks that the device can run it.
fn ptx(text: String) -> Result<Unit, LoadError> {
    let unit = unit::parse(text)?;
    if unit.ptx_version > PTX_VERSION {
        let (major, minor) = (unit.ptx_version / 10, unit.ptx_version % 10);
        let text = format!("PTX {major}.{minor} is newer than PTX 9.0, the newest in CUDA 13.0");
        return Err(LoadError::new(CuError::UNSUPPORTED_PTX_VERSION, text));
    }
    if !runs(&unit, capability()) {
        let suffix = unit.target_suffix.map_or(String::new(), String::from);
        let text =
            format!("the device is sm_{}, and can't run sm_{}{suffix}", capability(), unit.target);
        return Err(LoadError::new(CuError::INVALID_PTX, text));
    }
    Ok(unit)
}

/// Returns whether a device with a compute capability can run code for the text's target. Code for
/// an architecture-specific target (`sm_90a`) runs only on devices with exactly that compute
/// capability. Code for a family-specific target (`sm_100f`) runs only on devices with the same
/// major number.
fn runs(unit: &Unit, capability: u32) -> bool {
    let Ok(target) = u32::try_from(unit.target) else { return false };
    match unit.target_suffix {
        Some('a') => target == capability,
        Some('f') => target / 10 == capability / 10 && target <= capability,
        _ => target <= capability,
    }
}

fn from_fatbin(bytes: &[u8]) -> Result<Unit, LoadError> {
    let damaged = |e: fatbin::FatbinError| LoadError::new(CuError::INVALID_IMAGE, e.to_string());
    let fatbin = Fatbin::parse(bytes).map_err(damaged)?;
    let mut fitting = Vec::new();
    for entry in fatbin.entries() {
        let entry = entry.map_err(damaged)?;
        if entry.kind == fatbin::Kind::Ptx && entry.arch <= capability() {
            fitting.push(entry);
        }
    }
    // Try the entry for the newest architecture first. Its PTX may still fail the check, because an
    // architecture-specific target runs only on other devices.
    fitting.sort_by_key(|entry| std::cmp::Reverse(entry.arch));
    let mut error = None;
    for entry in fitting {
        let Some(Image::Ptx(text)) = entry.image(MAX_TEXT).map_err(damaged)? else {
            return Err(LoadError::new(CuError::INVALID_IMAGE, "the fatbin's PTX is invalid"));
        };
        match self::text(text.trim_end_matches('\0').as_bytes()) {
            Ok(unit) => return Ok(unit),
            Err(failed) => error = error.or(Some(failed)),
        }
    }
    Err(error.unwrap_or_else(|| no_ptx(bytes)))
}

/// Returns the error for an image that contains no PTX for the device.
fn no_ptx(image: &[u8]) -> LoadError {
    let text = machine_code::explain(image, capability());
    let text = text.unwrap_or_else(|| "the image has no PTX".into());
    LoadError::new(CuError::NO_BINARY_FOR_GPU, text)
}

/// Returns the declarations in the PTX of all fatbins in a host object.
pub(crate) fn object_units(file: &[u8]) -> Result<Vec<Unit>, LoadError> {
    let damaged = || LoadError::new(CuError::INVALID_IMAGE, "the object is not a 64-bit ELF file");
    let sections = elf::sections(file).ok_or_else(damaged)?;
    let mut units = Vec::new();
    for (_, contents) in sections.iter().filter(|(name, _)| {
        matches!(*name, b".nv_fatbin" | b"__nv_relfatbin" | b".nvFatBinSegment.fatbin")
    }) {
        let mut rest = *contents;
        while let Some(at) = find(rest, &fatbin::FATBIN_MAGIC.to_le_bytes()) {
            rest = &rest[at..];
            let Ok(image) = fatbin::prefix(rest) else { break };
            units.push(from_fatbin(image)?);
            rest = &rest[image.len()..];
        }
    }
    Ok(units)
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes.windows(pattern.len()).position(|window| window == pattern)
}

/// Returns the declarations in the PTX of an archive's members. Skips members without PTX that the
/// device can run. The symbols that such members define stay unresolved.
pub(crate) fn library_units(file: &[u8]) -> Result<Vec<Unit>, LoadError> {
    let damaged = || LoadError::new(CuError::INVALID_IMAGE, "the library is not an archive");
    let mut rest = file.strip_prefix(b"!<arch>\n").ok_or_else(damaged)?;
    let mut units = Vec::new();
    const HEADER: usize = 60;
    while rest.len() >= HEADER {
        let size = String::from_utf8_lossy(&rest[48..58]);
        let size: usize = size.trim().parse().map_err(|_| damaged())?;
        let member = rest.get(HEADER..).and_then(|r| r.get(..size)).ok_or_else(damaged)?;
        if member.starts_with(b"\x7fELF") {
            units.extend(object_units(member).unwrap_or_default());
        }
        // Members start at even offsets.
        rest = rest.get(HEADER + size.next_multiple_of(2)..).unwrap_or_default();
    }
    Ok(units)
}
