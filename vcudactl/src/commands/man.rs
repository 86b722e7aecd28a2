//! The `man` command.

use std::io;
use std::path::Path;

use clap::{Command, CommandFactory};

use crate::cli::Cli;

/// Writes the manual pages of all commands to a directory.
pub(super) fn write(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut command = Cli::command();
    command.build();
    write_page(&command, folder)
}

fn write_page(command: &Command, folder: &Path) -> io::Result<()> {
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        write_page(subcommand, folder)?;
    }
    let man = clap_mangen::Man::new(command.clone());
    let name = man.get_filename();
    std::fs::write(folder.join(name), page(&man)?)
}

/// Returns a manual page. clap_mangen puts the text at the end of `--help` into one section, EXTRA.
/// This divides it into the sections that readers of manual pages expect.
fn page(man: &clap_mangen::Man) -> io::Result<String> {
    let mut text = Vec::new();
    man.render(&mut text)?;
    let mut text = String::from_utf8(text).map_err(io::Error::other)?;
    for (head, section) in
        [("Exit status", "\"EXIT STATUS\""), ("Examples", "EXAMPLES"), ("Example", "EXAMPLES")]
    {
        text = text.replace(&format!(".SH EXTRA\n{head}:\n"), &format!(".SH {section}\n"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_the_usual_sections() {
        let folder = std::env::temp_dir().join(format!("virtio-cuda-man-{}", std::process::id()));
        write(&folder).unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(read("vcudactl.1").contains(".SH \"EXIT STATUS\"\n"));
        assert!(read("vcudactl-doctor.1").contains(".SH \"EXIT STATUS\"\n"));
        assert!(read("vcudactl-vm-set.1").contains(".SH EXAMPLES\n  vcudactl vm set web"));
        assert!(read("vcudactl-vm-set.1").contains("vcudactl vm set"));
        for file in std::fs::read_dir(&folder).unwrap() {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(!text.contains(".SH EXTRA"), "{}", path.display());
        }
        assert!(!folder.join("vcudactl-man.1").exists());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
