//! What the two commands of the README run: `cargo xtask demo` and `cargo xtask test`, and the
//! steps they are made of. No logic of the product is here.

mod bench;
mod clients;
mod conformance;
mod demo;
mod deny;
mod examples;
mod fixtures;
mod kits;
mod languages;
mod new;
mod plugins;
mod run;
mod server;
mod soak;
mod step;
mod steps;
mod teams;
mod test;
mod tools;
mod trials;
mod wit;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
usage: cargo xtask COMMAND

  demo [--listen ADDRESS]    build everything and serve this repository's documents
  demo --check               the same, but read from it as a client would, and stop
  check                      formatting, lints and unit tests of the host: the quick round after an edit
  test [STEP...]             all tests, or the named steps with what they need
       --list                say which steps there are, and run none
       --fail-fast           stop at the first step that fails
  soak [--minutes N]         reload, read, listen and leave for N minutes (3), and print the server's memory
  bench [--quick] [--json]   how fast it is, beside others in the same run (--reads, --overload, --only NAME, --no-rooms: less; --against PROGRAM: another build)
  plugins                    build plugins/ to target/plugins/NAME.wasm
  guests                     build host/tests/guests to target/guests/NAME.wasm; the two go together, too
  go-bindings                write the bindings in sdk/go anew
  fixtures                   keep the built examples in host/tests/fixtures, for a new version of the contract

`test` skips what needs Node or Python where they are missing; with CI=true that is a failure.
The output of each step is kept in target/xtask/STEP.log.";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match command(&words.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn command(words: &[&str]) -> Result<ExitCode> {
    match words {
        _ if words.iter().any(|word| matches!(*word, "--help" | "-h")) => println!("{HELP}"),
        ["test", rest @ ..] => return test::run(rest),
        ["check"] => steps::check(&run::Output::Terminal)?,
        ["demo"] => demo::serve(None)?,
        ["demo", "--listen", address] => demo::serve(Some(address))?,
        ["demo", "--check"] => demo::check(&run::Output::Terminal)?,
        ["bench", rest @ ..] => bench::run(rest)?,
        ["soak", rest @ ..] => soak::run(rest)?,
        ["fixtures"] => fixtures::keep(&run::Output::Terminal)?,
        ["go-bindings"] => kits::go_bindings(&run::Output::Terminal)?,
        ["plugins"] => plugins::plugins(&run::Output::Terminal)?,
        ["guests"] => plugins::guests(&run::Output::Terminal)?,
        ["plugins", "guests"] | ["guests", "plugins"] => {
            plugins::plugins(&run::Output::Terminal)?;
            plugins::guests(&run::Output::Terminal)?;
        }
        [] => bail!("say which command\n\n{HELP}"),
        _ => bail!("unknown words: {}\n\n{HELP}", words.join(" ")),
    }
    Ok(ExitCode::SUCCESS)
}
