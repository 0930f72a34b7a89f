//! The command. Everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    larder::cli::main()
}
