//! Reads the mapped areas of the program's memory from /proc/self/maps.

use crate::error::TransportError;
use std::io;
use std::ops::Range;

/// A mapped area of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    pub range: Range<usize>,
    /// Whether the program can read and write it.
    pub writable: bool,
    pub shared: bool,
    /// The offset of the area's first byte in its file.
    pub offset: u64,
    /// The major and minor number of the device that contains the area's file.
    pub device: (u32, u32),
    /// The inode number of the area's file, or 0 if there is no file.
    pub inode: u64,
    /// The path of the area's file, or the kernel's name for an area without a file, such as
    /// `[stack]`.
    pub name: String,
}

/// A part of an area.
pub struct Part<'a> {
    pub start: usize,
    pub len: usize,
    pub area: &'a Area,
}

impl Part<'_> {
    /// Returns the part's offset in the area's file.
    pub fn offset(&self) -> u64 {
        self.area.offset + (self.start - self.area.range.start) as u64
    }
}

/// Returns all areas of the program, in the order of their addresses.
pub fn current() -> Result<Vec<Area>, TransportError> {
    // Read bytes, not a string, because paths can contain invalid UTF-8.
    let text = std::fs::read("/proc/self/maps")
        .map_err(|source| TransportError::System { what: "reading /proc/self/maps", source })?;
    Ok(parse(&String::from_utf8_lossy(&text)))
}

/// Parses the text of /proc/self/maps.
fn parse(maps: &str) -> Vec<Area> {
    maps.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<Area> {
    let hex = |text| usize::from_str_radix(text, 16).ok();
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let access = fields.next()?;
    let offset = u64::from_str_radix(fields.next()?, 16).ok()?;
    let (major, minor) = fields.next()?.split_once(':')?;
    let number = |text| u32::from_str_radix(text, 16).ok();
    let inode = fields.next()?.parse().ok()?;
    Some(Area {
        range: hex(start)?..hex(end)?,
        writable: access.starts_with("rw"),
        shared: access.ends_with('s'),
        offset,
        device: (number(major)?, number(minor)?),
        inode,
        name: fields.next().unwrap_or_default().trim_start_matches(' ').to_owned(),
    })
}

/// Divides a range into the parts that are in different areas. If a part of the range isn't mapped,
/// fails with the same error as the guest driver.
pub fn parts(areas: &[Area], vaddr: usize, len: usize) -> Result<Vec<Part<'_>>, TransportError> {
    let end = vaddr + len;
    let mut reached = vaddr;
    let mut parts = Vec::new();
    let first = areas.partition_point(|area| area.range.end <= vaddr);
    for area in &areas[first..] {
        if reached >= end || area.range.start > reached {
            break;
        }
        let upto = area.range.end.min(end);
        parts.push(Part { start: reached, len: upto - reached, area });
        reached = upto;
    }
    if reached < end {
        let source = io::Error::from_raw_os_error(libc::EFAULT);
        return Err(TransportError::System { what: "finding pages", source });
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "1000-3000 rw-p 00000000 00:00 0 \n\
                        3000-4000 rw-p 00000000 00:00 0 [heap]\n\
                        5000-6000 rw-s 00002000 08:1f 77                         /tmp/a  b (deleted)\n\
                        6000-7000 r--p 00000000 00:00 0 \n";

    #[test]
    fn areas_have_their_access_and_their_file() {
        let areas = parse(MAPS);
        assert_eq!(areas.len(), 4);
        let file = Area {
            range: 0x5000..0x6000,
            writable: true,
            shared: true,
            offset: 0x2000,
            device: (8, 31),
            inode: 77,
            name: "/tmp/a  b (deleted)".into(),
        };
        assert_eq!(areas[2], file);
        assert!(areas[0].writable && !areas[0].shared && areas[0].name.is_empty());
        assert!(!areas[3].writable);
        assert_eq!(areas[1].name, "[heap]");
    }

    #[test]
    fn a_range_has_a_part_in_each_area_and_no_holes() {
        let areas = parse(MAPS);
        let found = |at, len| {
            let parts = parts(&areas, at, len);
            parts.map(|parts| parts.iter().map(|part| (part.start, part.len)).collect::<Vec<_>>())
        };
        assert_eq!(found(0x2000, 0x2000).unwrap(), [(0x2000, 0x1000), (0x3000, 0x1000)]);
        assert_eq!(found(0x1000, 0x1000).unwrap(), [(0x1000, 0x1000)]);
        assert_eq!(parts(&areas, 0x5000, 0x1000).unwrap()[0].offset(), 0x2000);
        for (at, len) in [(0, 0x1000), (0x4000, 0x1000), (0x9000, 0x1000), (0x3000, 0x3000)] {
            let error = found(at, len).unwrap_err();
            assert!(error.to_string().starts_with("finding pages: Bad address"), "{at:#x}");
        }
    }
}
