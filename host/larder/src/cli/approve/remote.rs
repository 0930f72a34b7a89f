//! `larder approve --admin URL`: the requests of a server that may run on another machine.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::error::CommandError;
use super::super::server_address::ServerAddress;
use super::super::{Outcome, out, sanitize};
use super::{Approve, RequestDescription, difference, id_line, short};

/// A request that waits for an operator or was rejected. The provider has its full name.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Request {
    provider: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    team: Option<String>,
    digest: String,
    id: String,
    changes: Vec<Change>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolChange>,
    /// The other members of the request.
    #[serde(flatten)]
    rest: serde_json::Map<String, Value>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Change {
    kind: String,
    line: String,
}

/// A tool that waits for approval, with its definitions as clients see them.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ToolChange {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<Value>,
    #[serde(flatten)]
    rest: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Request>,
    next: Option<String>,
}

impl Approve {
    /// Lists, approves or rejects the requests that the server reports.
    pub(super) async fn run_remote(self) -> Result<Outcome, CommandError> {
        let server = self.admin.clone().resolve()?;
        let mut pending = self.team_requests(&server, "").await?;
        let Some(name) = &self.name else {
            list(&pending, self.json)?;
            return Ok(Outcome::Success);
        };
        pending.retain(|one| one.has_name(name));
        if pending.is_empty() && !self.reject {
            pending = self.team_requests(&server, "state=rejected").await?;
            pending.retain(|one| one.has_name(name));
        }
        let described: Vec<_> = pending.iter().map(Request::described).collect();
        if let Some(why) = self.not_applicable(name, &described) {
            out::note(&why);
            return Ok(Outcome::Negative);
        }
        pending.retain(|one| self.is_meant(&one.described()));
        let mut decided = Vec::new();
        for one in pending {
            if !self.json {
                out::text(&one.show())?;
            }
            if !self.is_confirmed()? {
                return Ok(Outcome::Negative);
            }
            decided.push(self.decide(&server, &one).await?);
        }
        self.print_decided(&decided)?;
        Ok(Outcome::Success)
    }

    async fn team_requests(
        &self,
        server: &ServerAddress,
        query: &str,
    ) -> Result<Vec<Request>, CommandError> {
        let mut all = requests(server, query).await?;
        all.retain(|one| self.is_of_team(one.team()));
        Ok(all)
    }

    async fn decide(
        &self,
        server: &ServerAddress,
        request: &Request,
    ) -> Result<Value, CommandError> {
        let Request {
            provider,
            digest,
            id,
            ..
        } = request;
        let body = json!({
            "decision": self.verb(), "digest": digest, "id": id, "only_this_digest": self.digest.is_some(),
        });
        let path = format!("/api/approvals/{}", encode(provider));
        let decided = server
            .builder
            .clone()
            .admin_post(&server.url, &path, &body)
            .await?;
        self.note_decision(provider);
        Ok(decided)
    }
}

/// Fetches all requests.
async fn requests(server: &ServerAddress, query: &str) -> Result<Vec<Request>, CommandError> {
    let mut requests = Vec::new();
    let mut cursors = BTreeSet::new();
    let mut path = format!("/api/approvals?limit=500&{query}");
    loop {
        let page: Page = server.builder.clone().admin_get(&server.url, &path).await?;
        requests.extend(page.items);
        let Some(cursor) = page.next else {
            return Ok(requests);
        };
        path = format!(
            "/api/approvals?limit=500&{query}&cursor={}",
            encode(&cursor)
        );
        if !cursors.insert(cursor) {
            return Err(CommandError::CursorLoop);
        }
    }
}

/// Encodes a text as the value of a query.
fn encode(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

fn list(pending: &[Request], json: bool) -> Result<(), CommandError> {
    if json {
        out::json(&json!({ "pending_approval": pending }))?
    } else if pending.is_empty() {
        out::note("nothing is pending approval")
    } else {
        out::text(&pending.iter().map(Request::show).collect::<String>())?
    }
    Ok(())
}

impl Request {
    /// The name of the provider within its team.
    fn name(&self) -> &str {
        let team = self.team.as_deref().unwrap_or_default();
        let name = self
            .provider
            .strip_prefix(team)
            .and_then(|rest| rest.strip_prefix('/'));
        name.unwrap_or(&self.provider)
    }

    fn has_name(&self, name: &str) -> bool {
        name == self.provider || name == self.name()
    }

    fn team(&self) -> &str {
        self.team.as_deref().unwrap_or("default")
    }

    fn described(&self) -> RequestDescription<'_> {
        RequestDescription {
            team: self.team(),
            digest: &self.digest,
            id: self.id.clone(),
            shown: self.show(),
        }
    }

    /// Shows the request as a comparison with the approved requests.
    fn show(&self) -> String {
        let team = self
            .team
            .as_ref()
            .map(|team| format!(" of team {}", sanitize::line(team)));
        let provider = sanitize::line(self.name());
        let digest = short(&self.digest);
        let mut shown = format!(
            "{provider}{} ({digest}) requests\n",
            team.unwrap_or_default()
        );
        for change in &self.changes {
            let line = sanitize::line(&change.line);
            shown += &format!("  {} {line}\n", change.sign());
        }
        for ToolChange {
            name,
            before,
            after,
            ..
        } in &self.tools
        {
            let [before, after] = [before, after].map(|json| json.as_ref().map(Value::to_string));
            shown += &difference::of_tool(name, before.as_deref(), after.as_deref());
        }
        shown + &id_line(&self.id)
    }
}

impl Change {
    fn sign(&self) -> char {
        match self.kind.as_str() {
            "added" => '+',
            "removed" => '-',
            _ => ' ',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_a_comparison_without_control_characters() {
        let change = |kind: &str, line: &str| Change {
            kind: kind.into(),
            line: line.into(),
        };
        let request = Request {
            provider: "docs/wiki".into(),
            team: Some("docs".into()),
            digest: "0123456789abcdef".into(),
            id: "ab".repeat(32),
            changes: vec![
                change("added", "http x\x1b[2J"),
                change("removed", "env A"),
                change("same", "env B"),
            ],
            tools: Vec::new(),
            rest: serde_json::Map::new(),
        };
        let lines = "wiki of team docs (0123456789ab) requests\n  + http x\\u001b[2J\n  - env A\n    env B\n";
        let expected = format!("{lines}  id {}\n", "ab".repeat(16));
        assert_eq!(request.show(), expected);
        assert_eq!(encode("a b/ü\0"), "a%20b%2F%C3%BC%00");
    }
}
