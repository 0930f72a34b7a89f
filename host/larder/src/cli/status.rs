//! `larder status`: prints the status of a running server.

mod team;

use clap::Args;

use super::admin_args::AdminArgs;
use super::error::CommandError;
use super::server_address::ServerAddress;
use super::{Outcome, out, sanitize};
use larder_admin::{Cluster, Folders, Issuer, Memory, Replica, Status as ServerStatus};
use larder_client as client;
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
    let version = &status.version;
    let started = &status.started;
    let mut lines = vec![format!("larder {version}, {ready}, since {started}")];
    let texts = [
        ("not ready", &status.reasons),
        ("problem", &status.problems),
        ("notice", &status.notices),
    ];
    for (what, texts) in texts {
        lines.extend(texts.iter().map(|text| format!("  {what}: {text}")));
    }
    lines.extend(restart(&status.needs_restart));
    lines.extend(status.issuer.as_ref().map(issuer));
    lines.extend(status.cluster.iter().flat_map(cluster));
    lines.extend(status.memory.as_ref().map(memory));
    lines.extend(status.folders.as_ref().map(folders));
    lines.extend(status.teams.iter().flat_map(team::lines));
    lines.join("\n") + "\n"
}

/// Returns one line with the changes that need a restart to take effect.
fn restart(keys: &[String]) -> Option<String> {
    let keys = (!keys.is_empty()).then(|| line(&keys.join(", ")))?;
    Some(format!(
        "  changed, but in effect only after a restart: {keys}"
    ))
}

/// Returns one line with the state of the OAuth issuer.
fn issuer(issuer: &Issuer) -> String {
    let fetched = match &issuer.fetched {
        Some(at) => format!("fetched {at}"),
        None => "never fetched".to_owned(),
    };
    let error = issuer.error.as_ref();
    let error = error.map(|error| format!("; last error, {}: {}", error.at, error.message));
    line(&format!(
        "issuer {}: {}, {fetched}{}",
        issuer.issuer,
        count(issuer.keys, false, "key"),
        error.unwrap_or_default()
    ))
}

/// Returns a line with the state of the cluster, and a line for each other replica.
fn cluster(cluster: &Cluster) -> Vec<String> {
    let own = std::iter::once(own_replica(cluster));
    let others = cluster.replicas.iter().map(other_replica);
    own.chain(others).collect()
}

fn other_replica(one: &Replica) -> String {
    line(&format!(
        "  replica {} (larder {}), seen {} s ago",
        one.id, one.version, one.last_seen_seconds
    ))
}

fn own_replica(cluster: &Cluster) -> String {
    let connection = connection(cluster);
    let error = cluster.last_error.as_ref();
    let error = error.map(|error| format!("; last error: {error}"));
    line(&format!(
        "replica {} of {}, {connection}, reconnects: {}; watches {} URIs, checks {} of them{}",
        cluster.replica,
        count(cluster.replicas.len() + 1, false, "replica"),
        cluster.reconnects,
        cluster.watched,
        cluster.polled,
        error.unwrap_or_default()
    ))
}

fn connection(cluster: &Cluster) -> String {
    if !cluster.connected {
        return "not connected to NATS".into();
    }
    let server = cluster.server.as_deref();
    format!("connected to {}", server.unwrap_or("NATS"))
}

/// Returns one line with the memory budget and its largest uses.
fn memory(memory: &Memory) -> String {
    let used = memory.used.values();
    let total = used.fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    let refused = if memory.refused > 0 {
        format!("; refused {} times", memory.refused)
    } else {
        String::new()
    };
    format!(
        "memory: {} of {}{}{refused}",
        size::show(total),
        size::show(memory.limit),
        memory_uses(memory)
    )
}

fn memory_uses(memory: &Memory) -> String {
    let mut uses: Vec<_> = memory
        .used
        .iter()
        .filter(|(_, bytes)| **bytes > 0)
        .collect();
    if uses.is_empty() {
        return String::new();
    }
    uses.sort_by_key(|(_, bytes)| std::cmp::Reverse(**bytes));
    let uses = uses.iter();
    let uses: Vec<_> = uses
        .map(|(what, bytes)| format!("{what} {}", size::show(**bytes)))
        .collect();
    format!(" ({})", line(&uses.join(", ")))
}

/// Returns one line with the folders of the server.
fn folders(folders: &Folders) -> String {
    let file = folders.configuration.as_ref();
    let configuration = file.map(|file| format!("; configuration {file}"));
    line(&format!(
        "state in {}; cache in {}{}",
        folders.state,
        folders.cache.as_deref().unwrap_or("a temporary folder"),
        configuration.unwrap_or_default()
    ))
}

fn count(count: usize, more: bool, what: &str) -> String {
    match (count, more) {
        (1, false) => format!("1 {what}"),
        (_, false) => format!("{count} {what}s"),
        (_, true) => format!("{count}+ {what}s"),
    }
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
            }, { "team": "empty", "plugins": "/srv/empty", "state_key": "name:docs/empty", "providers": [], "rejected": [], "pending_approval": [{ "provider": "net", "digest": "0", "requested": ["env A"], "since": "2026-01-02T03:04:06Z" }], "denied_requests": [{ "provider": "net", "lines": ["dir /spy (read)", "env\nB"] }], "collisions": [] }]);
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
              refused: net requests `dir /spy (read)`, `env B`, beyond the ceiling of the team
        "#]].assert_eq(&show(&serde_json::from_value(status).unwrap()));
    }
}
