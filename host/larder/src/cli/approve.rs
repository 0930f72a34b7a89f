//! `larder approve`: lists, approves and rejects pending grant requests.

mod difference;
mod remote;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::admin_args::AdminArgs;
use super::confirm::confirm;
use super::error::CommandError;
use super::team::TeamArg;
use super::{Outcome, out, sanitize, state_folder};
use larder_config::{self as config, Overrides};
use larder_core::audit::{self, AuditEvent, AuditLog};
use larder_core::reconcile::{ApprovalScope, Approvals, PendingApprovalRecord, RejectedRequest};
use larder_model::name::TeamName;

/// The number of digits of a shortened digest.
const SHORT_DIGEST: usize = 12;
/// The number of digits of a shortened id. With fewer digits, the author of a `NAME.toml` could find a request with the
/// same digits.
const SHORT_ID: usize = 32;

/// Approve the pending grant requests of a component, or list all that are pending
///
/// Without --admin, this works on the machine of the server, as its user. With --admin, the server does it, and records
/// whose token it was.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1 if nothing is pending for that provider, or if it is not approved."
)]
pub(super) struct Approve {
    /// The provider to approve [default: list all that are pending]
    name: Option<String>,
    /// Approve only the component with this digest, or its first 12 digits: a later one needs a new approval
    #[arg(long, value_name = "DIGEST", requires = "name", value_parser = parse_digest)]
    digest: Option<String>,
    /// Approve or reject only the request with this id, as the list shows it. It covers the component, what it requests
    /// and the definitions of its tools
    #[arg(long, value_name = "ID", requires = "name", value_parser = parse_id)]
    id: Option<String>,
    /// Reject the requests: the component is not pending any more, and what is served stays
    #[arg(long, requires = "name")]
    reject: bool,
    /// Approve or reject without confirmation; needs --id
    #[arg(long, requires = "name")]
    yes: bool,
    /// The folder with the components [default: plugins]
    #[arg(long, value_name = "DIR", conflicts_with = "admin")]
    plugins: Option<PathBuf>,
    #[command(flatten)]
    team: TeamArg,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    admin: AdminArgs,
}

