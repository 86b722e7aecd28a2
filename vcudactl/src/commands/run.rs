//! Selects the command that the command line names, and runs it.

use std::time::Duration;

use super::output::Output;
use super::{
    bench, completions, doctor, event, gpu, man, session, share_test, stats, trace, usage, vm,
};
use crate::cli::{Cli, Command, GpuCommand, SessionCommand};
use crate::client::Client;
use crate::error::CtlError;
use crate::top;

/// Runs the command from the command line.
pub(crate) fn run(cli: &Cli) -> Result<(), CtlError> {
    let client = Client::new(&cli.socket);
    match &cli.command {
        Command::Completions { shell } => {
            return completions::print(*shell);
        }
        Command::Man { folder } => {
            return man::write(folder).map_err(CtlError::os(format!(
                "cannot write manual pages to {}",
                folder.display()
            )));
        }
        _ => {}
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CtlError::os("cannot start the I/O runtime"))?;
    if let Command::Top(args) = &cli.command {
        return top::run(&runtime, &client, args, cli.wants_json());
    }
    runtime.block_on(request(&client, cli))
}

async fn request(client: &Client, cli: &Cli) -> Result<(), CtlError> {
    let output = Output::new(cli.wants_json());
    match &cli.command {
        Command::Vm(command) => vm::run(client, &output, command).await,
        Command::Gpu(GpuCommand::Ls(list)) => gpu::list(client, &output, list).await,
        Command::Session(SessionCommand::Ls { vm, list }) => {
            session::list(client, &output, vm.as_deref(), list).await
        }
        Command::Session(SessionCommand::Kill { vm, id }) => {
            session::kill(client, &output, vm, *id).await
        }
        Command::Events { vm, since } => {
            event::print_all(client, &output, vm.as_deref(), *since).await
        }
        Command::Trace { seconds, output: file } => {
            trace::record(client, &output, Duration::from_secs(*seconds), file).await
        }
        Command::Doctor => doctor::run(client, &output).await,
        Command::Bench(args) => bench::run(client, &output, args).await,
        Command::Test(args) => share_test::run(client, &output, args).await,
        Command::Stats => stats::show(client, &output).await,
        Command::Usage(args) => usage::show(client, &output, args).await,
        Command::Version => stats::version(client, &output).await,
        Command::Top(_)
        | Command::Completions { .. }
        | Command::Man { .. }
        | Command::TestProgram
        | Command::BenchProgram(_) => Ok(()),
    }
}
