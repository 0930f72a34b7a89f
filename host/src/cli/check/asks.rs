//! What each provider is given, what it got approved, and what it waits for.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::cli::clean;
use crate::name::ProviderName;
use crate::policy::{Approve, granted};
use crate::reconcile::{ApprovalsError, Config, LARGEST_ASK};
use crate::source::{Fetched, File, Folder};

#[derive(Debug, Default, Serialize)]
pub(super) struct Asks {
    provider: String,
    /// What is wrong with its file.
    pub(super) fault: Option<String>,
    /// By the operator's own file.
    granted: BTreeSet<String>,
    /// Asked for and approved.
    approved: BTreeSet<String>,
    /// Asked for and not approved.
    pub(super) held: BTreeSet<String>,
}

/// For every component in the folder; those that have nothing and ask for nothing are left out.
pub(super) fn of(config: &Config) -> Result<Vec<Asks>, ApprovalsError> {
    let seen = Folder::new(config.plugins.clone()).look().unwrap_or_default();
    // What a server held back for what it imports shows only where there is a server.
    let held = config.approvals.held()?;
    let mut all = Vec::new();
    for (file, beside) in &seen.components {
        let Ok(name) = ProviderName::parse(file.stem()) else { continue };
        let mut asks = of_one(config, &name, beside.as_ref())?;
        let own = held.iter().filter(|one| one.provider == name.as_str() && one.team == config.team.as_str());
        asks.held.extend(own.flat_map(|one| one.lines.clone()));
        all.push(asks);
    }
    Ok(all.into_iter().filter(Asks::says_something).collect())
}

fn of_one(config: &Config, name: &ProviderName, beside: Option<&File>) -> Result<Asks, ApprovalsError> {
    let terms = config.terms.get(name).unwrap_or(&config.default);
    let mut asks = Asks { provider: name.to_string(), granted: granted(&terms.grant), ..Asks::default() };
    let Some(beside) = beside else { return Ok(asks) };
    let text = match beside.fetch(LARGEST_ASK) {
        Ok(Fetched::Bytes(bytes)) => String::from_utf8(bytes.into()).map_err(|error| error.to_string()),
        Ok(Fetched::TooLarge(size)) => Err(format!("it has {size} bytes; {LARGEST_ASK} are enough")),
        Err(error) => Err(format!("cannot be read: {error}")),
    };
    match text.and_then(|text| (config.read_ask)(&text, &config.plugins)) {
        Err(fault) => asks.fault = Some(fault),
        Ok(ask) => {
            let beyond = ask.beyond(&terms.grant);
            asks.held = match terms.approve {
                Approve::Ask => config.approvals.missing(&config.team, name, &beyond)?,
                Approve::Always => BTreeSet::new(),
            };
            asks.approved = beyond.difference(&asks.held).cloned().collect();
        }
    }
    Ok(asks)
}

impl Asks {
    fn says_something(&self) -> bool {
        self.fault.is_some() || [&self.granted, &self.approved, &self.held].iter().any(|set| !set.is_empty())
    }

    /// For people.
    pub(super) fn show(&self) -> String {
        let mut shown = format!("{}\n", self.provider);
        let sets = [("granted", &self.granted), ("approved", &self.approved), ("held back", &self.held)];
        for (what, lines) in sets {
            lines.iter().for_each(|line| shown += &format!("  {what:9}  {}\n", clean::line(line)));
        }
        shown
    }

    /// What has to be done about it.
    pub(super) fn troubles(&self) -> Vec<String> {
        let Self { provider, fault, held, .. } = self;
        let fault = fault.as_ref().map(|fault| format!("{provider}.toml: {fault}"));
        let held = (!held.is_empty()).then(|| {
            format!("{provider} asks for more than it was granted: see it with a running server and `larder approve {provider}`")
        });
        fault.into_iter().chain(held).collect()
    }
}
