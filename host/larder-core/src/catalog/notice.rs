//! Reports for operators: what is not served, or is served from another provider than expected, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use super::definitions::OfferedTool;
use larder_model::name::{Digest, ProviderName, TeamName};
use larder_runtime::log_limit::shorten;

/// Maximum number of sentences about collisions.
const MAX_SENTENCES: usize = 20;

/// A revision that waits for approval, because it requests more than is approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingApproval {
    /// The team.
    pub team: TeamName,
    /// The provider.
    pub provider: ProviderName,
    /// The digest of the component.
    pub digest: Digest,
    /// The requested lines that are not approved.
    pub lines: BTreeSet<String>,
    /// The requested lines that are approved already.
    pub unchanged: BTreeSet<String>,
    /// The lines that the serving revision has and this revision does not request.
    pub dropped: BTreeSet<String>,
    /// The tools that are not offered until their definitions are approved.
    pub tools: Vec<WithheldTool>,
    /// The skills and pages whose content is not offered until it is approved.
    pub contents: Vec<WithheldContent>,
    /// Since when the revision waits.
    pub since: SystemTime,
}

/// A skill or a page whose content is not approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldContent {
    /// `skill` or `page`, and the URI.
    pub name: String,
    /// The files that are offered, as a JSON object; none if no content was approved in this process.
    pub before: Option<String>,
    /// The files that are not approved.
    pub after: String,
}

/// A tool whose definition is not approved.
#[derive(Debug, Clone)]
pub struct WithheldTool {
    /// The tool with the definition that is not approved.
    pub tool: Arc<OfferedTool>,
    /// The tool in the form that was offered before, if this form is known.
    pub before: Option<Arc<OfferedTool>>,
}

impl PartialEq for WithheldTool {
    fn eq(&self, other: &Self) -> bool {
        (&self.tool.name, self.tool.digest) == (&other.tool.name, other.tool.digest)
    }
}

impl Eq for WithheldTool {}

/// A component that is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedComponent {
    /// The name of the provider; if the name is invalid, the text in its place.
    pub name: String,
    /// Where the component comes from, for people: the name of the file, or a registry reference.
    pub origin: String,
    /// The digest of the component, if it could be read.
    pub digest: Option<Digest>,
    /// The cause, as a sentence.
    pub reason: String,
    /// If the guest misbehaved: the end of what it wrote to stderr, without secrets.
    pub stderr: String,
    /// Since when the component is rejected.
    pub since: SystemTime,
}

/// Two providers offer the same URI, template, tool or prompt. It is served from one of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Collision {
    /// The URI, or the text of the template.
    pub what: String,
    /// The provider that serves it; none if the server itself serves it.
    pub owner: Option<ProviderName>,
    /// The other provider.
    pub loser: ProviderName,
    /// How the two providers collide.
    pub kind: CollisionKind,
}

/// How two providers collide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CollisionKind {
    /// Both offer the same.
    Same,
    /// Neither provider serves it, because the tool of the owner waits for approval.
    Reserved,
    /// The tool of the other provider names a page of the owner.
    Page,
}

impl fmt::Display for PendingApproval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            team,
            provider,
            digest,
            lines,
            ..
        } = self;
        let requests: Vec<&str> = lines.iter().map(String::as_str).collect();
        let digest = digest.short();
        let requests = requests.join("`, `");
        let team = team_option(team.as_str());
        write!(
            f,
            "pending approval: {provider} {digest} requests `{requests}`; \
             run `larder approve {provider}{team}`"
        )
    }
}

impl fmt::Display for Collision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            owner,
            loser,
            kind,
        } = self;
        let Some(owner) = owner else {
            return write!(
                f,
                "`{what}` of `{loser}` is not offered: the server itself has a tool of this name \
                 (`server.resource_tools`); set a `prefix` for `{loser}`"
            );
        };
        if owner == loser {
            return write!(f, "`{owner}` lists `{what}` twice; the first one is served");
        }
        match kind {
            CollisionKind::Same => write!(
                f,
                "`{what}` is offered by both `{owner}` and `{loser}`; it is served from `{owner}`"
            ),
            CollisionKind::Reserved => write!(
                f,
                "`{what}` of `{loser}` is not offered: `{owner}` has a tool of this name that waits for approval"
            ),
            CollisionKind::Page => write!(
                f,
                "`{what}` of `{loser}` is not offered: its page is a resource of `{owner}`"
            ),
        }
    }
}

impl Collision {
    /// Describes collisions: one sentence for each two providers, and for a limited number of them.
    pub fn summarize(collisions: &[Self]) -> Vec<String> {
        let mut pairs = BTreeMap::<_, Vec<_>>::new();
        for collision in collisions {
            let pair = (&collision.owner, &collision.loser, collision.kind);
            pairs.entry(pair).or_default().push(collision);
        }
        let sentences = pairs
            .into_values()
            .map(|of_pair| Self::summarize_pair(&of_pair));
        shorten(
            sentences,
            MAX_SENTENCES,
            "pairs of providers that offer the same",
        )
    }

