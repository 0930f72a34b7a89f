//! What each provider is given, what it got approved, and what it waits for.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;

use crate::cli::clean;
use crate::config::Team;
use crate::name::ProviderName;
use crate::policy::{Approve, granted};
use crate::reconcile::{ApprovalsError, Config, LARGEST_ASK};
use crate::source::{Fetched, File, Folder};

#[derive(Debug, Default, Serialize)]
pub(in crate::cli) struct Asks {
    #[serde(skip_serializing_if = "Option::is_none")]
    team: Option<String>,
    provider: String,
    /// What is wrong with its file.
    fault: Option<String>,
    /// What it asks for beyond what the operator's own file grants.
    asked: BTreeSet<String>,
    /// Of what is granted or asked for, what its team may have.
    allowed: BTreeSet<String>,
    /// By the operator's own file.
    granted: BTreeSet<String>,
    /// Asked for and approved.
    approved: BTreeSet<String>,
    /// Asked for and not approved.
    held: BTreeSet<String>,
    /// Granted or asked for, but beyond the ceiling of the team.
    beyond: BTreeSet<String>,
}

/// For every component in the folder; those that have nothing and ask for nothing are left out.
pub(super) fn of(team: &Team) -> Result<Vec<Asks>, ApprovalsError> {
    let config = &team.reconcile;
    let seen = Folder::new(config.plugins.clone()).look().unwrap_or_default();
    // What a server held back for what it imports shows only where there is a server.
    let held = config.approvals.held()?;
    let mut all = Vec::new();
    for (file, beside) in &seen.components {
        let Ok(name) = ProviderName::parse(file.stem()) else { continue };
        let mut asks = of_one(config, &name, beside.as_ref())?;
        asks.team = team.quota.is_some().then(|| config.team.to_string());
        let own = held.iter().filter(|one| one.provider == name.as_str() && one.team == config.team.as_str());
        asks.held.extend(own.flat_map(|one| one.lines.clone()));
        all.push(asks);
    }
    Ok(all.into_iter().filter(Asks::says_something).collect())
}

/// For a component wherever it lies, as what this configuration would be to it.
pub(in crate::cli) fn of_file(config: &Config, path: &Path) -> Result<Option<Asks>, ApprovalsError> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => ".".into(),
    };
    let folder = folder.canonicalize().unwrap_or(folder);
    let config = Config { plugins: folder.clone(), relative_to: folder, ..config.clone() };
    let seen = Folder::new(config.plugins.clone()).look().unwrap_or_default();
    let own = seen.components.iter().find(|(file, _)| Some(file.name.as_ref()) == path.file_name());
    let Some((file, beside)) = own else { return Ok(None) };
    let Ok(name) = ProviderName::parse(file.stem()) else { return Ok(None) };
    let asks = of_one(&config, &name, beside.as_ref())?;
    Ok(Some(asks).filter(Asks::says_something))
}

fn of_one(config: &Config, name: &ProviderName, beside: Option<&File>) -> Result<Asks, ApprovalsError> {
    let terms = config.terms.get(name).unwrap_or(&config.default);
    let cut = config.ceiling.cut(&terms.grant);
    let granted = granted(&cut.left);
    let mut asks = Asks {
        provider: name.to_string(),
        allowed: granted.clone(),
        granted,
        beyond: cut.off,
        ..Asks::default()
    };
    let Some(beside) = beside else { return Ok(asks) };
    let text = match beside.fetch(LARGEST_ASK) {
        Ok(Fetched::Bytes(bytes)) => String::from_utf8(bytes.into()).map_err(|error| error.to_string()),
        Ok(Fetched::TooLarge(size)) => Err(format!("it has {size} bytes; {LARGEST_ASK} are enough")),
        Err(error) => Err(format!("cannot be read: {error}")),
    };
    match text.and_then(|text| (config.read_ask)(&text, &config.relative_to)) {
        Err(fault) => asks.fault = Some(fault),
        Ok(ask) => {
            asks.asked = ask.beyond(&cut.left);
            let ask = config.ceiling.cut_ask(ask);
            let beyond = ask.left.beyond(&cut.left);
            asks.allowed.extend(beyond.clone());
            asks.beyond.extend(&asks.asked - &beyond);
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
    /// What its own file asks for, for people.
    pub(in crate::cli) fn wishes(&self) -> impl Iterator<Item = String> {
        let fault = self.fault.iter().map(|fault| format!("its .toml: {fault}"));
        fault.chain(self.asked.iter().cloned())
    }

    fn says_something(&self) -> bool {
        let Self { asked, granted, held, beyond, .. } = self;
        self.fault.is_some() || [asked, granted, held, beyond].iter().any(|set| !set.is_empty())
    }

    /// Whether there is nothing to do about it.
    pub(super) fn is_fine(&self) -> bool {
        self.fault.is_none() && self.held.is_empty() && self.beyond.is_empty()
    }

    fn name(&self) -> String {
        self.team.as_ref().map_or_else(|| self.provider.clone(), |team| format!("{team}/{}", self.provider))
    }

    /// For people.
    pub(in crate::cli) fn show(&self) -> String {
        let mut shown = format!("{}\n", self.name());
        let sets = [
            ("granted", &self.granted),
            ("approved", &self.approved),
            ("held back", &self.held),
            ("refused", &self.beyond),
        ];
        for (what, lines) in sets {
            lines.iter().for_each(|line| shown += &format!("  {what:9}  {}\n", clean::line(line)));
        }
        shown
    }

    /// What has to be done about it.
    pub(super) fn troubles(&self) -> Vec<String> {
        let Self { provider, team, fault, held, beyond, .. } = self;
        let name = self.name();
        let fault = fault.as_ref().map(|fault| format!("{name}.toml: {fault}"));
        let of = team.as_ref().map(|team| format!(" --team {team}")).unwrap_or_default();
        let held = (!held.is_empty()).then(|| {
            format!("{name} asks for more than it was granted: see it with a running server and `larder approve {provider}{of}`")
        });
        let beyond = (!beyond.is_empty()).then(|| match team {
            Some(team) => format!(
                "{name} is not given what is beyond [team.{team}.ceiling]: raise that, or neither grant it nor ask for it"
            ),
            None => format!("{name} asks for a secret that is not in the configuration: write [secret.NAME]"),
        });
        fault.into_iter().chain(held).chain(beyond).collect()
    }
}
