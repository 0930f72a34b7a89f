//! The command. Everything is in the library.

use std::process::ExitCode;

/// A guest is opened and closed for each call, on whatever thread: many small pieces, taken and given back.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    larder::cli::main()
}
