//! What a catalog offers, as plain data for people and scripts.

use std::sync::Arc;

use serde::Serialize;

use crate::catalog::{Catalog, Offer};
use crate::name::TeamName;
use crate::policy::Grant;

/// What is served, and what is not.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Served {
    /// Those that can be called.
    pub providers: Vec<Provider>,
    /// Components that could not be loaded.
    pub rejected: Vec<Rejected>,
    /// Revisions that wait for `larder approve`.
    pub held_back: Vec<String>,
    /// What several providers offer; one of them has it.
    pub collisions: Vec<String>,
}

/// One provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Provider {
    /// Whose it is, where there are teams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// Its name.
    pub name: String,
    /// The digest of its component.
    pub digest: String,
    /// Its name for people.
    pub title: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// What it is.
    pub summary: Option<String>,
    /// What models are told.
    pub instructions: Option<String>,
    /// URI prefixes that are its own.
    pub claims: Vec<String>,
    /// The URIs that it lists.
    pub resources: Vec<String>,
    /// Its templates.
    pub templates: Vec<String>,
    /// Whether it lists more than these.
    pub more: bool,
    /// What was left out of its lists, and why.
    pub left_out: Vec<String>,
    /// What it is given; for nobody's eyes.
    #[serde(skip)]
    pub grant: Arc<Grant>,
}

/// A component that could not be loaded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rejected {
    /// Whose it is, where there are teams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// Its file.
    pub file: String,
    /// The digest of it, if it could be read.
    pub digest: Option<String>,
    /// What is wrong with it.
    pub reason: String,
}

impl Served {
    /// Of all teams together. Where there is none but `default`, nothing speaks of teams.
    pub(super) fn of<'a>(catalogs: impl Iterator<Item = (&'a TeamName, Arc<Catalog>)>) -> Self {
        let catalogs: Vec<_> = catalogs.collect();
        let named = catalogs.iter().any(|(team, _)| **team != TeamName::sole());
        let mut served = Self::default();
        for (team, catalog) in &catalogs {
            let team = named.then(|| team.to_string());
            served.add(team.as_deref(), catalog);
        }
        served
    }

    fn add(&mut self, team: Option<&str>, catalog: &Catalog) {
        self.providers.extend(catalog.offers().iter().map(|offer| Provider::of(team, offer)));
        self.rejected.extend(catalog.rejected().iter().map(|rejected| Rejected {
            team: team.map(ToOwned::to_owned),
            file: rejected.file.to_string(),
            digest: rejected.digest.map(|digest| digest.to_string()),
            reason: rejected.reason.to_string(),
        }));
        self.held_back.extend(catalog.held_back().iter().map(ToString::to_string));
        let of = team.map(|team| format!("{team}: ")).unwrap_or_default();
        self.collisions.extend(catalog.collisions().iter().map(|collision| format!("{of}{collision}")));
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
            resources: offer.entries.iter().map(|entry| entry.uri.to_string()).collect(),
            templates: offer.templates.iter().map(|template| template.pattern.as_str().to_owned()).collect(),
            more: offer.rest.is_some(),
            left_out: offer.left_out.clone(),
            grant: offer.provider.grant().clone(),
        }
    }

    /// Its name, with its team's where there are teams.
    pub fn full_name(&self) -> String {
        full_name(self.team.as_deref(), &self.name)
    }

    /// How much it offers: `12 resources, 1 template`; its claims, if that is all.
    pub fn counts(&self) -> String {
        let more = if self.more { "+" } else { "" };
        let resources = number(self.resources.len(), more, "resource");
        match (self.templates.len(), self.claims.len()) {
            (0, claims) if self.resources.is_empty() && claims > 0 => {
                format!("{resources}, {}", number(claims, "", "claim"))
            }
            (0, _) => resources,
            (templates, _) => format!("{resources}, {}", number(templates, "", "template")),
        }
    }
}

impl Rejected {
    /// Its file, with its team where there are teams.
    pub fn full_name(&self) -> String {
        full_name(self.team.as_deref(), &self.file)
    }
}

fn full_name(team: Option<&str>, name: &str) -> String {
    team.map_or_else(|| name.to_owned(), |team| format!("{team}/{name}"))
}

fn number(count: usize, more: &str, what: &str) -> String {
    let plural = if count == 1 && more.is_empty() { "" } else { "s" };
    format!("{count}{more} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_a_phrase() {
        let texts = |count| vec![String::new(); count];
        let provider = |resources, templates, more| {
            Provider { resources: texts(resources), templates: texts(templates), more, ..Provider::default() }
                .counts()
        };
        assert_eq!(provider(1, 0, false), "1 resource");
        assert_eq!(provider(0, 1, false), "0 resources, 1 template");
        assert_eq!(provider(100, 2, true), "100+ resources, 2 templates");
        let claims = Provider { claims: texts(2), ..Provider::default() };
        assert_eq!(claims.counts(), "0 resources, 2 claims");
    }
}
