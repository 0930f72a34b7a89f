//! The catalog: what the providers of one team offer now. It is an immutable value with one writer and many
//! readers. A request takes one snapshot and uses it to the end.

mod cell;
mod content_state;
mod covered_entries;
mod definitions;
mod header_parameters;
mod index;
mod list_digest;
mod list_expiry;
mod notice;
mod notification_events;
mod offer;
mod resource_tools;
mod route;
mod seen_lists;
mod unavailable;
mod update_queue;
mod updates;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use self::cell::{Notifier, Reader, SkillWriter, Writer, catalog, watch};
pub use self::content_state::{ContentFingerprint, ContentState};
pub use self::covered_entries::CoveredEntries;
pub use self::definitions::{Definitions, OfferedPrompt, OfferedTool};
pub(crate) use self::definitions::{tool_digest, tool_json};
pub use self::header_parameters::HeaderParameter;
use self::index::Index;
use self::list_expiry::ListExpiry;
pub(crate) use self::notice::team_option;
pub use self::notice::{
    Collision, CollisionKind, PendingApproval, RejectedComponent, WithheldContent, WithheldTool,
};
pub use self::offer::Offer;
pub use self::resource_tools::{ResourceArguments, ResourceTool};
pub use self::route::Route;
use self::seen_lists::SeenLists;
pub use self::unavailable::{OfferRecord, UnavailableProvider};
pub(crate) use self::update_queue::UpdateHints;
pub use self::updates::LogicalTime;
pub use self::watch::{Change, Lists, Watch, WatchEvents};
use larder_model::name::{Digest, ProviderName};
use larder_model::resource::Freshness;
use larder_model::tool::ToolName;
use larder_model::uri::Uri;
use larder_uri_template::{Captures, MatchBudget};

/// All that the providers of a team offer at one time, and the components that are not served.
#[derive(Debug, Default)]
pub struct Catalog {
    offers: Vec<Arc<Offer>>,
    rejected: Vec<RejectedComponent>,
    pending_approvals: Vec<PendingApproval>,
    collisions: Vec<Collision>,
    index: Index,
    list_expiry: ListExpiry,
    unavailable: Vec<UnavailableProvider>,
    /// Whether the server offers its own tools.
    has_resource_tools: bool,
    /// Whether a provider may offer skills, or has pages that are approved.
    has_snapshots: bool,
    /// Whether a tool has a page.
    has_apps: bool,
}

/// What the name of a tool stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NamedTool<'a> {
    /// A tool of this offer.
    Offered(&'a Arc<Offer>, &'a Arc<OfferedTool>),
    /// A tool that was offered before and now waits for approval, or whose provider is not loaded now.
    Reserved,
}

impl<'a> NamedTool<'a> {
    pub(crate) fn offered(self) -> Option<(&'a Arc<Offer>, &'a Arc<OfferedTool>)> {
        match self {
            Self::Offered(offer, tool) => Some((offer, tool)),
            Self::Reserved => None,
        }
    }
}

impl Catalog {
    /// Builds a catalog. If several providers offer the same URI, the provider of the earlier generation owns it; then
    /// the priority decides, then the name.
    pub fn new(
        mut offers: Vec<Arc<Offer>>,
        rejected: Vec<RejectedComponent>,
        pending_approvals: Vec<PendingApproval>,
    ) -> Self {
        offers.sort_by(|a, b| a.name().cmp(b.name()));
        let (index, collisions) = Index::new(&offers);
        let list_expiry = ListExpiry::new(&offers);
        let catalog = Self {
            has_snapshots: offers.iter().any(|offer| offer.has_snapshots()),
            offers,
            rejected,
            pending_approvals,
            collisions,
            index,
            list_expiry,
            unavailable: Vec::new(),
            has_resource_tools: false,
            has_apps: false,
        };
        catalog.with_apps()
    }

    /// Removes the tools whose page is a resource of another provider: the page would be shown with the rights of that
    /// provider.
    fn with_apps(mut self) -> Self {
        let mut foreign = Vec::new();
        for (offer, tool) in self.tools() {
            let owner = tool.page.as_ref().and_then(|page| self.first_owner(page));
            if let Some(owner) = owner.filter(|owner| !Arc::ptr_eq(owner, offer)) {
                let collision = Collision {
                    what: format!("tool {}", tool.name),
                    owner: Some(owner.name().clone()),
                    loser: offer.name().clone(),
                    kind: CollisionKind::Page,
                };
                foreign.push((tool.clone(), collision));
            }
        }
        for (tool, collision) in foreign {
            self.index.remove_tool(tool.name.as_str());
            self.collisions.push(collision);
        }
        let has_apps = self.tools().any(|(_, tool)| tool.page.is_some());
        self.has_apps = has_apps;
        self
    }