    fn summarize_pair(collisions: &[&Self]) -> String {
        let (
            Self {
                what,
                owner,
                loser,
                kind,
            },
            count,
        ) = match collisions {
            [] => return String::new(),
            [only] => return only.to_string(),
            [first, ..] => (first, collisions.len()),
        };
        let Some(owner) = owner else {
            return format!(
                "{count} tools of `{loser}`, such as `{what}`, are not offered: the server itself has tools of these \
                 names (`server.resource_tools`); set a `prefix` for `{loser}`"
            );
        };
        if owner == loser {
            return format!(
                "`{owner}` lists {count} URIs twice, such as `{what}`; the first ones are served"
            );
        }
        match kind {
            CollisionKind::Same => format!(
                "{count} URIs and templates, such as `{what}`, are offered by both `{owner}` and `{loser}`; \
                 they are served from `{owner}`"
            ),
            CollisionKind::Reserved => format!(
                "{count} tools of `{loser}`, such as `{what}`, are not offered: `{owner}` has tools of these names \
                 that wait for approval"
            ),
            CollisionKind::Page => format!(
                "{count} tools of `{loser}`, such as `{what}`, are not offered: their pages are resources of `{owner}`"
            ),
        }
    }
}

/// The option of a command for this team, which the default team does not need.
pub(crate) fn team_option(team: &str) -> String {
    if team == TeamName::default_team().as_str() {
        String::new()
    } else {
        format!(" --team {team}")
    }
}

impl RejectedComponent {
    /// Keeps the time and the stderr of the previous rejection if the reason is the same, so that a repeated rejection
    /// does not count as a new one.
    pub(crate) fn keep_since(mut self, before: Option<&Self>) -> Self {
        if let Some(before) = before.filter(|b| {
            (&b.origin, b.digest, &b.reason) == (&self.origin, self.digest, &self.reason)
        }) {
            self.since = before.since;
            self.stderr.clone_from(&before.stderr);
        }
        self
    }
}

impl PendingApproval {
    /// Creates the entry of a revision that waits from now on.
    pub fn new(
        team: TeamName,
        provider: ProviderName,
        digest: Digest,
        lines: BTreeSet<String>,
    ) -> Self {
        Self {
            team,
            provider,
            digest,
            lines,
            unchanged: BTreeSet::new(),
            dropped: BTreeSet::new(),
            tools: Vec::new(),
            contents: Vec::new(),
            since: SystemTime::now(),
        }
    }

    /// Adds the comparison with the serving revision: all lines that the new revision requests, and all lines that the
    /// serving revision has.
    pub(crate) fn compared(
        mut self,
        requests: &BTreeSet<String>,
        before: &BTreeSet<String>,
    ) -> Self {
        self.unchanged = requests - &self.lines;
        self.dropped = before - requests;
        self
    }

    /// Whether there is something to approve.
    pub(crate) fn is_pending(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Adds the definitions that the tools had before.
    pub(crate) fn with_tools_before(
        mut self,
        before: &[Arc<OfferedTool>],
        withheld: &[WithheldTool],
    ) -> Self {
        for tool in &mut self.tools {
            let is_same = |other: &OfferedTool| other.name == tool.tool.name;
            let offered = before.iter().find(|other| is_same(other));
            let withheld = || {
                withheld
                    .iter()
                    .find(|other| is_same(&other.tool))?
                    .before
                    .as_ref()
            };
            tool.before = offered.or_else(withheld).cloned();
        }
        self
    }

    /// Keeps the time of the previous entry if the digest and the lines are the same.
    pub(crate) fn keep_since(mut self, before: Option<&Self>) -> Self {
        if let Some(before) = before.filter(|b| (b.digest, &b.lines) == (self.digest, &self.lines))
        {
            self.since = before.since;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collisions(count: usize, owner: &str, loser: &str) -> Vec<Collision> {
        let name = |name| ProviderName::parse(name).unwrap();
        let collision = |n| Collision {
            what: format!("x:{n}"),
            owner: Some(name(owner)),
            loser: name(loser),
            kind: CollisionKind::Same,
        };
        (0..count).map(collision).collect()
    }

    #[test]
    fn summarizes_collisions_of_two_providers() {
        assert!(Collision::summarize(&[]).is_empty());
        let few = [
            collisions(1, "a", "b"),
            collisions(9_000, "a", "c"),
            collisions(2, "c", "c"),
        ]
        .concat();
        assert_eq!(
            Collision::summarize(&few),
            [
                "`x:0` is offered by both `a` and `b`; it is served from `a`",
                "9000 URIs and templates, such as `x:0`, are offered by both `a` and `c`; they are served from `a`",
                "`c` lists 2 URIs twice, such as `x:0`; the first ones are served",
            ]
        );
        let many: Vec<_> = (0..100)
            .flat_map(|n| collisions(1, "a", &format!("b{n}")))
            .collect();
        let sentences = Collision::summarize(&many);
        assert_eq!(sentences.len(), MAX_SENTENCES + 1);
        assert_eq!(
            sentences.last().unwrap(),
            "and 80 more pairs of providers that offer the same"
        );
    }
}
