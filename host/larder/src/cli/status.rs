//! `larder status`: prints the status of a running server.

use std::collections::BTreeMap;

use clap::Args;

use super::admin_args::AdminArgs;
use super::error::CommandError;
use super::server_address::ServerAddress;
use super::{Outcome, out, sanitize};
use larder_admin::{
    Cluster, Folders, Grants, IndexStatus, Issuer, Memory, PendingApproval, Provider, Rejected,
    Replica, Status as ServerStatus, StoredValues, Team,
};
use larder_client as client;
use larder_model::name::TeamName;
use larder_model::size;

/// Show what a running server serves, what it rejected, what waits for approval, and recent errors
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1 if the server is not ready for requests, or cannot be reached."
)]
pub(super) struct Status {
    #[command(flatten)]
    admin: AdminArgs,
    /// Print the server's JSON
    #[arg(long)]
    json: bool,
}

impl Status {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let ServerAddress {
            url,
            source,
            builder,
        } = self.admin.resolve()?;
        let status: serde_json::Value = builder.status(&url).await?;
        let ready = status["ready"] == true;
        if self.json {
            out::json(&status)?;
        } else {
            let server = format!("server {url} (from {source})\n");
            let status =
                serde_json::from_value(status).map_err(|_| client::ClientError::NotStatus(url))?;
            out::text(&sanitize::lines(&(server + &show(&status))))?;
        }
        Ok(Outcome::success_if(ready))
    }
}

fn show(status: &ServerStatus) -> String {
    let ready = if status.ready { "ready" } else { "not ready" };
    let mut lines = vec![format!(
        "larder {}, {ready}, since {}",
        status.version, status.started
    )];
    lines.extend(
        status
            .reasons
            .iter()
            .map(|reason| format!("  not ready: {reason}")),
    );
    lines.extend(
        status
            .problems
            .iter()
            .map(|problem| format!("  problem: {problem}")),
    );
    lines.extend(
        status
            .notices
            .iter()
            .map(|notice| format!("  notice: {notice}")),
    );
    lines.extend(restart(&status.needs_restart));
    lines.extend(status.issuer.as_ref().map(issuer));
    lines.extend(status.cluster.iter().flat_map(cluster));
    lines.extend(status.memory.as_ref().map(memory));
    lines.extend(status.folders.as_ref().map(folders));
    status.teams.iter().for_each(|one| team(one, &mut lines));
    lines.join("\n") + "\n"
}

/// Returns one line with the changes that are not in effect.
fn restart(keys: &[String]) -> Option<String> {
    (!keys.is_empty()).then(|| {
        format!(
            "  changed, but in effect only after a restart: {}",
            line(&keys.join(", "))
        )
    })
}

/// Returns one line with the state of the OAuth issuer.
fn issuer(issuer: &Issuer) -> String {
    let Issuer {
        issuer,
        keys,
        fetched,
        error,
        ..
    } = issuer;
    let fetched = fetched
        .as_ref()
        .map_or("never fetched".to_owned(), |at| format!("fetched {at}"));
    let error = error
        .as_ref()
        .map(|error| format!("; last error, {}: {}", error.at, error.message));
    line(&format!(
        "issuer {issuer}: {}, {fetched}{}",
        count(*keys, false, "key"),
        error.unwrap_or_default()
    ))
}

/// Returns a line with the state of the cluster, and one for each other replica.
fn cluster(cluster: &Cluster) -> Vec<String> {
    let Cluster {
        connected,
        server,
        replica,
        replicas,
        watched,
        polled,
        reconnects,
        last_error,
    } = cluster;
    let server = server.as_deref().unwrap_or("NATS");
    let connection = if *connected {
        format!("connected to {server}")
    } else {
        "not connected to NATS".into()
    };
    let error = last_error
        .as_ref()
        .map(|error| format!("; last error: {error}"))
        .unwrap_or_default();
    let watched = format!("watches {watched} URIs, checks {polled} of them");
    let all = count(replicas.len() + 1, false, "replica");
    let own = format!(
        "replica {replica} of {all}, {connection}, reconnects: {reconnects}; {watched}{error}"
    );
    let other = |one: &Replica| {
        format!(
            "  replica {} (larder {}), seen {} s ago",
            one.id, one.version, one.last_seen_seconds
        )
    };
    std::iter::once(line(&own))
        .chain(replicas.iter().map(|one| line(&other(one))))
        .collect()
}

