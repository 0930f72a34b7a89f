//! `larder approve`: what is held back, and the operator's yes to it.

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::team::OfTeam;
use super::{Answer, clean, out};
use crate::config::{self, Overrides};
use crate::name::TeamName;
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
    #[command(flatten)]
    team: OfTeam,
    /// Print JSON
    #[arg(long, conflicts_with = "name")]
    json: bool,
}

impl Approve {
    // Like all commands; this one has nothing to wait for.
    pub(super) async fn run(self) -> Result<Answer, Failure> {
        let overrides = Overrides {
            config: self.config,
            plugins: self.plugins,
            team: self.team.team,
            ..Overrides::default()
        };
        let config = config::load(&overrides)?;
        let teams = config.teams.into_iter();
        let teams = teams.filter(|(name, _)| overrides.team.as_ref().is_none_or(|team| team == name));
        let mut held = Vec::new();
        for (_, team) in teams {
            let approvals = team.reconcile.approvals;
            held.extend(approvals.held()?.into_iter().map(|one| (approvals.clone(), one)));
        }
        let Some(name) = &self.name else {
            let held: Vec<_> = held.into_iter().map(|(_, one)| one).collect();
            list(&held, self.json)?;
            return Ok(Answer::Yes);
        };
        held.retain(|(_, one)| one.provider == *name);
        let teams: BTreeSet<&str> = held.iter().map(|(_, one)| one.team.as_str()).collect();
        if teams.len() > 1 {
            let teams = teams.into_iter().collect::<Vec<_>>().join(", ");
            out::note(&format!("larder: several teams have {name} held back ({teams}): add --team NAME"));
            return Ok(Answer::No);
        }
        if held.is_empty() {
            out::note(&format!(
                "larder: nothing of {name} is held back, as far as a running server has said"
            ));
            return Ok(Answer::No);
        }
        decide(&held, self.yes)
    }
}

fn decide(held: &[(Approvals, Held)], yes: bool) -> Result<Answer, Failure> {
    for (approvals, one) in held {
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
    let team = match held.team.as_str() {
        team if team == TeamName::sole().as_str() => String::new(),
        team => format!(" of team {}", clean::line(team)),
    };
    let mut shown = format!("{}{team} ({digest}) asks for\n", clean::line(&held.provider));
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
