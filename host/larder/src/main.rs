//! The `larder` command. All code is in the library.

use std::process::ExitCode;

/// Guests are created and dropped for each call, on any thread. This causes many small allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    larder::cli::main()
}
