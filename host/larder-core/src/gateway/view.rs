//! The catalogs that one caller can see: one snapshot for each team of the caller, taken once per request. The catalogs
//! of other teams are not accessed, so that neither responses nor response times reveal anything about them. If two
//! teams of the caller have the same resource, tool or prompt, the caller gets it from the earlier team: a read tries
//! all routes of a team before the routes of the next team, and a URI that an earlier team covers is not listed for a
//! later team.

use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;

use super::cursor::Cursor;
use super::{Config, Error, Gateway, TeamState};
use crate::catalog::{
    Catalog, Offer, OfferRecord, OfferedPrompt, OfferedTool, Route, UnavailableProvider,
};
use larder_model::name::TeamName;
use larder_model::resource::{Call, Caller, Freshness, Scope};
use larder_model::uri::Uri;
use larder_skills::TeamSkills;

/// The catalogs of a caller's teams, in the order in which they take precedence.
pub(super) struct View {
    /// Most callers belong to one team.
    teams: SmallVec<[TeamCatalog; 1]>,
    /// Upper bound for the freshness of every response.
    max_freshness: Freshness,
}

/// The catalog of one team.
pub(super) struct TeamCatalog {
    pub(super) state: Arc<TeamState>,
    pub(super) catalog: Arc<Catalog>,
    /// None if no provider of the team has snapshots.
    pub(super) skills: Option<Arc<TeamSkills>>,
}

/// Decides which URIs a caller reads from one offer.
#[derive(Clone, Copy)]
pub(super) struct Ownership<'a> {
    offer: &'a Arc<Offer>,
    team: &'a TeamCatalog,
    /// The teams that take precedence over the team of the offer.
    earlier: &'a [TeamCatalog],
}

/// Freshness of an empty list: it may change at any moment.
const EMPTY_LIST: Freshness = Freshness {
    ttl: Duration::ZERO,
    scope: Scope::Everyone,
};

impl Gateway {
    /// Takes the snapshots for this caller. Without a caller the view is empty, because the server itself calls
    /// providers directly, not through the gateway.
    pub(super) fn view(&self, call: &Call) -> View {
        self.view_of(call.caller.as_ref())
    }

    /// Like [`Self::view`], for a caller without a call.
    pub(super) fn view_of(&self, caller: Option<&Caller>) -> View {
        let state = self.state.load();
        let names = caller.into_iter().flat_map(|caller| caller.teams.iter());
        let teams = names.filter_map(|name| state.teams.get(name));
        View {
            teams: teams.map(TeamCatalog::new).collect(),
            max_freshness: state.config.max_freshness(),
        }
    }

    pub(super) fn max_freshness(&self) -> Freshness {
        self.state.load().config.max_freshness()
    }
}

impl Config {
    /// If there are teams or credentials, no response may be cached for everyone.
    fn max_freshness(&self) -> Freshness {
        let scope = if self.private {
            Scope::Caller
        } else {
            Scope::Everyone
        };
        Freshness {
            ttl: Duration::MAX,
            scope,
        }
    }
}

impl View {
    pub(super) fn teams(&self) -> &[TeamCatalog] {
        &self.teams
    }

    /// Upper bound for the freshness of every response.
    pub(super) fn max_freshness(&self) -> Freshness {
        self.max_freshness
    }

    /// Returns all offers in order.
    pub(super) fn offers(&self) -> impl Iterator<Item = &Arc<Offer>> {
        self.teams.iter().flat_map(TeamCatalog::offers)
    }

    /// Returns the offers from the provider of a cursor on, or from the next provider if the provider of the cursor is
    /// gone. A cursor of a team that the caller does not belong to is rejected like any invalid cursor.
    pub(super) fn offers_from(
        &self,
        from: Option<&Cursor>,
    ) -> Result<impl Iterator<Item = &Arc<Offer>> + Clone, Error> {
        let at = match from {
            None => 0,
            Some(from) => self.team_rank_of(&from.team).ok_or(Error::BadCursor)?,
        };
        let provider = from.map_or("", |from| from.provider.as_str());
        let (first, others) = match self.teams.split_at(at).1 {
            [] => (&[][..], &[][..]),
            [first, others @ ..] => (first.offers_from(provider), others),
        };
        Ok(first
            .iter()
            .chain(others.iter().flat_map(TeamCatalog::offers)))
    }

    /// Returns the ownership, which decides which URIs the caller reads from this offer. `None` if the offer is not in
    /// this view.
    pub(super) fn ownership<'a>(&'a self, offer: &'a Arc<Offer>) -> Option<Ownership<'a>> {
        let at = self.team_rank(offer.team())?;
        Some(Ownership {
            offer,
            team: &self.teams[at],
            earlier: &self.teams[..at],
        })
    }

