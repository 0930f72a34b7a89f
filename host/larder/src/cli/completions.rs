//! Shell completion. The script of each shell calls this program again, with a variable in the environment, to get the
//! candidates for the current word. Only candidates are printed, because an error would appear in the middle of the
//! line that the user is typing.

mod bash;
mod served;

use std::ffi::OsString;
use std::io;

use clap::{Args, Command, CommandFactory as _, ValueHint};
use clap_complete::Shell;
use clap_complete::env::{CompleteEnv, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};

use super::error::CommandError;
use super::{Cli, Outcome, out};
use bash::Bash;
pub(super) use served::{templates, uris};

/// The variable with the name of the shell that requests candidates.
const VARIABLE: &str = "_LARDER_COMPLETE";
const PROGRAM: &str = "larder";
const SHELLS: Shells<'_> = Shells(&[&Bash, &Elvish, &Fish, &Powershell, &Zsh]);

/// Print a shell completion script
#[derive(Debug, Args)]
#[command(
    after_help = "Example: larder completions bash > ~/.local/share/bash-completion/completions/larder\n\n\
    Print the script again after an update of larder. URIs are completed from the server that \
    `larder list` would use."
)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> Result<Outcome, CommandError> {
        out::bytes(&script(self.shell).map_err(CommandError::Output)?)?;
        Ok(Outcome::Success)
    }
}

/// Prints the candidates if a completion script started this process. Returns whether a completion script started it.
pub(super) fn answer(arguments: Vec<OsString>) -> bool {
    let current_dir = std::env::current_dir().ok();
    let completion = CompleteEnv::with_factory(command)
        .var(VARIABLE)
        .shells(SHELLS);
    // An error means that the request is not from our scripts, or that the pipe was closed.
    completion
        .try_complete(arguments, current_dir.as_deref())
        .unwrap_or(true)
}

/// The command line. Names of files complete only arguments that are paths.
fn command() -> Command {
    without_file_names(Cli::command())
}

fn without_file_names(command: Command) -> Command {
    command.mut_subcommands(without_file_names).mut_args(|arg| {
        if arg.get_action().takes_values() && arg.get_value_hint() == ValueHint::Unknown {
            arg.value_hint(ValueHint::Other)
        } else {
            arg
        }
    })
}

fn script(shell: Shell) -> io::Result<Vec<u8>> {
    let completer: &dyn EnvCompleter = match shell {
        Shell::Elvish => &Elvish,
        Shell::Fish => &Fish,
        Shell::PowerShell => &Powershell,
        Shell::Zsh => &Zsh,
        // Bash is the only other shell.
        _ => &Bash,
    };
    let mut script = Vec::new();
    completer.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    Ok(script)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn prints_a_script_for_every_shell() {
        for shell in Shell::value_variants() {
            let script = String::from_utf8(script(*shell).unwrap()).unwrap();
            assert!(
                script.contains(VARIABLE) && script.contains("larder --"),
                "{shell}: {script}"
            );
        }
    }

    /// The candidates for the last word.
    fn candidates(line: &str) -> Vec<String> {
        let words: Vec<_> = line.split(' ').map(OsString::from).collect();
        let mut command = command();
        let last = words.len() - 1;
        command.build();
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let candidates =
            clap_complete::engine::complete(&mut command, words, last, Some(folder)).unwrap();
        candidates
            .iter()
            .map(|candidate| candidate.get_value().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn completes_commands_and_values_and_no_files() {
        assert_eq!(candidates("larder temp"), ["templates"]);
        assert_eq!(candidates("larder list --kin"), ["--kind"]);
        assert_eq!(candidates("larder list --kind f"), ["file", "fixture"]);
        assert!(candidates("larder list --prefix Car").is_empty());
        assert_eq!(candidates("larder read --output Cargo.t"), ["Cargo.toml"]);
        assert!(
            candidates("larder read --plugins x ")
                .iter()
                .all(|candidate| candidate.starts_with('-'))
        );
    }
}