/// Returns one line with the memory budget and its largest uses.
fn memory(memory: &Memory) -> String {
    let Memory {
        limit,
        used,
        refused,
    } = memory;
    let mut uses: Vec<_> = used.iter().filter(|(_, bytes)| **bytes > 0).collect();
    uses.sort_by_key(|(_, bytes)| std::cmp::Reverse(**bytes));
    let uses: Vec<_> = uses
        .iter()
        .map(|(what, bytes)| format!("{what} {}", size::show(**bytes)))
        .collect();
    let uses = if uses.is_empty() {
        String::new()
    } else {
        format!(" ({})", line(&uses.join(", ")))
    };
    let refused = if *refused > 0 {
        format!("; refused {refused} times")
    } else {
        String::new()
    };
    let total = used
        .values()
        .fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    format!(
        "memory: {} of {}{uses}{refused}",
        size::show(total),
        size::show(*limit)
    )
}

/// Returns one line with the folders of the server.
fn folders(folders: &Folders) -> String {
    let Folders {
        configuration,
        state,
        cache,
    } = folders;
    let configuration = configuration
        .as_ref()
        .map(|file| format!("; configuration {file}"))
        .unwrap_or_default();
    line(&format!(
        "state in {state}; cache in {}{configuration}",
        cache.as_deref().unwrap_or("a temporary folder")
    ))
}

fn team(team: &Team, lines: &mut Vec<String>) {
    let named = if team.state_key.starts_with("name:") {
        format!(", state {}", team.state_key)
    } else {
        String::new()
    };
    lines.push(line(&format!(
        "team {} in {}{named}",
        team.team, team.plugins
    )));
    let width = team
        .providers
        .iter()
        .map(|provider| provider.name.len())
        .max()
        .unwrap_or(0);
    team.providers
        .iter()
        .for_each(|one| provider(one, width, lines));
    lines.extend(team.rejected.iter().map(rejected));
    if team.more_rejected > 0 {
        lines.push(format!(
            "  and {} more rejected components",
            team.more_rejected
        ));
    }
    lines.extend(
        team.pending_approval
            .iter()
            .map(|pending| pending_approval(pending, &team.team)),
    );
    lines.extend(
        team.collisions
            .iter()
            .map(|collision| format!("  collision: {}", line(collision))),
    );
    lines.extend(team.stored.iter().map(stored));
    if lines.last().is_some_and(|last| last.starts_with("team ")) {
        lines.push("  no components yet".into());
    }
}

fn provider(provider: &Provider, width: usize, lines: &mut Vec<String>) {
    let Provider {
        name,
        digest,
        since,
        ..
    } = provider;
    let lists = [
        count(provider.resources, provider.has_more, "resource"),
        count(provider.templates, false, "template"),
    ];
    let definitions = [(provider.tools, "tool"), (provider.prompts, "prompt")].into_iter();
    let definitions = definitions
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| count(number, false, what));
    let contents: Vec<_> = lists.into_iter().chain(definitions).collect();
    let digest = digest.get(..12).unwrap_or(digest);
    lines.push(line(&format!(
        "  {name:width$}  {digest}  since {since}  {}; calls: {}",
        contents.join(", "),
        calls(&provider.calls)
    )));
    lines.extend(grants(provider));
    if let Some(time) = provider.circuit_open_ms {
        lines.push(format!(
            "    circuit open: calls only faulted; retry in {time} ms"
        ));
    }
    if let Some(time) = provider.list_circuit_open_ms {
        lines.push(format!(
            "    missing in lists: calls for its list only faulted; retry in {time} ms"
        ));
    }
    if let Some(time) = provider.search_circuit_open_ms {
        lines.push(format!(
            "    missing in searches: calls for its search only faulted; retry in {time} ms"
        ));
    }
    lines.extend(provider.index.as_ref().map(index));
    if let Some(error) = &provider.last_error {
        let at = format!(
            "    last error, {}: {} of a {}: ",
            error.at, error.outcome, error.operation
        );
        lines.push(at + &line(&error.message));
    }
    lines.extend(
        provider
            .omitted
            .iter()
            .map(|what| format!("    omitted: {}", line(what))),
    );
    lines.extend(
        provider
            .setting_problems
            .iter()
            .map(|problem| format!("    problem: {}", line(problem))),
    );
}

