//! The command line: one file per command, and shared helpers. Results go to stdout, all other output to stderr.

mod admin_args;
mod approve;
mod bindings;
mod call;
mod check;
mod compile;
mod complete;
mod completions;
mod component_test;
mod confirm;
mod connect;
mod connection;
mod definitions;
mod dev;
mod error;
mod filter;
mod forget;
mod guest_stderr;
mod health;
mod inspect;
mod list;
mod log;
mod login;
mod man;
mod name_value;
mod new;
mod out;
mod pack;
mod paging;
mod progress;
mod prompt;
mod prompts;
mod read;
#[cfg(feature = "registry")]
mod registry;
mod reload;
mod request;
mod sanitize;
mod sdk;
mod search;
mod secret;
mod serve;
mod server_address;
mod sign_in;
mod skills;
mod state;
mod state_folder;
mod status;
mod table;
mod team;
mod temp_plugins;
mod templates;
mod token;
mod tools;
mod up;
mod upgrade;
mod watch;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use error::CommandError;

use larder_runtime::blocking_threads::MAX_RUNTIME_THREADS;
use larder_runtime::short_slice::request_short_slice;
use larder_runtime::yield_batch;

/// The exit code for wrong usage or configuration, as in sysexits.h.
const EXIT_USAGE: u8 = 64;

const AFTER_HELP: &str = "Commands read larder.toml in the working directory, if it exists. \
Exit codes: 0 success; 1 negative result (not found, rejected, unreachable); 64 wrong usage or \
configuration.";

/// Serves MCP resources from sandboxed WebAssembly providers
#[derive(Debug, Parser)]
#[command(
    name = "larder",
    version,
    after_help = AFTER_HELP,
    arg_required_else_help = true,
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Up(up::Up),
    Serve(serve::Serve),
    Check(check::Check),
    Inspect(inspect::Inspect),
    List(list::List),
    Templates(templates::Templates),
    Read(read::Read),
    Complete(complete::Complete),
    Tools(tools::Tools),
    Call(call::Call),
    Prompts(prompts::Prompts),
    Prompt(prompt::Prompt),
    Skills(skills::Skills),
    Search(search::Search),
    Watch(watch::Watch),
    Request(request::Request),
    Connect(connect::Connect),
    Login(login::Login),
    Logout(login::Logout),
    Approve(approve::Approve),
    Forget(forget::Forget),
    State(state::State),
    Token(token::Token),
    Secret(secret::Secret),
    New(new::New),
    Sdk(sdk::Sdk),
    Upgrade(upgrade::UpgradeSdk),
    Dev(dev::Dev),
    Test(component_test::Test),
    Pack(pack::Pack),
    Bindings(bindings::Bindings),
    #[cfg(feature = "registry")]
    Add(registry::Add),
    #[cfg(feature = "registry")]
    Remove(registry::Remove),
    #[cfg(feature = "registry")]
    Update(registry::Update),
    #[cfg(feature = "registry")]
    Lock(registry::Lock),
    #[cfg(feature = "registry")]
    Verify(registry::Verify),
    #[cfg(feature = "registry")]
    Pull(registry::Pull),
    #[cfg(feature = "registry")]
    Push(registry::Push),
    #[cfg(feature = "registry")]
    Sign(registry::Sign),
    #[cfg(feature = "registry")]
    Gc(registry::Gc),
    Status(status::Status),
    Health(health::Health),
    Reload(reload::Reload),
    #[command(hide = true, name = larder_sandbox::child::SUBCOMMAND)]
    Compile(compile::Compile),
    Completions(completions::Completions),
    Man(man::Man),
}

/// The result of a command that ran without an error. It determines the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Exit code 0.
    Success,
    /// Exit code 1: not found, rejected, not ready.
    Negative,
    /// Exit code 64: the configuration is invalid, and the output says why.
    InvalidConfig,
}

impl Outcome {
    fn success_if(success: bool) -> Self {
        if success {
            Self::Success
        } else {
            Self::Negative
        }
    }
}

/// Runs the command that the arguments of the process name.
pub fn main() -> ExitCode {
    if completions::answer(std::env::args_os().collect()) {
        return ExitCode::SUCCESS;
    }
    let mut command = match Cli::try_parse_from(arguments()) {
        Ok(cli) => cli.command,
        Err(error) => return print_help_or_error(&error),
    };
    // This command runs without a runtime, because it must set its resource limits before any thread starts.
    if let Command::Compile(compile) = &command {
        return compile.run();
    }
    if let Command::Serve(serve) = &mut command {
        serve.take_sockets();
    }
    request_short_slice();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(MAX_RUNTIME_THREADS)
        .on_thread_start(request_short_slice)
        .on_thread_park(yield_batch::start)
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("larder: cannot start threads: {error}");
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(command.run());
    // A blocking read of stdin cannot be cancelled, so waiting for it would delay the exit.
    runtime.shutdown_background();
    exit_code(result)
}

