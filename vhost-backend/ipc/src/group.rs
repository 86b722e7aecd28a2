//! Looks up groups in the host's group database.

use std::ffi::CString;

/// Returns the ID of a group, given its name or its ID.
pub fn find(group: &str) -> Option<u32> {
    match group.parse::<u32>() {
        // The kernel takes -1 as a request to leave the group unchanged.
        Ok(u32::MAX) => None,
        Ok(id) => Some(id),
        Err(_) => named(group),
    }
}

/// Looks up the ID of a group by name.
fn named(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    // SAFETY: a zeroed `group` is valid, with null pointers.
    let mut group: libc::group = unsafe { std::mem::zeroed() };
    let mut found = std::ptr::null_mut();
    // Large enough even for a group with many members.
    let mut room = vec![0u8; 1 << 20];
    // SAFETY: `name` is NUL-terminated. `group`, `room` and `found` are exclusively borrowed and
    // outlive the call, and the length is that of `room`.
    let code = unsafe {
        libc::getgrnam_r(
            name.as_ptr(),
            &mut group,
            room.as_mut_ptr().cast(),
            room.len(),
            &mut found,
        )
    };
    (code == 0 && !found.is_null()).then_some(group.gr_gid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_by_name_and_by_number() {
        assert_eq!(find("root"), Some(0));
        assert_eq!(find("61001"), Some(61001));
        for wrong in ["no-such-group-here", "", "a\0b", "-1", "4294967295", "4294967296"] {
            assert_eq!(find(wrong), None, "{wrong:?}");
        }
    }
}