/// Returns one line with the part of a provider in the full-text index.
fn index(index: &IndexStatus) -> String {
    let IndexStatus {
        documents,
        bytes,
        pending,
        error,
    } = index;
    let pending = if *pending > 0 {
        format!("; {pending} to read")
    } else {
        String::new()
    };
    let error = error
        .as_ref()
        .map(|error| format!("; not complete: {error}"))
        .unwrap_or_default();
    let documents = format!(
        "{documents} {}",
        if *documents == 1 {
            "resource"
        } else {
            "resources"
        }
    );
    line(&format!(
        "    full-text index: {documents}, {}{pending}{error}",
        size::show(*bytes)
    ))
}

/// Returns one line with the grants of a provider. None if it has none.
fn grants(provider: &Provider) -> Option<String> {
    let Grants {
        secrets,
        env,
        dirs,
        hosts,
        tcp,
        key_value,
        ..
    } = &provider.grants;
    let named = |kind, names: &[String]| {
        (!names.is_empty()).then(|| format!("{kind} {}", line(&names.join(", "))))
    };
    let network = [
        named("http", hosts),
        named("tcp", tcp),
        named("key-value", key_value),
    ];
    let others = [named("variables", env), named("secrets", secrets)];
    let parts: Vec<_> = named("folders", dirs)
        .into_iter()
        .chain(network.into_iter().chain(others).flatten())
        .collect();
    (!parts.is_empty()).then(|| format!("    grants: {}", parts.join("; ")))
}

fn count(count: usize, more: bool, what: &str) -> String {
    match (count, more) {
        (1, false) => format!("1 {what}"),
        (_, false) => format!("{count} {what}s"),
        (_, true) => format!("{count}+ {what}s"),
    }
}

fn calls(calls: &BTreeMap<String, u64>) -> String {
    let all: Vec<_> = calls
        .iter()
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    if all.is_empty() {
        "none".into()
    } else {
        all.join(", ")
    }
}

fn rejected(rejected: &Rejected) -> String {
    let Rejected {
        file,
        reason,
        since,
        ..
    } = rejected;
    format!(
        "  rejected: {}: {} (since {since})",
        line(file),
        line(reason)
    )
}

fn pending_approval(pending: &PendingApproval, team: &str) -> String {
    let PendingApproval {
        provider,
        digest,
        requested,
        since,
    } = pending;
    let digest = digest.get(..12).unwrap_or(digest);
    let requested = line(&requested.join("`, `"));
    // Several teams may have a provider of this name.
    let option = if team == TeamName::default_team().as_str() {
        String::new()
    } else {
        format!(" --team {team}")
    };
    format!(
        "  pending approval: {provider} {digest} requests `{requested}` (since {since}); \
         run `larder approve {provider}{option}`"
    )
}

fn stored(values: &StoredValues) -> String {
    let StoredValues {
        provider,
        keys,
        bytes,
        callers,
    } = values;
    let keys = count(*keys as usize, false, "value");
    let callers = count(*callers as usize, false, "caller");
    format!(
        "  stored by {}: {keys}, {}, {callers}",
        line(provider),
        size::show(*bytes)
    )
}

