//! The operator's command line, a client of vcudad's control API.
//!
//! | module | what |
//! |---|---|
//! | `cli` | the arguments |
//! | `client` | HTTP over the Unix socket |
//! | `commands` | what each command asks for and shows |
//! | `table` | columns of text |
//! | `top` | the live table |
//!
//! It knows the API's types and nothing else of the server.

mod cli;
mod client;
mod commands;
mod error;
mod table;
mod top;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::cli::Cli;
use crate::error::CtlError;

const NAME: &str = "vcudactl";
/// A mistake in what was asked for.
const BAD_INPUT: u8 = 2;
/// Something failed.
const FAILED: u8 = 1;

/// Does what the command line says.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // A word alone, such as `vm`: what can come after it.
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            return ExitCode::from(BAD_INPUT);
        }
        Err(error) if error.use_stderr() => {
            let text = error.render().to_string();
            let what = text.split("\n\n").next().unwrap_or_default();
            let what = what.strip_prefix("error: ").unwrap_or(what).replace("\n  ", " ");
            return fail(BAD_INPUT, &format!("{} (see --help)", what.trim()));
        }
        Err(error) => {
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
    };
    match commands::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        // Who read the output has enough of it, as `head` has.
        Err(CtlError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => fail(error.code(), &error.to_string()),
    }
}

/// One line, whatever the error's text holds.
fn fail(code: u8, text: &str) -> ExitCode {
    eprintln!("{NAME}: {}", text.trim().replace('\n', " "));
    ExitCode::from(code)
}
