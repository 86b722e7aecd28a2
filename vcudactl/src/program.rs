//! Parses the command line, runs the command, and reports errors.

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::cli::Cli;
use crate::commands;
use crate::error::CtlError;
use crate::exit::{BAD_INPUT, fail};

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // A command without its required subcommand, such as `vm`: print the help.
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            return ExitCode::from(BAD_INPUT);
        }
        Err(error) if error.use_stderr() => {
            let text = error.render().to_string();
            let reason = text.split("\n\n").next().unwrap_or_default();
            let reason = reason.strip_prefix("error: ").unwrap_or(reason).replace("\n  ", " ");
            return fail(BAD_INPUT, &format!("{} (see --help)", reason.trim()));
        }
        // --help or --version.
        Err(error) => {
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
    };
    match commands::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader, such as `head`, closed the pipe because it has read enough.
        Err(CtlError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => fail(error.code(), &error.to_string()),
    }
}
