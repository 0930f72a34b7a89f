//! `larder approve`: lists and approves pending grant requests.

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::error::CommandError;
use super::team::TeamArg;
use super::{Outcome, out, sanitize};
use crate::config::{self, Overrides};
use larder_core::audit::{self, AuditEvent, AuditLog};
use larder_core::reconcile::{ApprovalScope, Approvals, PendingApprovalRecord};
use larder_model::name::TeamName;

/// The number of digits of a shortened digest.
const SHORT_DIGEST: usize = 12;

/// Approve the pending grant requests of a component, or list all that are pending
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 if nothing is pending for that provider, or if it is not approved.")]
pub(super) struct Approve {
    /// The provider to approve [default: list all that are pending]
    name: Option<String>,
    /// Approve only the component with this digest, or its first 12 digits: a later one needs a new approval
    #[arg(long, value_name = "DIGEST", requires = "name", value_parser = parse_digest)]
    digest: Option<String>,
    /// Approve without confirmation
    #[arg(long, requires = "name")]
    yes: bool,
    /// The configuration file [default: larder.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder with the components [default: plugins]
    #[arg(long, value_name = "DIR")]
    plugins: Option<PathBuf>,
    #[command(flatten)]
    team: TeamArg,
    /// Print JSON
    #[arg(long, conflicts_with = "name")]
    json: bool,
}

impl Approve {
    // Async like the other commands, though it awaits nothing.
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let overrides = Overrides {
            config: self.config,
            plugins: self.plugins,
            team: self.team.team,
            ..Overrides::default()
        };
        let config = config::load(&overrides)?;
        let (audit, teams) = (config.audit, config.teams.into_iter());
        let teams = teams.filter(|(name, _)| overrides.team.as_ref().is_none_or(|team| team == name));
        let mut pending = Vec::new();
        for (_, team) in teams {
            let approvals = team.reconcile.approvals;
            pending.extend(approvals.pending()?.into_iter().map(|one| (approvals.clone(), one)));
        }
        let Some(name) = &self.name else {
            let pending: Vec<_> = pending.into_iter().map(|(_, one)| one).collect();
            list(&pending, self.json)?;
            return Ok(Outcome::Success);
        };
        pending.retain(|(_, one)| one.provider == *name);
        let teams: BTreeSet<&str> = pending.iter().map(|(_, one)| one.team.as_str()).collect();
        if teams.len() > 1 {
            let teams = teams.into_iter().collect::<Vec<_>>().join(", ");
            out::note(&format!(
                "larder: {name} is pending approval in several teams ({teams}): add --team NAME"
            ));
            return Ok(Outcome::Negative);
        }
        if pending.is_empty() {
            out::note(&format!(
                "larder: nothing is pending approval for {name}; requests are recorded by a running server"
            ));
            return Ok(Outcome::Negative);
        }
        if let Some(digest) = &self.digest {
            let found: Vec<_> = pending.iter().map(|(_, one)| short(&one.digest)).collect();
            pending.retain(|(_, one)| one.digest.starts_with(digest.as_str()));
            if pending.is_empty() {
                let found = found.join(", ");
                out::note(&format!(
                    "larder: not approved: the component that is pending has the digest {found}"
                ));
                return Ok(Outcome::Negative);
            }
        }
        let scope = self.digest.map_or(ApprovalScope::Name, |_| ApprovalScope::Digest);
        approve(&pending, scope, self.yes, &audit)
    }
}

fn approve(
    pending: &[(Approvals, PendingApprovalRecord)],
    scope: ApprovalScope,
    yes: bool,
    audit: &audit::Config,
) -> Result<Outcome, CommandError> {
    for (approvals, one) in pending {
        out::text(&show(one))?;
        if !yes && !confirm()? {
            out::note("larder: not approved");
            return Ok(Outcome::Negative);
        }
        let operator = config::operator_name();
        record(one, scope, &operator, audit)?;
        approvals.approve_for(scope, one, &operator)?;
        out::note(&format!(
            "larder: approved; a running server applies it to {} without a restart",
            one.provider
        ));
    }
    Ok(Outcome::Success)
}

/// Records an approval in the audit log of the server, before it takes effect.
fn record(
    one: &PendingApprovalRecord,
    scope: ApprovalScope,
    operator: &str,
    audit: &audit::Config,
) -> Result<(), CommandError> {
    let mut details: Vec<String> = one.lines.iter().cloned().collect();
    details.extend((scope == ApprovalScope::Digest).then(|| "only for this digest".to_owned()));
    let (team, provider, digest) = (Some(&*one.team), Some(&*one.provider), Some(&*one.digest));
    let subject = Some(operator);
    let event =
        AuditEvent { subject, team, provider, digest, details: &details, ..AuditEvent::new("approve", "ok") };
    AuditLog::append(audit, &event).map_err(CommandError::Audit)
}

fn list(pending: &[PendingApprovalRecord], json: bool) -> io::Result<()> {
    match json {
        true => out::json(&json!({ "pending_approval": pending })),
        false if pending.is_empty() => {
            out::note("nothing is pending approval");
            Ok(())
        }
        false => out::text(&pending.iter().map(show).collect::<String>()),
    }
}

fn show(record: &PendingApprovalRecord) -> String {
    let digest = short(&record.digest);
    let team = match record.team.as_str() {
        team if team == TeamName::default_team().as_str() => String::new(),
        team => format!(" of team {}", sanitize::line(team)),
    };
    let mut shown = format!("{}{team} ({digest}) requests\n", sanitize::line(&record.provider));
    for line in &record.lines {
        shown += &format!("  + {}\n", sanitize::line(line));
    }
    shown
}

fn short(digest: &str) -> String {
    digest.chars().take(SHORT_DIGEST).collect()
}

/// Accepts a digest as other commands print it, also a shortened one.
fn parse_digest(text: &str) -> Result<String, String> {
    let digits = text.strip_prefix("sha256:").unwrap_or(text).to_ascii_lowercase();
    let is_digest =
        (SHORT_DIGEST..=64).contains(&digits.len()) && digits.chars().all(|c| c.is_ascii_hexdigit());
    is_digest.then_some(digits).ok_or_else(|| format!("write {SHORT_DIGEST} to 64 hexadecimal digits"))
}

/// Asks for confirmation on a terminal. Scripts use `--yes`.
fn confirm() -> io::Result<bool> {
    if !io::stdin().is_terminal() {
        out::note("larder: stdin is not a terminal: use --yes to approve without confirmation");
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
    fn sanitizes_requests() {
        let record = PendingApprovalRecord {
            team: "default".into(),
            provider: "wiki".into(),
            digest: "0123456789abcdef".into(),
            lines: ["variable HOME".to_owned(), "http x\u{202e}\n\x1b[2J".to_owned()].into(),
        };
        assert_eq!(
            show(&record),
            "wiki (0123456789ab) requests\n  + http x\\u202e \\u001b[2J\n  + variable HOME\n"
        );
    }
}
