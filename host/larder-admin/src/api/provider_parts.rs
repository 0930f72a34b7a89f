//! The offers of a provider, and its limits.

use serde::Serialize;

use super::response::cut;
use larder_core::catalog::Offer;
use larder_model::policy::{self, Secrets};
use larder_skills::ProviderSkills;

/// Maximum number of names of one kind.
const MAX_NAMES: usize = 100;

/// The offers of a provider. Long lists only contain the first names: the lists of the catalog contain all of them.
#[derive(Debug, Serialize)]
pub(super) struct Offers {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The version that the component reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// Whether the provider has more resources than the catalog holds.
    has_more: bool,
    templates: Vec<String>,
    tools: Vec<String>,
    prompts: Vec<String>,
    skills: Vec<String>,
    /// What is not a skill or not a page of an app, and why.
    not_skills: Vec<String>,
    /// The URI prefixes that the provider claims.
    claims: Vec<String>,
    /// What was omitted from the provider's lists, and why.
    omitted: Vec<String>,
}

/// The limits of a provider.
#[derive(Debug, Serialize)]
pub(super) struct Limits {
    memory_bytes: u64,
    table_elements: u64,
    cpu_seconds: f64,
    timeout_seconds: f64,
    concurrency: u32,
    queue_length: u32,
    queue_timeout_seconds: f64,
    result_bytes: u64,
    catalog_entries: u32,
    log_bytes: u32,
    notifications: u32,
    component_bytes: u64,
    http_body_bytes: u64,
    connections: u32,
    tcp_bytes: u64,
}

impl Offers {
    /// Returns the offer of a provider. Its lists are empty for an operator who may not read them.
    pub(super) fn of(offer: &Offer, skills: Option<&ProviderSkills>, may_read: bool) -> Self {
        let offers = Self::of_reader(offer, skills);
        if may_read {
            offers
        } else {
            offers.without_lists()
        }
    }

    fn without_lists(self) -> Self {
        Self {
            templates: Vec::new(),
            tools: Vec::new(),
            prompts: Vec::new(),
            skills: Vec::new(),
            not_skills: Vec::new(),
            claims: Vec::new(),
            omitted: Vec::new(),
            ..self
        }
    }

    fn of_reader(offer: &Offer, skills: Option<&ProviderSkills>) -> Self {
        let secrets = &offer.provider.grant().secrets;
        let problems = skills.map_or(&[][..], ProviderSkills::problems);
        let skills = skills.map_or(&[][..], ProviderSkills::skills);
        let text = |text: &Option<String>| text.as_deref().map(cut);
        Self {
            title: text(&offer.title),
            version: text(&offer.version),
            summary: text(&offer.summary),
            has_more: offer.next_cursor.is_some(),
            templates: names(
                offer
                    .templates
                    .iter()
                    .map(|template| template.uri_template.as_str()),
            ),
            tools: names(
                offer
                    .definitions
                    .tools
                    .iter()
                    .map(|tool| tool.name.as_str()),
            ),
            prompts: names(
                offer
                    .definitions
                    .prompts
                    .iter()
                    .map(|prompt| prompt.name.as_str()),
            ),
            skills: names(skills.iter().map(|skill| skill.uri().as_str())),
            not_skills: notes(problems, secrets),
            claims: names(offer.claims.iter().map(String::as_str)),
            omitted: notes(&offer.omitted, secrets),
        }
    }
}

fn names<'a>(all: impl Iterator<Item = &'a str>) -> Vec<String> {
    all.take(MAX_NAMES).map(cut).collect()
}

fn notes(all: &[impl ToString], secrets: &Secrets) -> Vec<String> {
    let notes = all.iter().take(MAX_NAMES).map(ToString::to_string);
    notes.map(|note| cut(&secrets.redact(&note))).collect()
}

impl Limits {
    pub(super) fn of(limits: &policy::Limits) -> Self {
        Self {
            memory_bytes: limits.memory,
            table_elements: limits.table_elements,
            cpu_seconds: limits.cpu_time.as_secs_f64(),
            timeout_seconds: limits.timeout.as_secs_f64(),
            concurrency: limits.concurrency,
            queue_length: limits.queue_length,
            queue_timeout_seconds: limits.queue_timeout.as_secs_f64(),
            result_bytes: limits.result,
            catalog_entries: limits.catalog_entries,
            log_bytes: limits.log,
            notifications: limits.notifications,
            component_bytes: limits.component_size,
            http_body_bytes: limits.http_body,
            connections: limits.connections,
            tcp_bytes: limits.tcp_bytes,
        }
    }
}
