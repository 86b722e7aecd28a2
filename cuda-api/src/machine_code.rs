//! Explains why devices that execute PTX, such as softgpu's, can't load machine code.

use crate::fatbin::{ELF_MAGIC, FATBIN_MAGIC, Fatbin, Kind};
use crate::ptx_image;

/// Returns an explanation for an image in which a device with a compute capability (90 for 9.0)
/// finds no PTX that it can execute: a cubin, or a fatbin with machine code. It names the targets
/// of the machine code, and says what to do.
pub fn explain(image: &[u8], capability: u32) -> Option<String> {
    let found = if image.starts_with(&ELF_MAGIC) {
        let target = target(image).filter(|_| ptx_image::texts(image).is_empty())?;
        format!("machine code for sm_{target}")
    } else if image.starts_with(&FATBIN_MAGIC.to_le_bytes()) {
        contents(image, capability)?
    } else {
        return None;
    };
    Some(format!(
        "the image has {found}, and this software GPU executes only PTX for sm_{capability} or \
         older. Include PTX: nvcc -gencode arch=compute_{capability},code=compute_{capability}, or \
         nvrtcGetPTX. NVRTC and nvJitLink 12.9 and newer return PTX in the place of machine code by \
         themselves"
    ))
}

/// Returns the compute capability that a cubin is for.
fn target(cubin: &[u8]) -> Option<u32> {
    let flags = u32::from_le_bytes(cubin.get(48..52)?.try_into().ok()?);
    match cubin.get(7..9)? {
        [0x33, _] => Some(flags & 0xff),
        [0x41, _] => Some(flags >> 8 & 0xff),
        _ => None,
    }
}

/// Describes the contents of a fatbin, unless it has PTX for the device or can't be read.
fn contents(fatbin: &[u8], capability: u32) -> Option<String> {
    let (mut cubins, mut texts) = (Vec::new(), Vec::new());
    for entry in Fatbin::parse(fatbin).ok()?.entries() {
        let entry = entry.ok()?;
        match entry.kind {
            Kind::Ptx if entry.arch <= capability => return None,
            Kind::Ptx => texts.push(entry.arch),
            Kind::Cubin => cubins.push(entry.arch),
            Kind::Other(_) => {}
        }
    }
    let list = |what: &str, mut targets: Vec<u32>| {
        targets.sort_unstable();
        targets.dedup();
        // List at most 16 targets, because a fatbin from a program can have any number of entries.
        targets.truncate(16);
        let targets: Vec<String> = targets.iter().map(|target| format!("sm_{target}")).collect();
        (!targets.is_empty()).then(|| format!("{what} for {}", targets.join(", ")))
    };
    let parts = [list("machine code", cubins), list("PTX", texts)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Some(if parts.is_empty() { "no code".into() } else { parts.join(" and ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cubin(format: [u8; 2], flags: u32) -> Vec<u8> {
        let mut cubin = vec![0; 64];
        cubin[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        cubin[7..9].copy_from_slice(&format);
        cubin[48..52].copy_from_slice(&flags.to_le_bytes());
        cubin
    }

    fn fatbin(entries: &[(u16, u32)]) -> Vec<u8> {
        let mut fatbin = FATBIN_MAGIC.to_le_bytes().to_vec();
        fatbin.extend([1, 0, 16, 0]);
        fatbin.extend((entries.len() as u64 * 72).to_le_bytes());
        for (kind, arch) in entries {
            let mut entry = vec![0; 72];
            entry[..2].copy_from_slice(&kind.to_le_bytes());
            entry[4..8].copy_from_slice(&64u32.to_le_bytes());
            entry[8..16].copy_from_slice(&8u64.to_le_bytes());
            entry[28..32].copy_from_slice(&arch.to_le_bytes());
            fatbin.extend(entry);
        }
        fatbin
    }

    #[test]
    fn the_targets_of_machine_code_are_named() {
        // The format numbers and flags are those of files that nvJitLink 12.9 and 13.5 created.
        for (format, flags, target) in [
            ([0x33, 7], 0x5a_055a, "machine code for sm_90,"),
            ([0x41, 8], 0x0600_5a04, "machine code for sm_90,"),
            ([0x41, 8], 0x0600_7802, "machine code for sm_120,"),
        ] {
            let text = explain(&cubin(format, flags), 90).unwrap();
            assert!(text.contains(target), "{text}");
        }
        let text = explain(&fatbin(&[(2, 80), (2, 75), (2, 80), (1, 120), (8, 90)]), 90).unwrap();
        assert!(text.contains("has machine code for sm_75, sm_80 and PTX for sm_120,"), "{text}");
        assert!(explain(&fatbin(&[]), 90).unwrap().contains("has no code,"));
    }

    #[test]
    fn images_with_ptx_need_no_explanation() {
        let ptx = ptx_image::wrap(b".version 8.0\n\0", 90, ptx_image::Linking::Complete);
        // An image from softgpu's linker is an ELF file, but isn't in any of NVIDIA's formats.
        let linked = cubin([0, 0], 90);
        let mixed = fatbin(&[(2, 80), (1, 75)]);
        for image in [&ptx[..], &linked, &mixed, b".version 8.0\0", b"", &ptx[..8]] {
            assert_eq!(explain(image, 90), None);
        }
    }
}
