//! Computes an upper bound for the device memory that an image takes, before the image is loaded,
//! and finds out which functions of CUDA's its kernels may call.
//!
//! An image is a cubin, PTX text, or a fatbin that contains several of either. From a fatbin, the
//! driver picks one entry that suits the device. The worker can't know which one, so it uses the
//! largest suitable entry. Entries for other devices aren't decompressed.

use cuda_api::fatbin::{Decompressor, ELF_MAGIC, FATBIN_MAGIC, Fatbin, Kind};

use super::cubin;
use super::ptx;
use super::taken::Footprint;

/// The largest decompressed size allowed for one image in a fatbin, in bytes.
const MAX_IMAGE: usize = 512 << 20;

/// Returns an upper bound for the memory that an image takes on devices with these compute
/// capabilities (90 for 9.0). If an image can't be parsed, the bound is its file size, and its kernels
/// may print: the driver most likely can't load it either.
///
/// # Errors
///
/// Fails if the size of a variable in PTX text can't be determined.
pub(super) fn footprint(
    bytes: &[u8],
    capabilities: &[u32],
    decompressor: &mut Decompressor,
) -> Result<Footprint, ptx::SizeUnknown> {
    if !bytes.starts_with(&FATBIN_MAGIC.to_le_bytes()) {
        return if bytes.starts_with(&ELF_MAGIC) { Ok(of_cubin(bytes)) } else { of_ptx(bytes) };
    }
    let Ok(fatbin) = Fatbin::parse(bytes) else { return Ok(unreadable(bytes)) };
    let mut largest = Footprint::default();
    for entry in fatbin.entries() {
        let Ok(entry) = entry else { return Ok(unreadable(bytes)) };
        let suits = |capability: &u32| match entry.kind {
            Kind::Cubin => entry.arch / 10 == capability / 10 && entry.arch % 10 <= capability % 10,
            Kind::Ptx => entry.arch <= *capability,
            Kind::Other(_) => false,
        };
        if !capabilities.iter().any(suits) {
            continue;
        }
        let found = match (entry.kind, entry.payload_with(decompressor, MAX_IMAGE)) {
            (Kind::Other(_), _) => continue,
            (Kind::Cubin, Ok(elf)) => of_cubin(elf),
            (Kind::Ptx, Ok(text)) => of_ptx(text)?,
            (_, Err(_)) => unreadable(bytes),
        };
        let uses_heap = largest.uses_heap || found.uses_heap;
        let may_print = largest.may_print || found.may_print;
        if found.total() > largest.total() {
            largest = found;
        }
        (largest.uses_heap, largest.may_print) = (uses_heap, may_print);
    }
    Ok(largest)
}

fn unreadable(bytes: &[u8]) -> Footprint {
    Footprint { data: bytes.len() as u64, may_print: true, ..Footprint::default() }
}

fn of_cubin(elf: &[u8]) -> Footprint {
    cubin::footprint(elf).unwrap_or_else(|| unreadable(elf))
}

/// Returns an upper bound for the device memory that PTX text takes. The size of the compiled code
/// isn't known yet, so the length of the text is used for it: compilers generate PTX text that is
/// longer than the resulting code.
fn of_ptx(text: &[u8]) -> Result<Footprint, ptx::SizeUnknown> {
    // The driver stops reading at the first zero byte.
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    let ptx::Variables { bytes: data, uses_heap, may_print } = ptx::variables(text)?;
    Ok(Footprint { data, code: text.len() as u64, kernels: vec![], uses_heap, may_print })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn footprint(bytes: &[u8], capabilities: &[u32]) -> Result<Footprint, ptx::SizeUnknown> {
        super::footprint(bytes, capabilities, &mut Decompressor::default())
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

    fn machine_code(bytes: u64) -> Vec<u8> {
        super::super::cubin::tests::cubin(&[(".nv.global", 2, bytes)])
    }

    #[test]
    fn a_fatbin_counts_by_its_largest_suitable_entry() {
        let image = fatbin(&[
            (2, 80, machine_code(1 << 20)),
            (2, 90, machine_code(2 << 20)),
            (2, 100, machine_code(9 << 20)),
            (1, 75, ptx(3 << 20)),
            (1, 120, ptx(9 << 20)),
        ]);
        let data = |capabilities: &[u32]| footprint(&image, capabilities).unwrap().data;
        assert_eq!(data(&[90]), 3 << 20);
        assert_eq!(data(&[70]), 0);
        assert_eq!(data(&[70, 100]), 9 << 20);
    }

    #[test]
    fn any_suitable_entry_may_make_the_image_print() {
        let prints = || super::super::cubin::tests::cubin(&[("vprintf", 0, 0)]);
        let image = fatbin(&[(2, 80, prints()), (2, 90, machine_code(9 << 20))]);
        let may_print = |capability| footprint(&image, &[capability]).unwrap().may_print;
        assert!(may_print(80) && !may_print(90));
        let both = fatbin(&[(2, 90, prints()), (2, 90, machine_code(9 << 20))]);
        let found = footprint(&both, &[90]).unwrap();
        assert_eq!((found.data, found.may_print), (9 << 20, true));
    }

    #[test]
    fn an_unreadable_image_counts_by_its_size() {
        let whole = fatbin(&[(2, 90, machine_code(2 << 20))]);
        for damaged in [&whole[..30], &b"\x7fELF nothing"[..]] {
            assert_eq!(footprint(damaged, &[90]).unwrap().data, damaged.len() as u64);
        }
        let image = fatbin(&[(2, 90, b"\x7fELF nothing".to_vec())]);
        assert!(footprint(&image, &[90]).unwrap().data > 0);
    }
}