    /// Adds the providers that were served before and are not served now.
    pub(crate) fn with_unavailable(self, unavailable: Vec<UnavailableProvider>) -> Self {
        Self {
            unavailable,
            ..self
        }
    }

    /// Adds the tools of the server itself. If a tool of a provider has the same name, it is not offered any more.
    pub fn with_resource_tools(mut self) -> Self {
        self.has_resource_tools = true;
        for name in ResourceTool::ALL.map(ResourceTool::name) {
            let losers = self.offers.iter().filter(|offer| offer.has_tool(name));
            self.collisions.extend(losers.map(|offer| Collision {
                what: format!("tool {name}"),
                owner: None,
                loser: offer.name().clone(),
                kind: CollisionKind::Same,
            }));
            self.index.remove_tool(name);
        }
        self
    }

    /// Whether the server offers its own tools.
    pub fn has_resource_tools(&self) -> bool {
        self.has_resource_tools
    }

    /// Whether a provider may offer skills, or has pages that are approved.
    pub(crate) fn has_snapshots(&self) -> bool {
        self.has_snapshots
    }

    /// Whether a tool has a page.
    pub(crate) fn has_apps(&self) -> bool {
        self.has_apps
    }

    /// Returns the offer of the provider with this name.
    pub(crate) fn offer(&self, name: &ProviderName) -> Option<&Arc<Offer>> {
        let found = self.offers.binary_search_by(|offer| offer.name().cmp(name));
        found.ok().map(|at| &self.offers[at])
    }

    /// Returns how long the list of entries may be reused as a whole, or `None` if nothing is offered. Personal lists
    /// do not count: the provider's answer to the caller contains the freshness of a personal list.
    pub(crate) fn entries_freshness(&self) -> Option<Freshness> {
        self.list_expiry.entries()
    }

    /// Returns how long the list of templates may be reused as a whole.
    pub(crate) fn templates_freshness(&self) -> Option<Freshness> {
        self.list_expiry.templates()
    }

    /// Returns whether one of the lists has expired.
    pub(crate) fn is_stale(&self) -> bool {
        self.list_expiry.is_stale()
    }

    /// Returns the offers, sorted by name.
    pub fn offers(&self) -> &[Arc<Offer>] {
        &self.offers
    }

    /// Returns the components that were rejected.
    pub fn rejected(&self) -> &[RejectedComponent] {
        &self.rejected
    }

    /// Returns the revisions that wait for approval.
    pub fn pending_approvals(&self) -> &[PendingApproval] {
        &self.pending_approvals
    }

    /// Returns the providers that were served before and are not served now.
    pub(crate) fn unavailable(&self) -> &[UnavailableProvider] {
        &self.unavailable
    }

    /// Returns the URIs and templates that two providers offer.
    pub fn collisions(&self) -> &[Collision] {
        &self.collisions
    }

    /// Returns the offer that owns this listed URI.
    pub fn by_uri(&self, uri: &str) -> Option<&Arc<Offer>> {
        self.index.by_uri(uri).map(|at| &self.offers[at])
    }

    /// Returns the offers with a template that matches this URI, the most specific first. The providers share
    /// the matching budget equally.
    pub fn by_template(&self, uri: &Uri) -> Vec<(&Arc<Offer>, &str, Captures)> {
        let near: Vec<_> = self.index.templates_for(uri.as_str()).collect();
        let offers: BTreeSet<usize> = near.iter().map(|(offer, _)| *offer).collect();
        let mut shares: BTreeMap<usize, MatchBudget> = offers
            .iter()
            .map(|at| (*at, MatchBudget::shared_by(offers.len())))
            .collect();
        let mut found: Vec<_> = near
            .into_iter()
            .filter_map(|(at, template)| {
                let offer = &self.offers[at];
                let uri_template = &offer.templates[template].uri_template;
                let captures = uri_template.matches_within(uri.as_str(), shares.get_mut(&at)?)?;
                Some((offer, uri_template, captures))
            })
            .collect();
        found.sort_by(|(one, a, _), (other, b, _)| {
            b.specificity()
                .cmp(&a.specificity())
                .then_with(|| one.name().cmp(other.name()))
        });
        found
            .into_iter()
            .map(|(offer, uri_template, captures)| (offer, uri_template.as_str(), captures))
            .collect()
    }

