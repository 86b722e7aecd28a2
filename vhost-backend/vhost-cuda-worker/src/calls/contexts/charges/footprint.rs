//! Computes an upper bound for the device memory that an image takes, before the image is loaded,
//! and finds out which CUDA functions its kernels may call.
//!
//! An image is a cubin, PTX text, or a fatbin that contains several of either. From a fatbin, the
//! driver picks one entry that suits the device. The worker can't know which one, so it uses the
//! largest. The image no longer contains entries that suit none of the session's devices, or
//! entries that are neither cubins nor PTX (`calls::code::image` removes them). So the driver gets
//! only entries that this module has counted.

use cuda_api::fatbin::{Decompressor, ELF_MAGIC, FATBIN_MAGIC, Fatbin, FatbinError, Kind};
use cuda_api::ptx_image;

use super::cubin;
use super::ptx;
use super::taken::Footprint;
use crate::driver::CuError;

/// The largest decompressed size allowed for one image in a fatbin, in bytes.
const MAX_IMAGE: usize = 512 << 20;

/// The error for an image whose memory can't be determined. Such an image isn't loaded.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error(transparent)]
    Cubin(#[from] cubin::Damaged),
    #[error(transparent)]
    Ptx(#[from] ptx::Unreadable),
    #[error(transparent)]
    Fatbin(#[from] FatbinError),
    /// The contents of a fatbin's entry don't match the kind that the entry declares, so the driver
    /// might treat them as another kind.
    #[error("an entry of the fatbin is neither a cubin nor PTX text")]
    Entry,
}

impl From<&Unreadable> for CuError {
    fn from(error: &Unreadable) -> Self {
        match error {
            Unreadable::Cubin(_) | Unreadable::Entry => Self::INVALID_IMAGE,
            Unreadable::Fatbin(FatbinError::TooLarge { .. }) => Self::OUT_OF_MEMORY,
            Unreadable::Fatbin(_) => Self::INVALID_IMAGE,
            Unreadable::Ptx(ptx::Unreadable::Size) => Self::NOT_SUPPORTED,
            Unreadable::Ptx(_) => Self::INVALID_PTX,
        }
    }
}

/// Returns an upper bound for the memory that an image takes.
///
/// # Errors
///
/// Fails if an image can't be parsed, or if its memory can't be determined.
pub(super) fn footprint(
    bytes: &[u8],
    decompressor: &mut Decompressor,
) -> Result<Footprint, Unreadable> {
    if !bytes.starts_with(&FATBIN_MAGIC.to_le_bytes()) {
        return if bytes.starts_with(&ELF_MAGIC) { of_elf(bytes) } else { of_ptx(bytes) };
    }
    let mut largest = Footprint::default();
    for entry in Fatbin::parse(bytes)?.entries() {
        let entry = entry?;
        let payload = entry.payload_with(decompressor, MAX_IMAGE)?;
        let found = match entry.kind {
            Kind::Cubin => cubin::footprint(payload)?,
            Kind::Ptx => of_ptx(payload)?,
            Kind::Other(_) => return Err(Unreadable::Entry),
        };
        largest = largest.or(found);
    }
    Ok(largest)
}

/// Returns an upper bound for the device memory that an ELF file takes. If the file contains PTX,
/// softgpu loads the PTX, and NVIDIA's driver loads the file as a cubin.
fn of_elf(bytes: &[u8]) -> Result<Footprint, Unreadable> {
    let mut ptx = Footprint::default();
    for text in ptx_image::texts(bytes) {
        ptx.add(of_ptx(text)?);
    }
    Ok(cubin::footprint(bytes)?.or(ptx))
}

/// Returns an upper bound for the device memory that PTX text takes. The size of the compiled code
/// isn't known yet. The length of the text is used instead, because the PTX text that compilers
/// generate is longer than the resulting code.
fn of_ptx(text: &[u8]) -> Result<Footprint, Unreadable> {
    // Ignore the text after the first zero byte, where the driver stops reading.
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    if !is_text(text) {
        return Err(Unreadable::Entry);
    }
    let ptx::Variables { bytes: data, uses_heap, may_print, may_launch } = ptx::variables(text)?;
    // The local memory that kernels declare needn't be counted here. The driver compiles the text
    // itself, so it reports their local memory correctly.
    let code = text.len() as u64;
    Ok(Footprint { data, code, uses_heap, may_print, may_launch, ..Footprint::default() })
}

/// Returns whether an image is text. PTX can contain bytes of characters that aren't ASCII, in the
/// names of source files. Images in other formats aren't text: they begin with a byte that isn't
/// ASCII, or contain control characters.
pub(in crate::calls) fn is_text(text: &[u8]) -> bool {
    let starts = text.first().is_some_and(|byte| byte.is_ascii());
    starts && !text.iter().any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;

    use super::*;

    fn footprint(bytes: &[u8]) -> Result<Footprint, CuError> {
        let found = super::footprint(bytes, &mut Decompressor::default());
        found.map_err(|error| CuError::from(&error))
    }

    /// Builds an uncompressed fatbin for tests. Each entry has a kind (1 for PTX, 2 for a cubin),
    /// an architecture such as 90, and its contents.
    pub(in crate::calls) fn fatbin(entries: &[(u16, u32, Vec<u8>)]) -> Vec<u8> {
        let mut body = Vec::new();
        for (kind, arch, payload) in entries {
            let mut header = vec![0u8; 64];
            header[..2].copy_from_slice(&kind.to_le_bytes());
            header[4..8].copy_from_slice(&64u32.to_le_bytes());
            let stored = payload.len().next_multiple_of(8);
            header[8..16].copy_from_slice(&(stored as u64).to_le_bytes());
            header[28..32].copy_from_slice(&arch.to_le_bytes());
            body.extend(header);
            body.extend(payload);
            body.resize(body.len() + stored - payload.len(), 0);
        }
        let mut bytes = FATBIN_MAGIC.to_le_bytes().to_vec();
        bytes.extend([1, 0, 16, 0]);
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    fn ptx(bytes: u64) -> Vec<u8> {
        format!(".version 7.0\n.global .b8 v[{bytes}];").into_bytes()
    }

    pub(in crate::calls) fn machine_code(bytes: u64) -> Vec<u8> {
        super::super::cubin::tests::cubin(&[(".nv.global", 2, bytes)])
    }

    /// Calls `each` with `path`, if it's a file, or with all files in the folder.
    fn walk(path: &Path, each: &mut impl FnMut(&Path)) {
        if !path.is_dir() {
            return each(path);
        }
        for entry in std::fs::read_dir(path).unwrap() {
            walk(&entry.unwrap().path(), each);
        }
    }

    /// Checks images that NVIDIA's tools have generated; see tests/README.md.
    #[test]
    #[ignore = "needs a folder with libraries, VIRTIO_CUDA_IMAGES"]
    fn images_in_real_libraries_are_accepted() {
        let folder = std::env::var_os("VIRTIO_CUDA_IMAGES").expect("VIRTIO_CUDA_IMAGES is set");
        let (mut decompressor, mut images, mut refused) = (Decompressor::default(), 0, 0);
        let mut others = 0;
        walk(Path::new(&folder), &mut |file| {
            let bytes = std::fs::read(file).unwrap();
            for at in memchr::memmem::find_iter(&bytes, &FATBIN_MAGIC.to_le_bytes()) {
                // The magic number also occurs in code, but the version and the header's length
                // don't follow it there.
                let Ok(fatbin) = Fatbin::parse(&bytes[at..]) else {
                    assert!(
                        !bytes[at + 4..].starts_with(&[1, 0, 16, 0]),
                        "{} at {at:#x}",
                        file.display()
                    );
                    continue;
                };
                for entry in fatbin.entries() {
                    let mut check = || {
                        let entry = entry.as_ref().map_err(|error| (0, error.to_string()))?;
                        if matches!(entry.kind, Kind::Other(_)) {
                            // The worker removes entries of other kinds before the driver gets the
                            // image.
                            others += 1;
                            return Ok(());
                        }
                        let payload = entry.payload_with(&mut decompressor, MAX_IMAGE);
                        let payload = payload.map_err(|error| (entry.arch, error.to_string()))?;
                        let found = match entry.kind {
                            Kind::Cubin => cubin::footprint(payload).map_err(Unreadable::from),
                            _ => of_ptx(payload),
                        };
                        found.map(drop).map_err(|error| (entry.arch, error.to_string()))
                    };
                    images += 1;
                    if let Err((arch, error)) = check() {
                        refused += 1;
                        println!("{} at {at:#x}, sm_{arch}: {error}", file.display());
                    }
                }
            }
        });
        println!(
            "{refused} of {images} images are refused, and {others} are neither cubins nor PTX"
        );
        assert!(images > 0 && refused == 0);
    }

    #[test]
    fn a_fatbin_counts_by_its_largest_entry() {
        let image = fatbin(&[
            (2, 80, machine_code(1 << 20)),
            (2, 90, machine_code(2 << 20)),
            (1, 75, ptx(3 << 20)),
        ]);
        assert_eq!(footprint(&image).unwrap().data, 3 << 20);
        assert_eq!(footprint(&fatbin(&[])), Ok(Footprint::default()));
    }

    #[test]
    fn ptx_in_an_elf_file_counts_like_ptx() {
        use ptx_image::Linking;
        let text =
            [&ptx(5 << 20)[..], b".extern .func (.reg .b64 r) malloc (.reg .b64 n);"].concat();
        let alone = footprint(&text).unwrap();
        assert!(alone.uses_heap);
        let file = |text: &[u8]| ptx_image::wrap(text, 90, Linking::Complete);
        let found = footprint(&file(&text)).unwrap();
        assert_eq!((found.data, found.code, found.uses_heap), (alone.data, alone.code, true));
        // A file that nvJitLink has generated can contain several ELF files with PTX, and the
        // variables of all of them count.
        let both = [file(&text), ptx_image::wrap(&ptx(2 << 20), 90, Linking::Input)].concat();
        assert_eq!(footprint(&both).unwrap().data, 7 << 20);
        assert_eq!(footprint(&file(b".version 8.0 /*")), Err(CuError::INVALID_PTX));
        // NVIDIA's driver would load the cubin's contents, and softgpu the PTX, so both count.
        let cubin = [machine_code(9 << 20), file(&text)].concat();
        let found = footprint(&cubin).unwrap();
        assert_eq!((found.data, found.uses_heap), (9 << 20, true));
    }

    #[test]
    fn any_entry_may_make_the_image_print() {
        let prints = super::super::cubin::tests::importing(&["vprintf"]);
        let image = fatbin(&[(2, 90, prints), (2, 90, machine_code(9 << 20))]);
        let found = footprint(&image).unwrap();
        assert_eq!((found.data, found.may_print), (9 << 20, true));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let invalid = Err(CuError::INVALID_IMAGE);
        let whole = fatbin(&[(2, 90, machine_code(2 << 20))]);
        assert_eq!(footprint(&whole[..30]), invalid, "a shortened fatbin");
        assert_eq!(footprint(b"\x7fELF nothing"), invalid);
        let cubin = || machine_code(1 << 20);
        let text = || ptx(1);
        for (kind, payload) in [(2, b"\x7fELF nothing".to_vec()), (2, text()), (1, cubin())] {
            assert_eq!(footprint(&fatbin(&[(kind, 90, payload)])), invalid, "kind {kind}");
        }
        for kind in [0, 4, 8, 16] {
            assert_eq!(footprint(&fatbin(&[(kind, 90, cubin())])), invalid, "kind {kind}");
        }
        assert_eq!(footprint(b".version 8.0 /*"), Err(CuError::INVALID_PTX));
    }
}
