//! Parses the command line, runs the command, and reports errors.

use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use control_api::SETTINGS;
use serde_json::json;

use crate::bench;
use crate::cli::{Cli, Command, asks_for_json};
use crate::commands;
use crate::error::CtlError;
use crate::exit::{BAD_INPUT, fail, report_json};
use crate::share_test;

/// Runs the command on the command line. Prints its error, if any.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // For a command without its required subcommand, such as `vm`, print the help.
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            return ExitCode::from(BAD_INPUT);
        }
        Err(error) if error.use_stderr() => {
            let text = error.render().to_string();
            let reason = text.split("\n\n").next().unwrap_or_default();
            let reason = reason.strip_prefix("error: ").unwrap_or(reason).replace("\n  ", " ");
            let text = format!("{}{} (see --help)", reason.trim(), suggestion(&error));
            if asks_for_json(std::env::args_os()) {
                report_json(&json!({"code": "usage", "message": text}));
                return ExitCode::from(BAD_INPUT);
            }
            return fail(BAD_INPUT, &text);
        }
        // Print the text of --help or --version, which clap returns as an error.
        Err(error) => {
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
    };
    if let Command::TestProgram = &cli.command {
        return share_test::main();
    }
    if let Command::BenchProgram(args) = &cli.command {
        return bench::main(args);
    }
    match commands::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the output, such as `head`, has closed the pipe because it has read enough.
        // That isn't an error.
        Err(CtlError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) if cli.wants_json() => {
            report_json(&error.to_json());
            ExitCode::from(error.code())
        }
        Err(error) => fail(error.code(), &error.to_string()),
    }
}

/// Returns clap's suggestion for a misspelled command, option, or value. For an unknown option of
/// `vm set`, says how to change a setting without an option.
fn suggestion(error: &clap::Error) -> String {
    let sets = std::env::args().any(|argument| argument == "set");
    if let (true, ErrorKind::UnknownArgument, Some(ContextValue::String(given))) =
        (sets, error.kind(), error.get(ContextKind::InvalidArg))
        && let Some(fixed) = SETTINGS.iter().filter(|setting| !setting.is_live()).find(|setting| {
            given.strip_prefix("--").is_some_and(|option| option == setting.option())
        })
    {
        let key = fixed.key;
        return format!(
            "; {key} can't be changed while the VM exists: change it in the configuration file, or remove \
             the VM and add it again"
        );
    }
    let kinds =
        [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let found = kinds.iter().find_map(|kind| match error.get(*kind)? {
        ContextValue::String(name) => Some(name),
        // clap sorts the suggestions by similarity, with the most similar one at the end.
        ContextValue::Strings(names) => names.last(),
        _ => None,
    });
    found.map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}