    /// Whether a read of this URI reaches this offer. A URI that another provider lists does not. Adds the steps that
    /// this took.
    pub(super) fn owns(&self, offer: &Arc<Offer>, uri: &Uri, steps: &mut usize) -> bool {
        let ownership = self.ownership(offer);
        ownership.is_some_and(|ownership| {
            ownership.includes(uri, steps) && ownership.team.catalog.owns(offer.name(), uri)
        })
    }

    /// Returns the offer that lists this URI and from which the caller reads the URI.
    pub(super) fn by_uri(&self, uri: &Uri) -> Option<&Arc<Offer>> {
        let (at, offer) = self.find_first(|team| team.catalog.by_uri(uri.as_str()))?;
        (!self.is_covered_before(at, uri)).then_some(offer)
    }

    /// Returns what this function finds in the first team in which it finds something, and the position of that team.
    pub(super) fn find_first<'a, T>(
        &'a self,
        find: impl Fn(&'a TeamCatalog) -> Option<T>,
    ) -> Option<(usize, T)> {
        let mut teams = self.teams.iter().enumerate();
        teams.find_map(|(at, team)| Some((at, find(team)?)))
    }

    /// Returns the offer that owns this template, and the index of the template. The first team that has the template
    /// owns it, unless an earlier team claims all of its URIs.
    pub(super) fn template(&self, text: &str) -> Option<(&Arc<Offer>, usize)> {
        let (at, (offer, index)) = self.find_first(|team| team.catalog.template(text))?;
        let prefix = offer.templates[index].uri_template.literal_prefix();
        let is_covered = self.teams[..at]
            .iter()
            .any(|team| team.catalog.covers_prefix(prefix));
        (!is_covered).then_some((offer, index))
    }

    /// Returns the tool with this name and its offer. The tool is from the first team that has the name; none if the
    /// tool of that team waits for approval, or if its page is read from an earlier team.
    pub(super) fn tool(&self, name: &str) -> Option<(&Arc<Offer>, &Arc<OfferedTool>)> {
        let (at, tool) = self.find_first(|team| team.catalog.named_tool(name))?;
        let (offer, tool) = tool.offered()?;
        let is_own = |page| !self.is_covered_before(at, page);
        tool.page
            .as_ref()
            .is_none_or(is_own)
            .then_some((offer, tool))
    }

    /// Whether a team before this position is asked first for a URI.
    pub(super) fn is_covered_before(&self, at: usize, uri: &Uri) -> bool {
        let mut earlier = self.teams[..at].iter();
        earlier.any(|team| team.catalog.covers(uri, &mut 0))
    }

    /// Returns the prompt with this name and its offer. The prompt is from the first team that has one with this name;
    /// none if its provider is not loaded now.
    pub(super) fn prompt(&self, name: &str) -> Option<(&Arc<Offer>, &Arc<OfferedPrompt>)> {
        let mut teams = self.teams.iter();
        teams
            .find(|team| team.catalog.has_named_prompt(name))?
            .catalog
            .prompt(name)
    }

    /// Returns the error for a URI that no provider has, or for a template that no provider offers.
    pub(super) fn unknown_uri(&self, uri: &str, unknown: Error) -> Error {
        self.unknown(|record| record.has_uri(uri), unknown)
    }

    /// Returns the error for a tool that no provider offers.
    pub(super) fn unknown_tool(&self, name: &str) -> Error {
        self.unknown(
            |record| record.has_tool(name),
            Error::UnknownTool {
                name: name.to_owned(),
            },
        )
    }

    /// Returns the error for a prompt that no provider offers.
    pub(super) fn unknown_prompt(&self, name: &str) -> Error {
        self.unknown(
            |record| record.has_prompt(name),
            Error::UnknownPrompt {
                name: name.to_owned(),
            },
        )
    }

    /// Returns `unknown`, or another error if a provider that is not loaded now had the URI, tool or prompt.
    fn unknown(&self, is_recorded: impl Fn(&OfferRecord) -> bool, unknown: Error) -> Error {
        let found = self.unavailable().find(|one| is_recorded(&one.record));
        found.map_or(unknown, not_loaded)
    }

    fn unavailable(&self) -> impl Iterator<Item = &UnavailableProvider> {
        self.teams
            .iter()
            .flat_map(|team| team.catalog.unavailable())
    }

    /// Returns all tools that the caller can call, in order.
    pub(super) fn tools(&self) -> impl Iterator<Item = (&Arc<Offer>, &Arc<OfferedTool>)> {
        let all = self.teams.iter().flat_map(|team| team.catalog.tools());
        all.filter(|(_, tool)| self.offers_tool(tool))
    }

