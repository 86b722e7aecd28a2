//! Determines the length of an ELF file.

/// Reads an unsigned field, given its offset and its length of up to 8 bytes. Returns `None` if the
/// field lies beyond the end of the file.
pub type Read<'a> = &'a dyn Fn(u64, usize) -> Option<u64>;

/// Returns the length of a 64-bit ELF file according to its headers: the end of its header tables
/// and of everything that they describe. Returns `None` if a header field is beyond the end or has
/// an impossible value.
pub fn len(read: Read<'_>) -> Option<u64> {
    const CLASS_64: u64 = 2;
    if read(4, 1)? != CLASS_64 {
        return None;
    }
    let (programs, sections) = (read(32, 8)?, read(40, 8)?);
    let (program_len, program_count) = (read(54, 2)?, read(56, 2)?);
    let (section_len, mut section_count) = (read(58, 2)?, read(60, 2)?);
    let header_len = read(52, 2)?;
    // 64-bit ELF files only have headers of these lengths. Shorter headers must be refused, because
    // a header table could then be read as an arbitrary number of overlapping headers.
    const FILE_HEADER: u64 = 64;
    const PROGRAM_HEADER: u64 = 56;
    const SECTION_HEADER: u64 = 64;
    let has_programs = programs != 0 && program_count != 0;
    if header_len != FILE_HEADER
        || has_programs && program_len != PROGRAM_HEADER
        || sections != 0 && section_len != SECTION_HEADER
    {
        return None;
    }
    if sections != 0 && section_count == 0 {
        // A count of 0 means that the number of sections doesn't fit in the file header. It's then
        // in the size field of the first section header, which describes an empty section.
        section_count = read(sections.checked_add(32)?, 8)?;
        if section_count == 0 {
            return None;
        }
    }

    let mut end = header_len;
    let mut table = |at: u64, len: u64, count: u64, offset: u64, size: u64, kind: Option<u64>| {
        if at == 0 || count == 0 {
            return Some(());
        }
        end = end.max(at.checked_add(len.checked_mul(count)?)?);
        for index in 0..count {
            let header = at.checked_add(len.checked_mul(index)?)?;
            const NO_BITS: u64 = 8;
            if let Some(kind) = kind
                && read(header.checked_add(kind)?, 4)? == NO_BITS
            {
                continue;
            }
            let offset = read(header.checked_add(offset)?, 8)?;
            end = end.max(offset.checked_add(read(header.checked_add(size)?, 8)?)?);
        }
        Some(())
    };
    // Limits the time that a malicious section count can cost. Real files have thousands of
    // sections.
    const MOST_SECTIONS: u64 = 1 << 24;
    if section_count > MOST_SECTIONS {
        return None;
    }
    table(programs, program_len, program_count, 8, 32, None)?;
    table(sections, section_len, section_count, 24, 32, Some(4))?;
    Some(end)
}