impl Approve {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        if self.admin.admin.is_some() {
            return self.run_remote().await;
        }
        let config = config::load(&self.overrides())?;
        let config = state_folder::of_server(config, self.admin.clone()).await?;
        let mut teams = config.teams;
        teams.retain(|name, _| self.is_of_team(name.as_str()));
        let teams = teams.into_values();
        let approvals: Vec<_> = teams.map(|team| team.reconcile.approvals).collect();
        let mut pending = Vec::new();
        for approvals in &approvals {
            let own = approvals.pending()?.into_iter();
            pending.extend(own.map(|one| (approvals.clone(), one)));
        }
        let Some(name) = &self.name else {
            let pending: Vec<_> = pending.into_iter().map(|(_, one)| one).collect();
            list(&pending, self.json, &config.state_dir)?;
            return Ok(Outcome::Success);
        };
        pending.retain(|(_, one)| one.provider == *name);
        if pending.is_empty() && !self.reject {
            pending = rejected(&approvals, name)?;
        }
        let described: Vec<_> = pending
            .iter()
            .map(|(_, one)| RequestDescription::of(one))
            .collect();
        if let Some(why) = self.not_applicable(name, &described) {
            out::note(&why);
            return Ok(Outcome::Negative);
        }
        pending.retain(|(_, one)| self.is_meant(&RequestDescription::of(one)));
        self.decide_here(&pending, &config.audit)
    }

    fn overrides(&self) -> Overrides {
        let config = self.admin.server.config.clone();
        self.team.overrides(config, self.plugins.clone())
    }

    /// Returns why the command cannot be applied to these requests. `None` if it can be applied.
    fn not_applicable(&self, name: &str, pending: &[RequestDescription<'_>]) -> Option<String> {
        if pending.is_empty() {
            return Some(format!(
                "larder: nothing is pending approval for {name}; requests are recorded by a running server"
            ));
        }
        let teams: BTreeSet<_> = pending.iter().map(|one| one.team).collect();
        if teams.len() > 1 {
            let teams = teams.into_iter().collect::<Vec<_>>().join(", ");
            return Some(format!(
                "larder: {name} is pending approval in several teams ({teams}): add --team NAME"
            ));
        }
        let why = self.wrong_request(pending)?;
        Some(format!("larder: not {}: {why}", self.done()))
    }

    /// Says why none of these requests is what the operator saw. `None` if one is.
    fn wrong_request(&self, pending: &[RequestDescription<'_>]) -> Option<String> {
        if !pending.iter().any(|one| self.is_digest(one.digest)) {
            let found = short_digests(pending);
            return Some(format!(
                "the component that is pending has the digest {found}"
            ));
        }
        if self.yes && self.id.is_none() {
            return Some(format!(
                "--yes needs --id, so that it applies to nothing else than what you saw; now\n{}",
                shown(pending)
            ));
        }
        if pending.iter().any(|one| self.is_meant(one)) {
            return None;
        }
        let changed = if self.digest.is_some() {
            "the component is the same, but what it requests or a definition of a tool changed"
        } else {
            "the component, what it requests or a definition of a tool changed"
        };
        Some(format!(
            "{changed} since you saw it; now\n{}",
            shown(pending)
        ))
    }

    fn decide_here(
        &self,
        pending: &[(Approvals, PendingApprovalRecord)],
        audit: &audit::Config,
    ) -> Result<Outcome, CommandError> {
        let scope = self.scope();
        let mut decided = Vec::new();
        for (approvals, one) in pending {
            if !self.json {
                out::text(&show(one))?;
            }
            if !self.is_confirmed()? {
                return Ok(Outcome::Negative);
            }
            let operator = config::operator_name();
            record(one, self.verb(), scope, &operator, audit)?;
            if self.reject {
                approvals.reject(one, &operator)?
            } else {
                approvals.approve_for(scope, one, &operator)?
            }
            self.note_decision(&one.provider);
            decided.push(json!({
                "provider": one.provider, "team": one.team, "digest": one.digest, "decision": self.verb(),
            }));
        }
        self.print_decided(&decided)?;
        Ok(Outcome::Success)
    }

    fn scope(&self) -> ApprovalScope {
        match self.digest {
            Some(_) => ApprovalScope::Digest,
            None => ApprovalScope::Name,
        }
    }

    /// Asks for confirmation, unless `--yes` is set.
    fn is_confirmed(&self) -> io::Result<bool> {
        let verb = self.verb();
        if self.yes || confirm(&format!("{verb}?"), verb)? {
            return Ok(true);
        }
        out::note(&format!("larder: not {}", self.done()));
        Ok(false)
    }

    fn print_decided(&self, decided: &[Value]) -> io::Result<()> {
        if self.json {
            out::json(&json!({ "decided": decided }))?;
        }
        Ok(())
    }

    fn note_decision(&self, provider: &str) {
        out::note(&if self.reject {
            format!("larder: rejected; what {provider} serves stays")
        } else {
            format!("larder: approved; a running server applies it to {provider} without a restart")
        });
    }

    fn verb(&self) -> &'static str {
        if self.reject { "reject" } else { "approve" }
    }

    fn done(&self) -> &'static str {
        if self.reject { "rejected" } else { "approved" }
    }

    fn is_of_team(&self, team: &str) -> bool {
        self.team
            .team
            .as_ref()
            .is_none_or(|wanted| wanted.as_str() == team)
    }

    fn is_digest(&self, digest: &str) -> bool {
        self.digest
            .as_ref()
            .is_none_or(|wanted| digest.starts_with(wanted))
    }

    fn is_meant(&self, one: &RequestDescription<'_>) -> bool {
        self.is_digest(one.digest)
            && self
                .id
                .as_ref()
                .is_none_or(|wanted| one.id.starts_with(wanted))
    }
}

