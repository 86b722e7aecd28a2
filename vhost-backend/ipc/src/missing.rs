//! Features that a host may lack or forbid. Only these errors count as a missing feature. Other
//! errors can be temporary, or caused by an attacker who wants a process to run without the
//! feature.

use std::io;

/// A feature of the kernel that a jail needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Creating and entering namespaces.
    Namespaces,
    /// Creating and changing mounts.
    Mounts,
}

impl Feature {
    /// Returns true if the error means that the host lacks or forbids this feature.
    pub fn is_missing(self, error: &io::Error) -> bool {
        let errors: &[i32] = match self {
            // The meaning of each error, in order: the kernel lacks the system call, or a filter
            // pretends that it does; the kernel was built without the namespace; the process lacks
            // a capability, or a container forbids the call; and, for the last two errors, root's
            // namespaces have reached the maximum in /proc/sys/user.
            Self::Namespaces => {
                &[libc::ENOSYS, libc::EINVAL, libc::EPERM, libc::ENOSPC, libc::EUSERS]
            }
            // The meaning of each error, in order: the kernel lacks the system call, or a filter
            // pretends that it does; the kernel was built without the file system; the process
            // lacks a capability, or a container forbids the call; a security module forbids the
            // call.
            Self::Mounts => &[libc::ENOSYS, libc::ENODEV, libc::EPERM, libc::EACCES],
        };
        error.raw_os_error().is_some_and(|error| errors.contains(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_others_can_bring_about_are_not_a_missing_feature() {
        let caused = [
            libc::EEXIST,
            libc::ENOENT,
            libc::ENOMEM,
            libc::EMFILE,
            libc::ENFILE,
            libc::EAGAIN,
            libc::EIO,
            libc::EBUSY,
            libc::EINTR,
            libc::EROFS,
            libc::ENOTDIR,
        ];
        for feature in [Feature::Namespaces, Feature::Mounts] {
            for number in caused {
                let error = io::Error::from_raw_os_error(number);
                assert!(!feature.is_missing(&error), "{feature:?}: {error}");
            }
            assert!(!feature.is_missing(&io::Error::other("no number")));
            for number in [libc::ENOSYS, libc::EPERM] {
                assert!(feature.is_missing(&io::Error::from_raw_os_error(number)));
            }
        }
        let full = io::Error::from_raw_os_error(libc::ENOSPC);
        assert!(Feature::Namespaces.is_missing(&full) && !Feature::Mounts.is_missing(&full));
    }
}
