//! A second line of defense, in addition to the jail's file system: Landlock, a Linux security
//! module with which a process restricts its own access to files.
//!
//! If a process in the jail manages to reach another file system, it can't open anything there.
//! Landlock also keeps it from opening TCP connections, and from sending signals and connecting
//! abstract sockets to processes outside its jail. Kernels before 5.13 don't have Landlock, and
//! kernels before 6.12 support only some of these restrictions. Restrictions that the kernel
//! doesn't support are left out.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::root::{DEVICES, Root, SHARED, TEMPORARY, threads};

/// The version of Landlock's ABI that has all the access rights and scopes used here.
const VERSION: ABI = ABI::V6;

/// Restricts this process to what `root` contains, permanently. Must be called after
/// [`Root::enter`], while the process has a single thread. Returns false if the kernel doesn't
/// support all of these restrictions.
pub fn restrict(root: &Root) -> Result<bool, RulesetError> {
    let all = AccessFs::from_all(VERSION);
    let read = AccessFs::from_read(VERSION);
    let look = AccessFs::ReadFile | AccessFs::ReadDir;
    let write = AccessFs::WriteFile | AccessFs::Truncate;
    let devices = write | AccessFs::ReadFile | AccessFs::IoctlDev;
    let temporary = all & !(AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock);
    let fixed: [(&[&Path], BitFlags<AccessFs>); 4] = [
        (&["/proc".as_ref(), "/sys".as_ref()], look),
        (&[&threads()], look | write),
        (&DEVICES.map(Path::new), devices),
        (&[TEMPORARY.as_ref(), SHARED.as_ref()], temporary),
    ];
    let mut rules = Ruleset::default()
        .handle_access(all)?
        .handle_access(AccessNet::from_all(VERSION))?
        .scope(Scope::from_all(VERSION))?
        .create()?;
    // `path_beneath_rules` leaves out paths that don't exist.
    for (paths, access) in [(&root.read_only, read), (&root.devices, devices)] {
        rules = rules.add_rules(path_beneath_rules(paths, access))?;
    }
    for (paths, access) in fixed {
        rules = rules.add_rules(path_beneath_rules(paths, access))?;
    }
    Ok(rules.restrict_self()?.ruleset == RulesetStatus::FullyEnforced)
}

#[cfg(test)]
mod tests {
    use std::fs::{OpenOptions, read, write};
    use std::io::ErrorKind;
    use std::net::TcpStream;

    use super::*;
    use crate::child;

    #[test]
    fn only_what_the_jail_contains_can_be_opened_and_only_in_its_way() {
        let name = "only_what_the_jail_contains_can_be_opened_and_only_in_its_way";
        if let Some(output) = child::run(module_path!(), name) {
            return assert!(output.status.success(), "{output:?}");
        }
        let root = Root { read_only: vec!["/etc/group".into()], ..Root::default() };
        if !restrict(&root).unwrap() {
            eprintln!("this kernel doesn't have all of Landlock; skipping the test");
            return;
        }
        let refused = |result: std::io::Result<()>| {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::PermissionDenied);
        };
        assert!(!read("/etc/group").unwrap().is_empty());
        refused(OpenOptions::new().append(true).open("/etc/group").map(drop));
        refused(read("/etc/passwd").map(drop));
        refused(std::fs::read_dir("/").map(drop));
        write("/dev/null", "x").unwrap();
        write("/proc/thread-self/comm", "x").unwrap();
        refused(OpenOptions::new().write(true).open("/proc/self/oom_score_adj").map(drop));
        refused(TcpStream::connect("127.0.0.1:9").map(drop));
    }
}
