//! The `completions` command. The generated scripts only know the command line. This module adds
//! functions with which the scripts ask the running vcudad for the names of VMs.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::{Cli, NAME};
use crate::error::CtlError;

/// The bash function that completes the names of VMs. In other places, it calls the generated
/// function.
const BASH: &str = r#"
_vcudactl_with_names() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" i command=""
    local -a socket=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "${COMP_WORDS[i]}" in
            --socket) socket=(--socket "${COMP_WORDS[++i]}") ;;
            -*) ;;
            *) command+=" ${COMP_WORDS[i]}" ;;
        esac
    done
    case "$cur|$prev|$command" in
        -*|*"|--socket|"*) ;;
        *"|--vm|"*|*"| vm show"*|*"| vm rm"*|*"| vm pause"*|*"| vm resume"*|*"| vm swap-out"*|*"| vm swap-in"*|*"| vm restart"*| \
        *"| vm reset"*|*"|set| vm set"|*"| session kill"|*"| test")
            COMPREPLY=($(compgen -W "$(vcudactl "${socket[@]}" vm ls --quiet 2>/dev/null)" -- "$cur"))
            return ;;
    esac
    _vcudactl "$@"
}

complete -F _vcudactl_with_names -o bashdefault -o default vcudactl
"#;

const ZSH: &str = r#"
_vcudactl_vms() {
    local -a names
    names=(${(f)"$(_call_program vms vcudactl vm ls --quiet 2>/dev/null)"})
    compadd -a names
}
"#;

const FISH: &str = r#"
complete -c vcudactl -n "__fish_vcudactl_using_subcommand vm; and __fish_seen_subcommand_from set show rm pause resume swap-out swap-in restart reset" -f -a "(vcudactl vm ls --quiet 2>/dev/null)"
complete -c vcudactl -n "__fish_vcudactl_using_subcommand session; and __fish_seen_subcommand_from kill" -f -a "(vcudactl vm ls --quiet 2>/dev/null)"
complete -c vcudactl -n "__fish_vcudactl_using_subcommand test" -f -a "(vcudactl vm ls --quiet 2>/dev/null)"
complete -c vcudactl -n "__fish_vcudactl_using_subcommand session events bench" -l vm -x -a "(vcudactl vm ls --quiet 2>/dev/null)"
"#;

/// Prints a shell's completion script.
pub(super) fn print(shell: Shell) -> Result<(), CtlError> {
    std::io::stdout().write_all(script(shell).as_bytes()).map_err(CtlError::Output)
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), NAME, &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Bash => script + BASH,
        Shell::Fish => script + FISH,
        // The generated script calls its main function in its last lines, so the added function
        // must be defined before them.
        Shell::Zsh => {
            let mut named = script;
            for text in ["Names of the VMs", "Name of the VM", "]:NAME"] {
                named =
                    named.replace(&format!("{text}:_default"), &format!("{text}:_vcudactl_vms"));
            }
            let end = named.find("\nif [ \"$funcstack[1]\"").unwrap_or(named.len());
            named.insert_str(end, ZSH);
            named
        }
        _ => script,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_complete_the_names_of_vms() {
        let zsh = script(Shell::Zsh);
        assert_eq!(zsh.matches(":_vcudactl_vms' \\").count(), 15, "{zsh}");
        // The added function must be defined before the script calls the generated main function.
        assert!(zsh.find("_vcudactl_vms() {") < zsh.find("funcstack"), "{zsh}");
        for shell in [Shell::Bash, Shell::Fish] {
            assert!(script(shell).contains("vm ls --quiet"), "{shell}");
        }
        // The generated part of the script must still define these functions, which the added part
        // calls.
        let fish = script(Shell::Fish);
        assert!(fish.contains("function __fish_vcudactl_using_subcommand"), "{fish}");
    }
}
