//! What a provider returns when it is probed.

use std::time::Instant;

use larder_model::prompt::Prompt;
use larder_model::resource::{Entry, Freshness, Template};
use larder_model::settings::Problem;
use larder_model::tool::Tool;

/// The results of a probe.
#[derive(Debug, Clone)]
pub struct ProbeResult {
    /// The display name of the provider.
    pub title: Option<String>,
    /// The version that the provider declares for itself.
    pub version: Option<String>,
    /// The summary of the provider, for the reader of the catalog.
    pub summary: Option<String>,
    /// The instructions of the provider for models.
    pub instructions: Option<String>,
    /// URI prefixes of the provider's resources that are not in its list.
    pub claims: Vec<String>,
    /// The first entries of its list, in the order of the list.
    pub entries: Vec<Entry>,
    /// The cursor of the first page that was not requested; none if `entries` is the whole list.
    pub next_cursor: Option<String>,
    /// All templates of the provider.
    pub templates: Vec<Template>,
    /// The tools of the provider, if any are granted.
    pub tools: Vec<Tool>,
    /// The prompts of the provider, if they are granted.
    pub prompts: Vec<Prompt>,
    /// How long the list of the provider may be reused.
    pub freshness: Freshness,
    /// When the probe started.
    pub probed_at: Instant,
    /// What was omitted from the lists or changed in them, and why.
    pub omitted: Vec<String>,
    /// Differences between the configured settings and the settings that the provider declares.
    pub setting_problems: Vec<Problem>,
}
