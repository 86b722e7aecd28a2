//! Looks up users in the host's user database.

use std::ffi::CString;

/// A user, with the groups of its processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The user's ID.
    pub uid: u32,
    /// The ID of the user's primary group.
    pub gid: u32,
    /// All groups of which the user is a member.
    pub groups: Vec<u32>,
}

impl User {
    /// Returns a user that isn't in the user database, and its group with the same ID.
    pub fn numbered(id: u32) -> Self {
        Self { uid: id, gid: id, groups: Vec::new() }
    }
}

/// Looks up a user by its name. `user` can also be a numeric ID, which doesn't have to be in the
/// user database.
pub fn find(user: &str) -> Option<User> {
    match user.parse::<u32>() {
        // The kernel takes -1 as a request to leave the user unchanged.
        Ok(u32::MAX) => None,
        Ok(id) => Some(User::numbered(id)),
        Err(_) => named(user),
    }
}

fn named(name: &str) -> Option<User> {
    let name = CString::new(name).ok()?;
    // SAFETY: a zeroed `passwd` is valid, with null pointers.
    let mut user: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found = std::ptr::null_mut();
    let mut room = vec![0u8; 1 << 16];
    // SAFETY: `name` is NUL-terminated. `user`, `room` and `found` are exclusively borrowed and
    // outlive the call, and the length is that of `room`.
    let code = unsafe {
        libc::getpwnam_r(name.as_ptr(), &mut user, room.as_mut_ptr().cast(), room.len(), &mut found)
    };
    if code != 0 || found.is_null() {
        return None;
    }
    let mut groups = vec![0; 1024];
    let mut count = groups.len() as libc::c_int;
    // SAFETY: `name` is NUL-terminated, and `groups` has room for `count` IDs.
    let written =
        unsafe { libc::getgrouplist(name.as_ptr(), user.pw_gid, groups.as_mut_ptr(), &mut count) };
    groups.truncate(usize::try_from(written).ok()?);
    Some(User { uid: user.pw_uid, gid: user.pw_gid, groups })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_and_by_number() {
        let root = find("root").unwrap();
        assert!(root.uid == 0 && root.gid == 0 && root.groups.contains(&0), "{root:?}");
        assert_eq!(find("61001"), Some(User { uid: 61001, gid: 61001, groups: Vec::new() }));
        for wrong in ["no-such-user-here", "", "a\0b", "-1", "4294967295", "4294967296"] {
            assert_eq!(find(wrong), None, "{wrong:?}");
        }
    }
}
