//! Development tasks: `cargo xtask demo`, `cargo xtask test` and others. They contain no logic of the
//! product.

mod bench;
mod benchmark;
mod book;
mod clients;
mod compiler_script;
mod conformance;
mod cpu_time;
mod demo;
mod deny;
mod dist;
mod emulation;
mod examples;
mod features;
mod first_command;
mod fixtures;
mod frameworks;
mod fuzz;
mod languages;
mod linted_build;
mod lints;
mod mcp_client;
mod packaging;
mod page;
mod platforms;
mod plugins;
mod providers;
mod random_answers;
mod registry;
mod replicas;
mod run;
mod sdks;
mod server;
mod signatures;
mod soak;
mod sources;
mod step;
mod step_process;
mod steps;
mod teams;
mod test;
mod test_log;
mod timings;
mod tools;
mod tools_only;
mod wait;
mod wit;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
usage: cargo xtask COMMAND

  demo [--listen ADDRESS]    build a server with four providers in target/demo, and serve this repository's documents
  demo --check [--folder F]  the same, but read from it as a client would, and stop; can build in another folder
  check                      formatting, lints and unit tests of the host: quick checks after an edit
  test [STEP...]             all tests of a change, or the named steps and their prerequisites
  test release               what only a release needs: archives and packages, rustdoc, the book, wkg, the benchmark
       --list                list the steps without running them
       --fail-fast           stop at the first step that fails
       --timings             print the wall time and the CPU time of each step (also in target/xtask/timings.tsv)
  soak [--minutes N]         reload, read, subscribe and disconnect for N minutes (default 3); print the server's memory
  bench [--quick] [--json]   compare the performance of Larder and other servers
       --reads, --languages, --names, --compilation, --overload, --floods, --no-micro, --only NAME
                             run a part of the benchmark
       --program FILE        measure this program instead of building one, such as bin/larder in target/archives
       --against COMMIT      also measure the version of a commit, which is built first, or another program
  figures [PROVIDER...]      latency, memory and size of the shipped providers, as a table, with the program that LARDER_BIN
                             names (profile `dist`) on an idle machine
  fuzz [TARGET...]           look for inputs that break the parsers, from the corpora in fuzz/ (needs a C++ compiler)
       --seconds N           how long each target runs (default 120)
  plugins                    build plugins/ to target/plugins/NAME.wasm; without a C compiler for WASI, those that
                             need one are not built
  guests                     build host/tests/guests to target/guests/NAME.wasm; can be combined with plugins
  dist                       `test release`, then the files of a release in target/archives, for the targets that are
                             installed: archives, packages for npm and PyPI, bundles (MCPB), SHA256SUMS
  dist --without-tests       the files only
       --profiles FOLDER     use the profiles of a release (*.profdata.zst), instead of recording new ones
  dist --finish              SHA256SUMS, server.json and the launcher for npm, for what is in target/archives, also from
                             other machines
  go-bindings                regenerate the bindings in sdk/go
  fixtures                   store the built examples in host/tests/fixtures for a new version of the contract

`test` skips steps whose tools (such as Node or Python) are missing; with CI=true they fail instead.
The output of each step is in target/xtask/STEP.log.";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Result<ExitCode> {
    match args {
        _ if args.iter().any(|arg| matches!(*arg, "--help" | "-h")) => println!("{HELP}"),
        ["test", rest @ ..] => return test::run(rest),
        [step_process::COMMAND, name] => return step_process::run_here(name),
        ["check"] => steps::check(&run::Output::Terminal)?,
        ["demo"] => demo::serve(None)?,
        ["demo", "--listen", address] => demo::serve(Some(address))?,
        ["demo", "--check"] => demo::check(&run::Output::Terminal, &demo::folder())?,
        ["demo", "--check", "--folder", folder] => {
            demo::check(&run::Output::Terminal, folder.as_ref())?
        }
        ["bench", rest @ ..] => bench::run(rest)?,
        ["fuzz", rest @ ..] => fuzz::run(rest)?,
        ["soak", rest @ ..] => soak::run(rest)?,
        ["figures", names @ ..] => providers::figures::print(names)?,
        ["dist"] => {
            let tested = test::run(&["release"])?;
            if tested != ExitCode::SUCCESS {
                return Ok(tested);
            }
            dist::run(None)?;
        }
        ["dist", "--without-tests"] => dist::run(None)?,
        ["dist", "--without-tests", "--profiles", folder] => dist::run(Some(folder.as_ref()))?,
        ["dist", "--finish"] => dist::finish()?,
        ["fixtures"] => fixtures::store(&run::Output::Terminal)?,
        ["go-bindings"] => sdks::go_bindings(&run::Output::Terminal)?,
        ["plugins"] => plugins::plugins(&run::Output::Terminal)?,
        ["guests"] => plugins::guests(&run::Output::Terminal)?,
        ["plugins", "guests"] | ["guests", "plugins"] => {
            plugins::plugins(&run::Output::Terminal)?;
            plugins::guests(&run::Output::Terminal)?;
        }
        [] => bail!("no command given\n\n{HELP}"),
        _ => bail!("unknown arguments: {}\n\n{HELP}", args.join(" ")),
    }
    Ok(ExitCode::SUCCESS)
}
