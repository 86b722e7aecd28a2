//! How much device memory a cubin takes when it is loaded, from its section table.

use object::elf::{FileHeader64, SHF_ALLOC, SHF_EXECINSTR};
use object::endian::LittleEndian;
use object::read::elf::{FileHeader, SectionHeader};

use super::footprint::{Footprint, name_hash};

/// Kernels of an image whose code is counted one by one, as they are used; with more, all of it is
/// counted at the load.
const MAX_KERNELS: usize = 1 << 16;

/// Sections that take memory of a block or of a thread, or of a launch, and not of the module.
const OF_LAUNCHES: [&[u8]; 3] = [b".nv.shared", b".nv.local", b".nv.constant0."];

/// The name of what the driver links in where kernels allocate.
const MALLOC: &[u8] = b"\0malloc\0";

/// `None`: the file is damaged in a way that hides what it has.
pub(super) fn footprint(bytes: &[u8]) -> Option<Footprint> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, bytes).ok()?;
    let mut found = Footprint::default();
    let (mut texts, mut kernels) = (Vec::new(), Vec::new());
    for section in sections.iter() {
        let flags = section.sh_flags(endian);
        let size = section.sh_size(endian).checked_next_multiple_of(128)?;
        let name = sections.section_name(endian, section).ok()?;
        // Only a kernel has parameters.
        if let Some(kernel) = name.strip_prefix(b".nv.constant0.") {
            kernels.push(name_hash(kernel));
        }
        if flags & u64::from(SHF_ALLOC) == 0 || OF_LAUNCHES.iter().any(|of| name.starts_with(of)) {
            continue;
        }
        if flags & u64::from(SHF_EXECINSTR) == 0 {
            found.data = found.data.saturating_add(size);
        } else {
            texts.push((name_hash(name.strip_prefix(b".text.").unwrap_or(name)), size));
        }
    }
    kernels.sort_unstable();
    let one_by_one = kernels.len() <= MAX_KERNELS;
    for (name, size) in texts {
        if one_by_one && kernels.binary_search(&name).is_ok() {
            found.kernels.push((name, size));
        } else {
            found.code = found.code.saturating_add(size);
        }
    }
    found.kernels.sort_unstable();
    found.uses_heap = bytes.windows(MALLOC.len()).any(|at| at == MALLOC);
    Some(found)
}
