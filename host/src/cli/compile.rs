//! `larder compile-component`: not for people. The server runs it, to compile a component in a process of
//! its own.

use std::process::ExitCode;

use clap::Args;

use crate::sandbox::child::{self, Allowance, ChildError};

/// Compiles a component from stdin to stdout; the server runs this
#[derive(Debug, Args)]
pub(super) struct Compile {
    /// Bytes of the component
    #[arg(long)]
    size: u64,
    /// Bytes of address space that it may take
    #[arg(long)]
    memory: u64,
    /// Seconds on a processor
    #[arg(long)]
    cpu: u64,
    /// Bytes of compiled code
    #[arg(long)]
    code: u64,
}

impl Compile {
    pub(super) fn run(&self) -> ExitCode {
        let Self { size, memory, cpu, code } = *self;
        let Err(error) = child::compile_component(size, &Allowance { memory, cpu, code }) else {
            return ExitCode::SUCCESS;
        };
        eprintln!("{error}");
        match error {
            ChildError::Invalid(_) => child::INVALID.into(),
            ChildError::Limit(..) | ChildError::Broken(..) | ChildError::Engine(_) => ExitCode::FAILURE,
        }
    }
}
