//! The content of catalogs as plain data, for command output and JSON.

use std::sync::Arc;

use serde::Serialize;

use larder_core::catalog::{Catalog, Collision, Offer, Reader};
use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::Grant;
use larder_skills::TeamSkills;

/// The content of all teams: what is served and what is not served.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ServingReport {
    /// The providers that are served.
    pub providers: Vec<Provider>,
    /// Components that could not be loaded.
    pub rejected: Vec<RejectedComponent>,
    /// Revisions that wait for `larder approve`, as sentences.
    pub pending_approval: Vec<String>,
    /// Which providers offer the same URIs and templates, as sentences. Only one of the providers serves each of these.
    pub collisions: Vec<String>,
}

/// One provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Provider {
    /// The team of the provider, if the configuration has teams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// The name of the provider.
    pub name: String,
    /// The digest of the provider's component.
    pub digest: String,
    /// The display name of the provider.
    pub title: Option<String>,
    /// The version of the provider.
    pub version: Option<String>,
    /// A short description.
    pub summary: Option<String>,
    /// The instructions of the provider for models.
    pub instructions: Option<String>,
    /// The URI prefixes that the provider claims.
    pub claims: Vec<String>,
    /// The listed URIs.
    pub resources: Vec<String>,
    /// The URI templates of the provider.
    pub templates: Vec<String>,
    /// The names of the tools that clients can call.
    pub tools: Vec<String>,
    /// The names of the prompts that clients can get.
    pub prompts: Vec<String>,
    /// The URIs of the skills that clients can get.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// The folders that are not skills, although skills are granted, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skill_problems: Vec<String>,
    /// What the provider exports and the operator does not grant: the keys of the grants.
    #[serde(skip)]
    pub ungranted: Vec<&'static str>,
    /// Whether the provider has more resources than `resources` contains.
    pub has_more: bool,
    /// What was omitted from the lists of the provider, and why.
    pub omitted: Vec<String>,
    /// Settings that are unknown, missing or invalid, according to the provider's declarations.
    pub setting_problems: Vec<String>,
    /// Settings that work, but should be configured in another way.
    pub setting_warnings: Vec<String>,
    /// Whether the provider has no resources, templates, tools or prompts. The search of such a provider has no
    /// results.
    #[serde(skip)]
    pub has_no_content: bool,
    /// The grant of the provider, which is not serialized because it contains secrets.
    #[serde(skip)]
    pub grant: Arc<Grant>,
}

/// A component that could not be loaded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RejectedComponent {
    /// The team of the component, if the configuration has teams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// The file of the component.
    pub file: String,
    /// The digest of the file, if it could be read.
    pub digest: Option<String>,
    /// Why the component was rejected.
    pub reason: String,
    /// If the guest misbehaved: the end of what it wrote to stderr, without secrets.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

impl ServingReport {
    /// Collects the content of all catalogs. Team names are included only if there is a team other than
    /// `default`.
    pub(super) fn of<'a>(readers: impl Iterator<Item = &'a Reader>) -> Self {
        let readers: Vec<_> = readers.collect();
        let has_teams = readers
            .iter()
            .any(|reader| *reader.team() != TeamName::default_team());
        let mut served = Self::default();
        for reader in readers {
            let team = has_teams.then(|| reader.team().to_string());
            served.add(team.as_deref(), &reader.snapshot());
            served.add_skills(team.as_deref(), &reader.skills());
        }
        served
    }

    fn add_skills(&mut self, team: Option<&str>, skills: &TeamSkills) {
        for provider in &mut self.providers {
            if provider.team.as_deref() == team {
                provider.add_skills(skills);
            }
        }
    }

    fn add(&mut self, team: Option<&str>, catalog: &Catalog) {
        self.providers.extend(
            catalog
                .offers()
                .iter()
                .map(|offer| Provider::of(team, offer)),
        );
        self.rejected
            .extend(catalog.rejected().iter().map(|rejected| RejectedComponent {
                team: team.map(ToOwned::to_owned),
                file: rejected.origin.clone(),
                digest: rejected.digest.map(|digest| digest.to_string()),
                reason: rejected.reason.clone(),
                stderr: rejected.stderr.clone(),
            }));
        self.pending_approval
            .extend(catalog.pending_approvals().iter().map(ToString::to_string));
        let of = team.map(|team| format!("{team}: ")).unwrap_or_default();
        let collisions = Collision::summarize(catalog.collisions()).into_iter();
        self.collisions
            .extend(collisions.map(|collision| format!("{of}{collision}")));
    }
}

impl Provider {
    fn of(team: Option<&str>, offer: &Offer) -> Self {
        Self {
            team: team.map(ToOwned::to_owned),
            name: offer.name().to_string(),
            digest: offer.provider.digest().to_string(),
            title: offer.title.clone(),
            version: offer.version.clone(),
            summary: offer.summary.clone(),
            instructions: offer.instructions.clone(),
            claims: offer.claims.iter().map(ToString::to_string).collect(),
            resources: uris(offer),
            templates: templates(offer),
            tools: tool_names(offer),
            prompts: prompt_names(offer),
            skills: Vec::new(),
            skill_problems: Vec::new(),
            ungranted: ungranted(offer),
            has_more: offer.next_cursor.is_some(),
            omitted: offer.omitted.clone(),
            setting_problems: setting_problems(offer, false),
            setting_warnings: setting_problems(offer, true),
            has_no_content: has_no_content(offer),
            grant: offer.provider.grant().clone(),
        }
    }