fn short_digests(pending: &[RequestDescription<'_>]) -> String {
    let digests: Vec<_> = pending.iter().map(|one| short(one.digest)).collect();
    digests.join(", ")
}

fn shown(pending: &[RequestDescription<'_>]) -> String {
    pending.iter().map(|one| &*one.shown).collect()
}

/// What decides whether the command applies to a request.
struct RequestDescription<'a> {
    team: &'a str,
    digest: &'a str,
    id: String,
    /// The request as the list shows it.
    shown: String,
}

impl<'a> RequestDescription<'a> {
    fn of(record: &'a PendingApprovalRecord) -> Self {
        let PendingApprovalRecord { team, digest, .. } = record;
        Self {
            team,
            digest,
            id: record.id().to_string(),
            shown: show(record),
        }
    }
}

/// Returns the rejected requests of a provider. They can still be approved.
fn rejected(
    approvals: &[Approvals],
    name: &str,
) -> Result<Vec<(Approvals, PendingApprovalRecord)>, CommandError> {
    let mut found = Vec::new();
    for approvals in approvals {
        let of_provider = approvals
            .rejected()?
            .into_iter()
            .filter(|one| one.record.provider == name);
        for RejectedRequest { record, at, by } in of_provider {
            out::note(&format!("larder: {by} rejected this at {at}"));
            found.push((approvals.clone(), record));
        }
    }
    Ok(found)
}

/// Records a decision in the audit log of the server, before the decision takes effect.
fn record(
    one: &PendingApprovalRecord,
    operation: &'static str,
    scope: ApprovalScope,
    operator: &str,
    audit: &audit::Config,
) -> Result<(), CommandError> {
    let mut details: Vec<String> = one.lines.iter().cloned().collect();
    details.extend((scope == ApprovalScope::Digest).then(|| "only for this digest".to_owned()));
    let team = Some(&*one.team);
    let provider = Some(&*one.provider);
    let digest = Some(&*one.digest);
    let subject = Some(operator);
    let event = AuditEvent {
        subject,
        team,
        provider,
        digest,
        details: &details,
        ..AuditEvent::new(operation, "ok")
    };
    AuditLog::append(audit, &event).map_err(CommandError::Audit)
}

fn list(pending: &[PendingApprovalRecord], json: bool, state_dir: &Path) -> io::Result<()> {
    if json {
        out::json(&json!({ "pending_approval": pending.iter().map(with_id).collect::<Vec<_>>() }))
    } else if pending.is_empty() {
        out::note(&format!(
            "nothing is pending approval in {}",
            state_dir.display()
        ));
        Ok(())
    } else {
        out::text(&pending.iter().map(show).collect::<String>())
    }
}

fn with_id(record: &PendingApprovalRecord) -> Value {
    let mut shown = json!(record);
    shown["id"] = record.id().to_string().into();
    shown
}

fn show(record: &PendingApprovalRecord) -> String {
    let digest = short(&record.digest);
    let team = match record.team.as_str() {
        team if team == TeamName::default_team().as_str() => String::new(),
        team => format!(" of team {}", sanitize::line(team)),
    };
    let mut shown = format!(
        "{}{team} ({digest}) requests\n",
        sanitize::line(&record.provider)
    );
    for line in &record.lines {
        shown += &format!("  + {}\n", sanitize::line(line));
    }
    for tool in &record.tools {
        shown += &difference::of_tool(&tool.name, tool.before.as_deref(), tool.after.as_deref());
    }
    shown + &id_line(&record.id().to_string())
}

fn id_line(id: &str) -> String {
    format!("  id {}\n", id.chars().take(SHORT_ID).collect::<String>())
}

fn short(digest: &str) -> String {
    digest.chars().take(SHORT_DIGEST).collect()
}

/// Accepts a digest as other commands print it, including a shortened digest.
fn parse_digest(text: &str) -> Result<String, String> {
    parse_digits(text.strip_prefix("sha256:").unwrap_or(text), SHORT_DIGEST)
}

fn parse_id(text: &str) -> Result<String, String> {
    parse_digits(text, SHORT_ID)
}

fn parse_digits(text: &str, least: usize) -> Result<String, String> {
    let digits = text.to_ascii_lowercase();
    let are_valid =
        (least..=64).contains(&digits.len()) && digits.chars().all(|c| c.is_ascii_hexdigit());
    are_valid
        .then_some(digits)
        .ok_or_else(|| format!("write {least} to 64 hexadecimal digits"))
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
            lines: [
                "variable HOME".to_owned(),
                "http x\u{202e}\n\x1b[2J".to_owned(),
            ]
            .into(),
            tools: Vec::new(),
        };
        let lines =
            "wiki (0123456789ab) requests\n  + http x\\u202e \\u001b[2J\n  + variable HOME\n";
        assert_eq!(
            show(&record),
            format!("{lines}  id {}\n", &record.id().to_string()[..32])
        );
    }
}
