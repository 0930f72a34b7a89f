//! `larder compile-component`: compiles a component in a separate process. For internal use by the server.

use std::process::ExitCode;

use clap::Args;

use larder_sandbox::child::{self, ChildError, ProcessLimits, Task};

/// Compile a component from stdin to stdout (for internal use by the server)
#[derive(Debug, Args)]
pub(super) struct Compile {
    /// The size of the component in bytes
    #[arg(long)]
    size: u64,
    /// The limit of address space in bytes
    #[arg(long)]
    memory: u64,
    /// The limit of CPU time in seconds
    #[arg(long)]
    cpu: u64,
    /// The limit of compiled code in bytes
    #[arg(long)]
    code: u64,
    /// How long the server waits, in seconds
    #[arg(long)]
    timeout: u64,
    /// By how much the nice value of the process is raised
    #[arg(long, default_value_t = 0)]
    nice: i32,
    /// Compile quickly, without optimisation
    #[arg(long)]
    unoptimised: bool,
    /// Compile a library, which is a module
    #[arg(long)]
    library: bool,
}

impl Compile {
    pub(super) fn run(&self) -> ExitCode {
        match child::compile_component(&self.task(), &self.limits()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                exit_code(&error)
            }
        }
    }

    fn task(&self) -> Task {
        Task {
            size: self.size,
            nice: self.nice,
            is_optimised: !self.unoptimised,
            is_library: self.library,
        }
    }

    fn limits(&self) -> ProcessLimits {
        ProcessLimits {
            memory: self.memory,
            cpu: self.cpu,
            code: self.code,
            timeout: self.timeout,
        }
    }
}

fn exit_code(error: &ChildError) -> ExitCode {
    match error {
        ChildError::Invalid(_) => child::INVALID.into(),
        ChildError::Unsupported(_) => child::UNSUPPORTED.into(),
        ChildError::Limit(..) | ChildError::Io(..) | ChildError::Engine(_) => ExitCode::FAILURE,
    }
}