    /// Returns its full name.
    pub fn full_name(&self) -> String {
        full_name(self.team.as_deref(), &self.name)
    }

    fn add_skills(&mut self, skills: &TeamSkills) {
        let name = ProviderName::parse(&self.name).ok();
        let Some(skills) = name.and_then(|name| skills.of(&name)) else {
            return;
        };
        let uris = skills.skills().iter().map(|skill| skill.uri().to_string());
        self.skills = uris.collect();
        let problems = skills.problems().iter();
        self.skill_problems = problems.map(ToString::to_string).collect();
    }

    /// Summarizes what the provider offers: `12 resources, 1 template, 3 tools`. If it lists no resources, its claims.
    pub fn counts(&self) -> String {
        let more = if self.has_more { "+" } else { "" };
        let resources = quantity(self.resources.len(), more, "resource");
        let others = self.other_counts().into_iter();
        let others = others
            .filter(|(count, _)| *count > 0)
            .map(|(count, noun)| format!(", {}", quantity(count, "", noun)));
        std::iter::once(resources).chain(others).collect()
    }

    fn other_counts(&self) -> [(usize, &'static str); 4] {
        [
            self.template_or_claim_count(),
            (self.tools.len(), "tool"),
            (self.prompts.len(), "prompt"),
            (self.skills.len(), "skill"),
        ]
    }

    fn template_or_claim_count(&self) -> (usize, &'static str) {
        if self.resources.is_empty() && self.templates.is_empty() {
            return (self.claims.len(), "claim");
        }
        (self.templates.len(), "template")
    }
}

impl RejectedComponent {
    /// Returns its file name with its team.
    pub fn full_name(&self) -> String {
        full_name(self.team.as_deref(), &self.file)
    }
}

fn uris(offer: &Offer) -> Vec<String> {
    let entries = offer.entries.iter();
    entries.map(|entry| entry.uri.to_string()).collect()
}

fn templates(offer: &Offer) -> Vec<String> {
    let templates = offer.templates.iter();
    templates
        .map(|template| template.uri_template.as_str().to_owned())
        .collect()
}

fn tool_names(offer: &Offer) -> Vec<String> {
    let tools = offer.definitions.tools.iter();
    tools.map(|tool| tool.name.to_string()).collect()
}

fn prompt_names(offer: &Offer) -> Vec<String> {
    let prompts = offer.definitions.prompts.iter();
    prompts.map(|prompt| prompt.name.clone()).collect()
}

fn has_no_content(offer: &Offer) -> bool {
    let exported = offer.provider.interfaces();
    offer.entries.is_empty() && offer.templates.is_empty() && !(exported.tools || exported.prompts)
}

/// Returns the grants without which exported interfaces have no effect.
fn ungranted(offer: &Offer) -> Vec<&'static str> {
    let grant = offer.provider.grant();
    let exported = offer.provider.interfaces();
    let has_no_tools = exported.tools && grant.tools.is_none();
    let has_no_prompts = exported.prompts && !grant.prompts;
    let tools = has_no_tools.then_some("tools");
    let prompts = has_no_prompts.then_some("prompts");
    tools.into_iter().chain(prompts).collect()
}

fn setting_problems(offer: &Offer, warnings: bool) -> Vec<String> {
    let problems = offer
        .setting_problems
        .iter()
        .filter(|problem| problem.is_warning() == warnings);
    problems.map(ToString::to_string).collect()
}

/// Returns a name, prefixed with the team if there are teams.
pub(crate) fn full_name(team: Option<&str>, name: &str) -> String {
    team.map_or_else(|| name.to_owned(), |team| format!("{team}/{name}"))
}

fn quantity(count: usize, more: &str, noun: &str) -> String {
    let plural = if count == 1 && more.is_empty() {
        ""
    } else {
        "s"
    };
    format!("{count}{more} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_counts() {
        let texts = |count| vec![String::new(); count];
        let provider = |resources, templates, has_more| {
            Provider {
                resources: texts(resources),
                templates: texts(templates),
                has_more,
                ..Provider::default()
            }
            .counts()
        };
        assert_eq!(provider(1, 0, false), "1 resource");
        assert_eq!(provider(0, 1, false), "0 resources, 1 template");
        assert_eq!(provider(100, 2, true), "100+ resources, 2 templates");
        let claims = Provider {
            claims: texts(2),
            ..Provider::default()
        };
        assert_eq!(claims.counts(), "0 resources, 2 claims");
        let definitions = Provider {
            tools: texts(1),
            prompts: texts(2),
            ..Provider::default()
        };
        assert_eq!(definitions.counts(), "0 resources, 1 tool, 2 prompts");
    }
}
