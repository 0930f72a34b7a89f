//! `larder status`: what a running server serves, what it does not serve, and why.

use std::collections::BTreeMap;

use clap::Args;

use super::failure::Failure;
use super::{Answer, clean, out};
use crate::admin::{Grants, HeldBack, Provider, Rejected, Status as Said, Team};
use crate::client;

/// Shows what a running server serves, rejects and holds back, and what went wrong last
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1 if the server is not ready to be sent requests, or if nothing answers at the address."
)]
pub(super) struct Status {
    /// The server's admin address, which is `admin.listen` in its configuration
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:7879")]
    admin: String,
    /// The token that belongs to `admin.token`
    #[arg(long, env = "LARDER_ADMIN_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Print JSON, as the server gives it
    #[arg(long)]
    json: bool,
}

impl Status {
    pub(super) async fn run(self) -> Result<Answer, Failure> {
        let said: serde_json::Value = client::status(&self.admin, self.token.as_deref()).await?;
        let ready = said["ready"] == true;
        if self.json {
            out::json(&said)?;
        } else {
            let said =
                serde_json::from_value(said).map_err(|_| client::ClientError::NotStatus(self.admin))?;
            out::text(&clean::lines(&show(&said)))?;
        }
        Ok(Answer::yes_if(ready))
    }
}

fn show(said: &Said) -> String {
    let ready = if said.ready { "ready" } else { "not ready" };
    let mut lines = vec![format!("larder {}, {ready}, since {}", said.version, said.started)];
    lines.extend(said.reasons.iter().map(|reason| format!("  not ready: {reason}")));
    lines.extend(said.troubles.iter().map(|trouble| format!("  trouble: {trouble}")));
    said.teams.iter().for_each(|of| team(of, &mut lines));
    lines.join("\n") + "\n"
}

fn team(team: &Team, lines: &mut Vec<String>) {
    lines.push(format!("team {} in {}", line(&team.team), line(&team.plugins)));
    let width = team.providers.iter().map(|provider| provider.name.len()).max().unwrap_or(0);
    team.providers.iter().for_each(|one| provider(one, width, lines));
    lines.extend(team.rejected.iter().map(rejected));
    lines.extend(team.held_back.iter().map(held_back));
    lines.extend(team.collisions.iter().map(|collision| format!("  collision: {}", line(collision))));
    if lines.last().is_some_and(|last| last.starts_with("team ")) {
        lines.push("  nothing yet".into());
    }
}

fn provider(provider: &Provider, width: usize, lines: &mut Vec<String>) {
    let Provider { name, digest, resources, templates, since, .. } = provider;
    let (resources, templates) =
        (count(*resources, provider.more, "resource"), count(*templates, false, "template"));
    let digest = digest.get(..12).unwrap_or(digest);
    lines.push(line(&format!(
        "  {name:width$}  {digest}  since {since}  {resources}, {templates}; calls: {}",
        calls(&provider.calls)
    )));
    lines.extend(given(provider));
    if let Some(time) = provider.set_aside_ms {
        lines
            .push(format!("    set aside for {time} ms more, since it only faulted; then it is tried again"));
    }
    if let Some(error) = &provider.last_error {
        let at = format!("    last error, {}: {} of a {}: ", error.at, error.outcome, error.asked);
        lines.push(at + &line(&error.message));
    }
    lines.extend(provider.left_out.iter().map(|what| format!("    left out: {}", line(what))));
}

/// What it was given, and by whom: one line, and none for those who have nothing.
fn given(provider: &Provider) -> Option<String> {
    let Grants { secrets, env, dirs, hosts, .. } = &provider.grants;
    let named =
        |kind, names: &[String]| (!names.is_empty()).then(|| format!("{kind} {}", line(&names.join(", "))));
    let parts =
        [named("folders", dirs), named("http", hosts), named("variables", env), named("secrets", secrets)];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("    given: {}", parts.join("; ")))
}

fn count(count: usize, more: bool, what: &str) -> String {
    match (count, more) {
        (1, false) => format!("1 {what}"),
        (_, false) => format!("{count} {what}s"),
        (_, true) => format!("{count}+ {what}s"),
    }
}

fn calls(calls: &BTreeMap<String, u64>) -> String {
    let all: Vec<_> = calls.iter().map(|(word, count)| format!("{count} {word}")).collect();
    if all.is_empty() { "none".into() } else { all.join(", ") }
}

fn rejected(rejected: &Rejected) -> String {
    let Rejected { file, reason, since, .. } = rejected;
    format!("  rejected: {}: {} (since {since})", line(file), line(reason))
}

fn held_back(held: &HeldBack) -> String {
    let HeldBack { provider, digest, asks, since } = held;
    let digest = digest.get(..12).unwrap_or(digest);
    let asks = line(&asks.join("`, `"));
    format!(
        "  held back: {provider} {digest} until `larder approve {provider}`: it asks for `{asks}` (since {since})"
    )
}

fn line(text: &str) -> String {
    clean::line(text).into_owned()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn people_see_what_is_wrong() {
        let digest = "0123456789abcdef".repeat(4);
        let said = json!({
            "version": "0.1.0", "started": "2026-01-02T03:04:05Z", "ready": false,
            "reasons": ["it is stopping"], "troubles": ["team default: cannot look into /plugins"],
            "teams": [{
                "team": "default", "plugins": "/srv/plugins",
                "providers": [{
                    "name": "wiki", "digest": digest, "revision": 1, "since": "2026-01-02T03:04:06Z", "version": null,
                    "resources": 3, "more": true, "templates": 1, "claims": [], "left_out": ["an\u{1b}[2Jentry"],
                    "asked": ["secret key"], "allowed": [],
                    "grants": { "settings": [], "secrets": ["key"], "env": [], "dirs": ["/a as /b (read)"], "hosts": [] },
                    "calls": { "ok": 4, "trap": 1 },
                    "last_error": { "at": "2026-01-02T03:05:00Z", "asked": "read", "outcome": "trap", "message": "it\ntrapped" },
                }],
                "rejected": [{ "file": "odd.wasm", "digest": null, "reason": "the file is empty", "since": "2026-01-02T03:04:06Z" }],
                "held_back": [{ "provider": "net", "digest": digest, "asks": ["env HOME", "dir /x"], "since": "2026-01-02T03:04:06Z" }],
                "collisions": [],
            }, { "team": "empty", "plugins": "/srv/empty", "providers": [], "rejected": [], "held_back": [], "collisions": [] }],
        });
        expect![[r#"
            larder 0.1.0, not ready, since 2026-01-02T03:04:05Z
              not ready: it is stopping
              trouble: team default: cannot look into /plugins
            team default in /srv/plugins
              wiki  0123456789ab  since 2026-01-02T03:04:06Z  3+ resources, 1 template; calls: 4 ok, 1 trap
                given: folders /a as /b (read); secrets key
                last error, 2026-01-02T03:05:00Z: trap of a read: it trapped
                left out: an\u001b[2Jentry
              rejected: odd.wasm: the file is empty (since 2026-01-02T03:04:06Z)
              held back: net 0123456789ab until `larder approve net`: it asks for `env HOME`, `dir /x` (since 2026-01-02T03:04:06Z)
            team empty in /srv/empty
              nothing yet
        "#]].assert_eq(&show(&serde_json::from_value(said).unwrap()));
    }
}
