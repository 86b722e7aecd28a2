//! The commands: what each asks for, and how it shows the answer.

mod other;
mod vm;

use std::io::{self, Write};

use clap::CommandFactory;
use control_api::Stats;
use serde::Serialize;

use crate::cli::{Cli, Command, GpuCommand, SessionCommand};
use crate::client::Client;
use crate::error::CtlError;
use crate::top;

/// Carries out a command.
pub(crate) fn run(cli: &Cli) -> Result<(), CtlError> {
    let client = Client::new(&cli.socket);
    match &cli.command {
        Command::Completions { shell } => {
            clap_complete::generate(*shell, &mut Cli::command(), crate::NAME, &mut io::stdout());
            return Ok(());
        }
        Command::Man { folder } => {
            std::fs::create_dir_all(folder).map_err(CtlError::os("cannot make the folder"))?;
            return clap_mangen::generate_to(Cli::command(), folder)
                .map_err(CtlError::os("cannot write the pages"));
        }
        _ => {}
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CtlError::os("cannot start"))?;
    if let Command::Top(args) = &cli.command {
        return top::run(&runtime, &client, args, cli.json);
    }
    runtime.block_on(ask(&client, cli))
}

async fn ask(client: &Client, cli: &Cli) -> Result<(), CtlError> {
    let show = Show { json: cli.json };
    match &cli.command {
        Command::Vm(command) => vm::run(client, &show, command).await,
        Command::Gpu(GpuCommand::Ls) => other::list_gpus(client, &show).await,
        Command::Session(SessionCommand::Ls { vm }) => {
            other::list_sessions(client, &show, vm.as_deref()).await
        }
        Command::Session(SessionCommand::Kill { vm, id }) => {
            other::kill_session(client, &show, vm, *id).await
        }
        Command::Events { vm } => other::events(client, &show, vm.as_deref()).await,
        Command::Stats => {
            let stats: Stats = client.get("/v1/stats").await?;
            show.answer(&stats, |out| other::print_stats(&stats, out))
        }
        Command::Version => other::version(client, &show).await,
        Command::Top(_) | Command::Completions { .. } | Command::Man { .. } => Ok(()),
    }
}

/// How answers are shown.
pub(crate) struct Show {
    json: bool,
}

impl Show {
    /// Shows an answer: as JSON, or as text in the given way.
    pub(crate) fn answer(
        &self,
        value: &impl Serialize,
        text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CtlError> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        let written = if self.json {
            serde_json::to_writer_pretty(&mut out, value)
                .map_err(io::Error::from)
                .and_then(|()| writeln!(out))
        } else {
            text(&mut out)
        };
        written.and_then(|()| out.flush()).map_err(CtlError::Output)
    }

    /// Shows a line of many: as JSON on one line, or as text.
    pub(crate) fn line(&self, value: &impl Serialize, text: &str) -> Result<(), CtlError> {
        let mut out = io::stdout().lock();
        let written = if self.json {
            serde_json::to_writer(&mut out, value)
                .map_err(io::Error::from)
                .and_then(|()| writeln!(out))
        } else {
            writeln!(out, "{text}")
        };
        written.and_then(|()| out.flush()).map_err(CtlError::Output)
    }
}