fn print_help_or_error(error: &clap::Error) -> ExitCode {
    // Errors are ignored: the reader may close the pipe before the end of the help.
    _ = error.print();
    if error.use_stderr() {
        EXIT_USAGE.into()
    } else {
        ExitCode::SUCCESS
    }
}

/// Returns the arguments of the process. `larder help COMMAND --help` means `larder help COMMAND`.
fn arguments() -> Vec<OsString> {
    let mut arguments: Vec<_> = std::env::args_os().collect();
    if arguments.get(1).is_some_and(|command| command == "help") {
        arguments.retain(|argument| argument != "--help" && argument != "-h");
    }
    arguments
}

impl Command {
    async fn run(self) -> Result<Outcome, CommandError> {
        match self {
            Self::Up(up) => Box::pin(up.run()).await,
            Self::Serve(serve) => serve.run().await,
            Self::Check(check) => check.run().await,
            Self::Inspect(inspect) => Box::pin(run_inspect(inspect)).await,
            Self::List(list) => list.run().await,
            Self::Templates(templates) => templates.run().await,
            Self::Read(read) => read.run().await,
            Self::Complete(complete) => complete.run().await,
            Self::Tools(tools) => tools.run().await,
            Self::Call(call) => call.run().await,
            Self::Prompts(prompts) => prompts.run().await,
            Self::Prompt(prompt) => prompt.run().await,
            Self::Skills(skills) => skills.run().await,
            Self::Search(search) => search.run().await,
            Self::Watch(watch) => watch.run().await,
            Self::Request(request) => request.run().await,
            Self::Connect(connect) => connect.run(),
            Self::Login(login) => login.run().await,
            Self::Logout(logout) => logout.run().await,
            Self::Approve(approve) => approve.run().await,
            Self::Forget(forget) => forget.run().await,
            Self::State(state) => state.run().await,
            Self::Token(token) => token.run(),
            Self::Secret(secret) => Box::pin(secret.run()).await,
            Self::New(new) => new.run(),
            Self::Sdk(sdk) => sdk.run(),
            Self::Upgrade(upgrade) => upgrade.run(),
            Self::Dev(dev) => Box::pin(dev.run()).await,
            Self::Test(test) => test.run(),
            Self::Pack(pack) => pack.run(),
            Self::Bindings(bindings) => bindings.run(),
            #[cfg(feature = "registry")]
            Self::Add(add) => Box::pin(add.run()).await,
            #[cfg(feature = "registry")]
            Self::Remove(remove) => remove.run(),
            #[cfg(feature = "registry")]
            Self::Update(update) => Box::pin(update.run()).await,
            #[cfg(feature = "registry")]
            Self::Lock(lock) => Box::pin(lock.run()).await,
            #[cfg(feature = "registry")]
            Self::Verify(verify) => verify.run(),
            #[cfg(feature = "registry")]
            Self::Pull(pull) => Box::pin(pull.run()).await,
            #[cfg(feature = "registry")]
            Self::Push(push) => Box::pin(push.run()).await,
            #[cfg(feature = "registry")]
            Self::Sign(sign) => Box::pin(sign.run()).await,
            #[cfg(feature = "registry")]
            Self::Gc(gc) => gc.run(),
            Self::Status(status) => status.run().await,
            Self::Health(health) => health.run().await,
            Self::Reload(reload) => reload.run().await,
            Self::Compile(_) => unreachable!("`main` runs it without a runtime"),
            Self::Completions(completions) => completions.run(),
            Self::Man(man) => man.run(),
        }
    }
}

/// Shows a component, which is a file or an image in a registry.
async fn run_inspect(inspect: inspect::Inspect) -> Result<Outcome, CommandError> {
    #[cfg(feature = "registry")]
    if let Some(reference) = registry::reference_of(&inspect.component) {
        return Box::pin(registry::inspect(reference, inspect)).await;
    }
    inspect.run().await
}

fn exit_code(result: Result<Outcome, CommandError>) -> ExitCode {
    match result {
        Ok(Outcome::Success) => ExitCode::SUCCESS,
        Ok(Outcome::Negative) => ExitCode::FAILURE,
        Ok(Outcome::InvalidConfig) => EXIT_USAGE.into(),
        // The reader has closed the pipe.
        Err(CommandError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => report_error(&error),
    }
}

fn report_error(error: &CommandError) -> ExitCode {
    for line in error.to_string().lines() {
        out::note(&format!("larder: {line}"));
    }
    if error.is_usage() {
        EXIT_USAGE.into()
    } else {
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests;