    /// Returns the offers that claim this URI, the longest prefix first.
    pub(crate) fn by_claim(&self, uri: &str) -> impl Iterator<Item = &Arc<Offer>> {
        self.index.claims_for(uri).map(|at| &self.offers[at])
    }

    /// Returns the offers whose list is longer than what the catalog holds, and that have URIs of this
    /// scheme.
    pub(crate) fn with_unlisted_entries(&self, uri: &Uri) -> impl Iterator<Item = &Arc<Offer>> {
        self.offers.iter().filter(move |offer| {
            let longer = offer.next_cursor.is_some() || offer.is_personal();
            longer && offer.knows_scheme(uri.scheme())
        })
    }

    /// Returns the offer that owns the template with this text, and the position of the template in the offer.
    pub fn template(&self, text: &str) -> Option<(&Arc<Offer>, usize)> {
        self.index
            .template(text)
            .map(|(offer, template)| (&self.offers[offer], template))
    }

    /// Returns what this name of a tool stands for.
    pub(crate) fn named_tool(&self, name: &str) -> Option<NamedTool<'_>> {
        let Some((offer, tool)) = self.index.tool(name) else {
            let is_unavailable = self.unavailable.iter().any(|one| one.record.has_tool(name));
            return is_unavailable.then_some(NamedTool::Reserved);
        };
        let offer = &self.offers[offer];
        Some(match tool {
            Some(tool) => NamedTool::Offered(offer, &offer.definitions.tools[tool]),
            None => NamedTool::Reserved,
        })
    }

    /// Returns the offer that owns the tool with this name, and the tool.
    fn tool(&self, name: &str) -> Option<(&Arc<Offer>, &Arc<OfferedTool>)> {
        self.named_tool(name)?.offered()
    }

    /// Returns the names of tools that wait for approval, or whose provider is not loaded now.
    fn reserved_tools(&self) -> impl Iterator<Item = &str> {
        let withheld = self
            .offers
            .iter()
            .flat_map(|offer| offer.definitions.reserved.iter().map(ToolName::as_str));
        withheld.chain(self.unavailable.iter().flat_map(|one| one.record.tools()))
    }

    /// Whether a provider offers a prompt with this name, or offered it and is not loaded now.
    pub(crate) fn has_named_prompt(&self, name: &str) -> bool {
        let mut unavailable = self.unavailable.iter();
        self.prompt(name).is_some() || unavailable.any(|one| one.record.has_prompt(name))
    }

    /// Whether a provider that is not loaded now may have answered for this URI.
    pub(crate) fn is_unavailable(&self, uri: &str) -> bool {
        self.unavailable.iter().any(|one| one.record.has_uri(uri))
    }

    /// Returns the offer that owns the prompt with this name, and the prompt.
    pub(crate) fn prompt(&self, name: &str) -> Option<(&Arc<Offer>, &Arc<OfferedPrompt>)> {
        let (offer, prompt) = self.index.prompt(name)?;
        Some((
            &self.offers[offer],
            &self.offers[offer].definitions.prompts[prompt],
        ))
    }

    /// Returns all tools that clients see, sorted by provider and name.
    pub(crate) fn tools(&self) -> impl Iterator<Item = (&Arc<Offer>, &Arc<OfferedTool>)> {
        let all = self.offers.iter().flat_map(tools_of);
        all.filter(|(_, tool)| self.offers_tool(tool))
    }

    fn offers_tool(&self, tool: &Arc<OfferedTool>) -> bool {
        let owned = self.tool(tool.name.as_str());
        owned.is_some_and(|(_, owned)| Arc::ptr_eq(owned, tool))
    }

    /// Returns all prompts that clients see, sorted by provider and name.
    pub(crate) fn prompts(&self) -> impl Iterator<Item = (&Arc<Offer>, &Arc<OfferedPrompt>)> {
        let all = self.offers.iter().flat_map(prompts_of);
        all.filter(|(_, prompt)| self.offers_prompt(prompt))
    }

    fn offers_prompt(&self, prompt: &Arc<OfferedPrompt>) -> bool {
        let owned = self.prompt(&prompt.name);
        owned.is_some_and(|(_, owned)| Arc::ptr_eq(owned, prompt))
    }

    /// Returns whether a template of any provider matches this URI.
    fn matches_template(&self, uri: &Uri, budget: &mut MatchBudget) -> bool {
        self.index
            .templates_for(uri.as_str())
            .any(|(offer, template)| {
                let uri_template = &self.offers[offer].templates[template].uri_template;
                uri_template.matches_within(uri.as_str(), budget).is_some()
            })
    }

    /// Returns whether this provider has an owned route to this URI. A guessed route does not count.
    fn has_owned_route(&self, provider: &ProviderName, uri: &Uri) -> bool {
        let is_own = |offer: &Arc<Offer>| offer.name() == provider;
        self.by_uri(uri.as_str()).is_some_and(is_own)
            || self.has_matching_template(provider, uri)
            || self.by_claim(uri.as_str()).any(is_own)
    }

    /// Returns whether this provider may report updates of this URI.
    pub fn owns(&self, provider: &ProviderName, uri: &Uri) -> bool {
        let is_own = |offer: &Arc<Offer>| offer.name() == provider;
        self.has_owned_route(provider, uri)
            // No provider lists the URI, so it may be one of the entries that the catalog does not hold.
            || (self.by_uri(uri.as_str()).is_none() && self.with_unlisted_entries(uri).any(is_own))
    }

    /// Returns whether a template of this provider matches this URI. The templates of other providers are not tried.
    fn has_matching_template(&self, provider: &ProviderName, uri: &Uri) -> bool {
        let mut budget = MatchBudget::default();
        self.index
            .templates_for(uri.as_str())
            .any(|(offer, template)| {
                let offer = &self.offers[offer];
                offer.name() == provider
                    && offer.templates[template]
                        .uri_template
                        .matches_within(uri.as_str(), &mut budget)
                        .is_some()
            })
    }

    /// Returns whether this provider may return content of `uri` in an answer to `requested`. It may return content of
    /// the same URI. It may also return content of a URI below `requested`, or of one of its own URIs, unless another
    /// provider lists that URI.
    pub(crate) fn may_return(&self, provider: &ProviderName, requested: &Uri, uri: &Uri) -> bool {
        let is_below = || {
            let rest = uri.as_str().strip_prefix(requested.as_str());
            rest.is_some_and(|rest| {
                requested.as_str().ends_with('/') || rest.starts_with(['/', '?', '#'])
            })
        };
        let is_free = || {
            self.by_uri(uri.as_str())
                .is_none_or(|offer| offer.name() == provider)
        };
        uri == requested || (is_free() && (is_below() || self.owns(provider, uri)))
    }

    /// Returns the lists that are different for clients in the two catalogs.
    fn changed_lists(&self, other: &Self) -> Lists {
        let own = SeenLists::of(&[self]);
        let before = SeenLists::of(&[other]);
        Lists {
            // A prefix that is claimed here is missing in the lists of callers who have another team before this one.
            resources: self.visible_lists() != other.visible_lists()
                || self.claims() != other.claims(),
            tools: own.tools != before.tools,
            prompts: own.prompts != before.prompts,
        }
    }

    /// Returns what clients see: for each visible offer, the digest of its lists and what other offers own instead of
    /// it.
    fn visible_lists(&self) -> Vec<(&ProviderName, Digest, Vec<&str>)> {
        let mut lost: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for Collision { what, loser, .. } in &self.collisions {
            lost.entry(loser).or_default().push(what.as_str());
        }
        let seen = self.offers.iter().filter(|offer| self.is_visible(offer));
        seen.map(|offer| {
            (
                offer.name(),
                offer.list_digest,
                lost.remove(offer.name()).unwrap_or_default(),
            )
        })
        .collect()
    }

    fn claims(&self) -> BTreeSet<&String> {
        self.offers.iter().flat_map(|offer| &offer.claims).collect()
    }

    fn is_visible(&self, offer: &Arc<Offer>) -> bool {
        let is_offer =
            |owner: Option<&Arc<Offer>>| owner.is_some_and(|owner| Arc::ptr_eq(owner, offer));
        offer.next_cursor.is_some()
            || offer.is_personal()
            || offer
                .entries
                .iter()
                .any(|entry| is_offer(self.by_uri(entry.uri.as_str())))
            || offer.templates.iter().any(|template| {
                is_offer(
                    self.template(template.uri_template.as_str())
                        .map(|(owner, _)| owner),
                )
            })
    }
}

fn tools_of(offer: &Arc<Offer>) -> impl Iterator<Item = (&Arc<Offer>, &Arc<OfferedTool>)> {
    let tools = offer.definitions.tools.iter();
    tools.map(move |tool| (offer, tool))
}

fn prompts_of(offer: &Arc<Offer>) -> impl Iterator<Item = (&Arc<Offer>, &Arc<OfferedPrompt>)> {
    let prompts = offer.definitions.prompts.iter();
    prompts.map(move |prompt| (offer, prompt))
}