    fn offers_tool(&self, tool: &Arc<OfferedTool>) -> bool {
        let owned = self.tool(tool.name.as_str());
        owned.is_some_and(|(_, owned)| Arc::ptr_eq(owned, tool))
    }

    /// Returns all prompts that the caller can get, in order.
    pub(super) fn prompts(&self) -> impl Iterator<Item = (&Arc<Offer>, &Arc<OfferedPrompt>)> {
        let all = self.teams.iter().flat_map(|team| team.catalog.prompts());
        all.filter(|(_, prompt)| self.offers_prompt(prompt))
    }

    fn offers_prompt(&self, prompt: &Arc<OfferedPrompt>) -> bool {
        let owned = self.prompt(&prompt.name);
        owned.is_some_and(|(_, owned)| Arc::ptr_eq(owned, prompt))
    }

    /// Whether the server offers its own tools to the caller.
    pub(super) fn has_resource_tools(&self) -> bool {
        self.teams
            .iter()
            .any(|team| team.catalog.has_resource_tools())
    }

    /// Returns the position of a team among the teams of the caller.
    pub(super) fn team_rank(&self, name: &TeamName) -> Option<usize> {
        self.team_rank_of(name.as_str())
    }

    /// Like [`Self::team_rank`], for a text that may not be a valid name.
    pub(super) fn team_rank_of(&self, name: &str) -> Option<usize> {
        self.teams
            .iter()
            .position(|team| team.state.reader.team().as_str() == name)
    }

    /// Returns all routes for a URI, the best route first: all routes of the first team, then all routes of the next
    /// team, and the guesses of all teams at the end. If a provider of a team may have the URI and is not loaded,
    /// providers of later teams are not called.
    pub(super) fn routes<'a>(
        &'a self,
        uri: &'a Uri,
    ) -> impl Iterator<Item = (&'a TeamCatalog, Route<'a>)> + Send + use<'a> {
        let earlier = &self.teams[..self.teams.len().saturating_sub(1)];
        let unavailable = earlier
            .iter()
            .position(|team| team.catalog.is_unavailable(uri.as_str()));
        let teams = &self.teams[..unavailable.map_or(self.teams.len(), |at| at + 1)];
        let owned = teams.iter().flat_map(move |team| {
            let routes = team.catalog.owned_routes(uri);
            routes.map(move |route| (team, route))
        });
        let guessed = teams.iter().flat_map(move |team| {
            let routes = team.catalog.guessed_routes(uri);
            routes.map(move |route| (team, route))
        });
        owned.chain(guessed)
    }

    /// Returns one freshness for all pages of a list: the strictest freshness that `of` returns for a catalog.
    pub(super) fn freshness(&self, of: impl Fn(&Catalog) -> Option<Freshness>) -> Freshness {
        let all = self.teams.iter().filter_map(|team| of(&team.catalog));
        let all = all.reduce(Freshness::merge).unwrap_or(EMPTY_LIST);
        all.merge(self.max_freshness)
    }
}

fn not_loaded(provider: &UnavailableProvider) -> Error {
    Error::NotLoaded {
        provider: provider.provider.clone(),
        retry: provider.retry(),
    }
}

impl TeamCatalog {
    fn new(state: &Arc<TeamState>) -> Self {
        let catalog = state.reader.snapshot();
        Self {
            state: state.clone(),
            skills: catalog.has_snapshots().then(|| state.reader.skills()),
            catalog,
        }
    }

    pub(super) fn offers(&self) -> &[Arc<Offer>] {
        self.catalog.offers()
    }

    /// Returns the offers from this provider on.
    fn offers_from(&self, provider: &str) -> &[Arc<Offer>] {
        let offers = self.offers();
        let begin = offers.partition_point(|offer| offer.name().as_str() < provider);
        &offers[begin..]
    }
}

impl Ownership<'_> {
    /// Whether the caller reads all listed URIs of the offer from this offer.
    pub(super) fn has_no_collisions(&self) -> bool {
        self.earlier.is_empty() && self.team.catalog.collisions().is_empty()
    }

    /// Whether the caller reads this URI from the offer, if the offer has it. Adds the steps that this took.
    pub(super) fn includes(&self, uri: &Uri, steps: &mut usize) -> bool {
        let owner = self.team.catalog.by_uri(uri.as_str());
        owner.is_none_or(|owner| Arc::ptr_eq(owner, self.offer))
            && !self
                .earlier
                .iter()
                .any(|team| team.catalog.covers(uri, steps))
    }
}
