//! `larder approve`: what is held back, and the operator's yes to it.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::{Answer, clean, out};
use crate::config::{self, Overrides};
use crate::reconcile::{Approvals, Held};

/// Approves what a held back component asks for; without a name, lists what is held back
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 if nothing of that name is held back, or if it is not approved.")]
pub(super) struct Approve {
    /// The provider
    name: Option<String>,
    /// Approve without being asked
    #[arg(long, requires = "name")]
    yes: bool,
    /// The configuration [default: larder.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder with the components [default: plugins]
    #[arg(long, value_name = "DIR")]
    plugins: Option<PathBuf>,
    /// Print JSON
    #[arg(long, conflicts_with = "name")]
    json: bool,
}

impl Approve {
    // Like all commands; this one has nothing to wait for.
    pub(super) async fn run(self) -> Result<Answer, Failure> {
        let overrides = Overrides { config: self.config, plugins: self.plugins, listen: None };
        let approvals = config::load(&overrides)?.reconcile.approvals;
        let held = approvals.held()?;
        let Some(name) = &self.name else {
            list(&held, self.json)?;
            return Ok(Answer::Yes);
        };
        let held: Vec<_> = held.into_iter().filter(|one| one.provider == *name).collect();
        if held.is_empty() {
            out::note(&format!(
                "larder: nothing of {name} is held back, as far as a running server has said"
            ));
            return Ok(Answer::No);
        }
        decide(&approvals, &held, self.yes)
    }
}

fn decide(approvals: &Approvals, held: &[Held], yes: bool) -> Result<Answer, Failure> {
    for one in held {
        out::text(&show(one))?;
        if !yes && !ask()? {
            out::note("larder: not approved");
            return Ok(Answer::No);
        }
        approvals.approve(one, &config::user())?;
        out::note(&format!("larder: approved; a running server takes {} over by itself", one.provider));
    }
    Ok(Answer::Yes)
}

fn list(held: &[Held], json: bool) -> io::Result<()> {
    match json {
        true => out::json(&json!({ "held": held })),
        false if held.is_empty() => {
            out::note("nothing is held back");
            Ok(())
        }
        false => out::text(&held.iter().map(show).collect::<String>()),
    }
}

fn show(held: &Held) -> String {
    let digest: String = held.digest.chars().take(12).collect();
    let mut shown = format!("{} ({digest}) asks for\n", clean::line(&held.provider));
    for line in &held.lines {
        shown += &format!("  + {}\n", clean::line(line));
    }
    shown
}

/// Only a person at a terminal can be asked; a script says `--yes`.
fn ask() -> io::Result<bool> {
    if !io::stdin().is_terminal() {
        out::note("larder: nobody to ask: run it on a terminal, or with --yes");
        return Ok(false);
    }
    write!(io::stderr(), "approve? [y/N] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_cannot_hide() {
        let held = Held {
            team: "default".into(),
            provider: "wiki".into(),
            digest: "0123456789abcdef".into(),
            lines: ["variable HOME".to_owned(), "http x\u{202e}\n\x1b[2J".to_owned()].into(),
        };
        assert_eq!(
            show(&held),
            "wiki (0123456789ab) asks for\n  + http x\\u202e \\u001b[2J\n  + variable HOME\n"
        );
    }
}