fn line(text: &str) -> String {
    sanitize::line(text).into_owned()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn shows_problems() {
        let digest = "0123456789abcdef".repeat(4);
        let teams = json!([{
                "team": "default", "plugins": "/srv/plugins", "state_key": "/srv/plugins",
                "providers": [{
                    "name": "wiki", "digest": digest, "revision": 1, "since": "2026-01-02T03:04:06Z", "version": null,
                    "resources": 3, "has_more": true, "templates": 1, "tools": 2, "claims": [], "omitted": ["an\u{1b}[2Jentry"],
                    "setting_problems": ["setting `x` is required"],
                    "requested": ["secret key"], "allowed": [],
                    "grants": { "settings": [], "secrets": ["key"], "env": [], "dirs": ["/a as /b (read)"], "hosts": [], "tcp": ["db.internal:5432", "10.0.0.5:6379 (private)"], "key_value": ["shared"] },
                    "calls": { "ok": 4, "trap": 1 },
                    "last_error": { "at": "2026-01-02T03:05:00Z", "operation": "read", "outcome": "trap", "message": "it\ntrapped" },
                }],
                "rejected": [{ "file": "odd.wasm", "digest": null, "reason": "the file is empty", "since": "2026-01-02T03:04:06Z" }],
                "pending_approval": [{ "provider": "net", "digest": digest, "requested": ["env HOME", "dir /x"], "since": "2026-01-02T03:04:06Z" }],
                "collisions": [],
                "stored": [{ "provider": "wiki", "keys": 1, "bytes": 2048, "callers": 3 }],
            }, { "team": "empty", "plugins": "/srv/empty", "state_key": "name:docs/empty", "providers": [], "rejected": [], "pending_approval": [{ "provider": "net", "digest": "0", "requested": ["env A"], "since": "2026-01-02T03:04:06Z" }], "collisions": [] }]);
        let status = json!({
            "version": "0.1.0", "started": "2026-01-02T03:04:05Z", "ready": false,
            "reasons": ["the server is stopping"], "problems": ["team default: cannot read /plugins"],
            "needs_restart": ["admin", "server.listen"],
            "issuer": {
                "issuer": "https://id.example", "keys": 0, "fetched": null, "is_only_credential": true,
                "error": { "at": "2026-01-02T03:04:09Z", "message": "connection refused" },
            },
            "cluster": {
                "connected": true, "server": "n1 (2.9.10)", "replica": "00000000000000aa", "watched": 12, "polled": 5,
                "replicas": [{ "id": "00000000000000bb", "version": "0.1.0", "last_seen_seconds": 2 }],
                "reconnects": 1, "last_error": "timed\nout",
            },
            "memory": { "limit": 2_147_483_648_u64, "used": { "guests": 1_048_576, "responses": 3_145_728, "caches": 0 }, "refused": 2 },
            "folders": { "configuration": "/etc/larder.toml", "state": "/var/lib/larder", "cache": null },
            "teams": teams,
        });
        expect![[r#"
            larder 0.1.0, not ready, since 2026-01-02T03:04:05Z
              not ready: the server is stopping
              problem: team default: cannot read /plugins
              changed, but in effect only after a restart: admin, server.listen
            issuer https://id.example: 0 keys, never fetched; last error, 2026-01-02T03:04:09Z: connection refused
            replica 00000000000000aa of 2 replicas, connected to n1 (2.9.10), reconnects: 1; watches 12 URIs, checks 5 of them; last error: timed out
              replica 00000000000000bb (larder 0.1.0), seen 2 s ago
            memory: 4 MiB of 2 GiB (responses 3 MiB, guests 1 MiB); refused 2 times
            state in /var/lib/larder; cache in a temporary folder; configuration /etc/larder.toml
            team default in /srv/plugins
              wiki  0123456789ab  since 2026-01-02T03:04:06Z  3+ resources, 1 template, 2 tools; calls: 4 ok, 1 trap
                grants: folders /a as /b (read); tcp db.internal:5432, 10.0.0.5:6379 (private); key-value shared; secrets key
                last error, 2026-01-02T03:05:00Z: trap of a read: it trapped
                omitted: an\u001b[2Jentry
                problem: setting `x` is required
              rejected: odd.wasm: the file is empty (since 2026-01-02T03:04:06Z)
              pending approval: net 0123456789ab requests `env HOME`, `dir /x` (since 2026-01-02T03:04:06Z); run `larder approve net`
              stored by wiki: 1 value, 2 KiB, 3 callers
            team empty in /srv/empty, state name:docs/empty
              pending approval: net 0 requests `env A` (since 2026-01-02T03:04:06Z); run `larder approve net --team empty`
        "#]].assert_eq(&show(&serde_json::from_value(status).unwrap()));
    }
}
