//! The commands: one file for each, and what they share. An answer goes to stdout, everything else to stderr.

mod alone;
mod approve;
mod bindings;
mod check;
mod clean;
mod compile;
mod complete;
mod dev;
mod failure;
mod inspect;
mod list;
mod log;
mod narrow;
mod new;
mod out;
mod pack;
mod reach;
mod read;
mod request;
mod serve;
mod status;
mod table;
mod team;
mod templates;
mod token;
mod walk;
mod watch;

use std::io;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use failure::Failure;

use crate::round;

/// Wrong usage or configuration, as in sysexits.h.
const USAGE: u8 = 64;

const AFTER: &str = "The configuration is read from larder.toml in the working directory if it is there. \
Exit codes: 0; 1 if the answer is no (not found, rejected, unreachable); 64 for wrong usage or configuration.";

/// Serves MCP resources out of sandboxed WebAssembly providers
#[derive(Debug, Parser)]
#[command(name = "larder", version, after_help = AFTER, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Serve),
    Check(check::Check),
    Inspect(inspect::Inspect),
    List(list::List),
    Templates(templates::Templates),
    Read(read::Read),
    Complete(complete::Complete),
    Watch(watch::Watch),
    Request(request::Request),
    Approve(approve::Approve),
    Token(token::Token),
    New(new::New),
    Dev(dev::Dev),
    Pack(pack::Pack),
    Bindings(bindings::Bindings),
    Status(status::Status),
    #[command(hide = true, name = crate::sandbox::child::SUBCOMMAND)]
    Compile(compile::Compile),
    /// Prints a completion script for a shell
    #[command(
        after_help = "Example: larder completions bash > ~/.local/share/bash-completion/completions/larder"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// What a command found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
}

impl Answer {
    fn yes_if(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => {
            // Help that nobody reads to its end is not a failure.
            _ = error.print();
            return if error.use_stderr() { USAGE.into() } else { ExitCode::SUCCESS };
        }
    };
    // Before any thread is started: it limits itself first, and needs none of ours.
    if let Command::Compile(compile) = &command {
        return compile.run();
    }
    let runtime =
        match tokio::runtime::Builder::new_multi_thread().enable_all().on_thread_park(round::begin).build() {
            Ok(runtime) => runtime,
            Err(error) => {
                eprintln!("larder: cannot start threads: {error}");
                return ExitCode::FAILURE;
            }
        };
    let result = runtime.block_on(command.run());
    // A read of stdin cannot be taken back; waiting for it would keep the process from ending.
    runtime.shutdown_background();
    conclude(result)
}

impl Command {
    async fn run(self) -> Result<Answer, Failure> {
        match self {
            Self::Serve(serve) => serve.run().await,
            Self::Check(check) => check.run().await,
            Self::Inspect(inspect) => inspect.run().await,
            Self::List(list) => list.run().await,
            Self::Templates(templates) => templates.run().await,
            Self::Read(read) => read.run().await,
            Self::Complete(complete) => complete.run().await,
            Self::Watch(watch) => watch.run().await,
            Self::Request(request) => request.run().await,
            Self::Approve(approve) => approve.run().await,
            Self::Token(token) => token.run(),
            Self::New(new) => new.run(),
            Self::Dev(dev) => dev.run().await,
            Self::Pack(pack) => pack.run(),
            Self::Bindings(bindings) => bindings.run(),
            Self::Status(status) => status.run().await,
            Self::Compile(_) => unreachable!("it has run before the threads were started"),
            Self::Completions { shell } => completions(shell),
        }
    }
}

// Into memory first: the generator panics where a pipe is closed.
fn completions(shell: clap_complete::Shell) -> Result<Answer, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "larder", &mut script);
    out::bytes(&script)?;
    Ok(Answer::Yes)
}

fn conclude(result: Result<Answer, Failure>) -> ExitCode {
    match result {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::FAILURE,
        // Who closes the pipe has read enough.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            for line in failure.to_string().lines() {
                out::note(&format!("larder: {line}"));
            }
            if failure.is_usage() { USAGE.into() } else { ExitCode::FAILURE }
        }
    }
}

#[cfg(test)]
mod tests;
