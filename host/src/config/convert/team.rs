//! Teams: each with a folder, grants and limits of its own. Without any, all of the file is about one, `default`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;

use super::provider::limits;
use super::{Conversion, count, folder};
use crate::config::file::{self, Provider};
use crate::config::value::{Access, Approval};
use crate::config::{Overrides, Team};
use crate::name::{TeamName, Teams};
use crate::policy::{self, Approve, Bounds, Ceiling, Dir, Grant, Limits, Quota, Secrets};
use crate::reconcile::{self, Approvals, Terms};

/// What all teams have from the whole file.
pub(super) struct House<'a> {
    pub(super) limits: Limits,
    pub(super) approve: Option<Approval>,
    pub(super) secrets: Secrets,
    pub(super) state_dir: Option<Spanned<PathBuf>>,
    pub(super) poll: std::time::Duration,
    pub(super) overrides: &'a Overrides,
}

/// What a team has of its own.
struct Own {
    name: TeamName,
    plugins: PathBuf,
    approve: Option<Approval>,
    limits: Limits,
    ceiling: Ceiling,
    provider: BTreeMap<Spanned<String>, Provider>,
    quota: Option<Quota>,
}

impl Conversion<'_> {
    /// All teams, by name.
    pub(super) fn all_teams(
        &mut self,
        house: &House<'_>,
        plugins: Option<&Spanned<PathBuf>>,
        provider: BTreeMap<Spanned<String>, Provider>,
        written: BTreeMap<Spanned<String>, file::Team>,
    ) -> BTreeMap<TeamName, Team> {
        let own = if written.is_empty() {
            vec![self.the_only_one(house, plugins, provider)]
        } else {
            self.no_team(plugins, &provider);
            self.several(house, written)
        };
        let folders: Vec<_> = own.iter().map(|own| own.plugins.clone()).collect();
        let state = self.state_dir(house.state_dir.as_ref(), &folders);
        own.into_iter().map(|own| (own.name.clone(), self.one_team(house, own, &state))).collect()
    }

    fn the_only_one(
        &mut self,
        house: &House<'_>,
        plugins: Option<&Spanned<PathBuf>>,
        provider: BTreeMap<Spanned<String>, Provider>,
    ) -> Own {
        let (name, overrides) = (TeamName::sole(), house.overrides);
        if let Some(other) = overrides.team.as_ref().filter(|team| **team != name) {
            self.fault_of(
                "--team",
                format!("there is no team {other}: the configuration has no [team.{other}]"),
            );
        }
        let ceiling = Ceiling { bounds: None, secrets: house.secrets.clone() };
        let plugins = self.plugins(plugins, overrides.plugins.as_deref(), "plugins");
        Own { name, plugins, approve: None, limits: house.limits.clone(), ceiling, provider, quota: None }
    }

    /// What would be nobody's.
    fn no_team(
        &mut self,
        plugins: Option<&Spanned<PathBuf>>,
        provider: &BTreeMap<Spanned<String>, Provider>,
    ) {
        if let Some(plugins) = plugins {
            let what = "each team has a folder of its own: write it as `plugins` of [team.NAME]";
            self.fault(&plugins.span(), what);
        }
        for name in provider.keys() {
            let what = format!("a provider is a team's: write it as [team.NAME.provider.{}]", name.get_ref());
            self.fault(&name.span(), what);
        }
    }

    fn several(&mut self, house: &House<'_>, written: BTreeMap<Spanned<String>, file::Team>) -> Vec<Own> {
        let mut all: Vec<Own> = Vec::new();
        for (name, written) in written {
            match TeamName::parse(name.get_ref()) {
                Ok(team) => {
                    let at = written.plugins.as_ref().map_or(name.span(), Spanned::span);
                    let own = self.own(house, team, written);
                    self.apart(&at, &own, &all);
                    all.push(own);
                }
                Err(bad) => self.fault(&name.span(), bad.to_string()),
            }
        }
        let has = |team: &TeamName| all.iter().any(|own| own.name == *team);
        match &house.overrides.team {
            Some(team) if !has(team) => {
                self.fault_of(
                    "--team",
                    format!("there is no team {team}: the configuration has no [team.{team}]"),
                );
            }
            None if house.overrides.plugins.is_some() => {
                let what = "the configuration has teams: say with `--team NAME` whose the components are";
                self.fault_of("--team", what.into());
            }
            _ => {}
        }
        all
    }

    fn own(&mut self, house: &House<'_>, name: TeamName, written: file::Team) -> Own {
        let named = house.overrides.plugins.as_deref();
        let named = named.filter(|_| house.overrides.team.as_ref() == Some(&name));
        let quota = quota(&written.quota);
        let mut limits = limits(&house.limits, &written.limits);
        limits.component = limits.component.min(quota.component);
        Own {
            plugins: self.plugins(written.plugins.as_ref(), named, &format!("plugins/{name}")),
            approve: written.approve,
            limits,
            ceiling: self.ceiling(house, written.ceiling),
            provider: written.provider,
            quota: Some(quota),
            name,
        }
    }

    /// What one team puts into its folder must not be another's.
    fn apart(&mut self, at: &Range<usize>, own: &Own, others: &[Own]) {
        let mine = real(&own.plugins);
        for other in others {
            let theirs = real(&other.plugins);
            if mine.starts_with(&theirs) || theirs.starts_with(&mine) {
                let (path, other) = (own.plugins.display(), &other.name);
                let what = "is the same folder, in it, or around it: choose another one";
                self.fault(at, format!("{path}: that of team {other} {what}"));
            }
        }
    }

    fn ceiling(&mut self, house: &House<'_>, written: file::Ceiling) -> Ceiling {
        let dirs = written.dirs.iter().filter_map(|dir| self.bound(dir)).collect();
        let hosts = written.hosts.into_iter().map(|host| host.0).collect();
        let secrets = self.secrets(&house.secrets, &written.secrets);
        Ceiling { bounds: Some(Bounds { dirs, hosts, env: written.env.into_iter().collect() }), secrets }
    }

    fn bound(&mut self, written: &Spanned<crate::config::value::Dir>) -> Option<Dir> {
        let dir = written.get_ref();
        let host = self.place.folder.join(&dir.host);
        if dir.guest.is_some() {
            self.fault(&written.span(), "`guest` says nothing in a ceiling: take it out");
        }
        if let Err(what) = folder(&host) {
            self.fault(&written.span(), what);
            return None;
        }
        let access = match dir.access {
            Access::Read => policy::Access::Read,
            Access::Write => policy::Access::Write,
        };
        Some(Dir { host: real(&host), guest: String::new(), access, is_real: true })
    }

    fn one_team(&mut self, house: &House<'_>, own: Own, state: &Path) -> Team {
        let grant = Grant { limits: own.limits.clone(), ..Grant::default() };
        let approve = own.approve.or(house.approve).map_or(Approve::Ask, Approve::from);
        let provider = own.provider.into_iter();
        let terms = provider.filter_map(|(name, written)| {
            let (name, mut terms) = self.provider(&name, written, (&own.limits, approve), &house.secrets)?;
            if let Some(quota) = &own.quota {
                let limits = &mut Arc::make_mut(&mut terms.grant).limits;
                limits.component = limits.component.min(quota.component);
            }
            Some((name, terms))
        });
        let reconcile = reconcile::Config {
            terms: terms.collect(),
            default: Terms { grant: Arc::new(grant), priority: 0, approve },
            ceiling: Arc::new(own.ceiling),
            poll: house.poll,
            read_ask: crate::config::ask::parse,
            relative_to: own.plugins.clone(),
            approvals: Approvals::new(state, &own.plugins),
            plugins: own.plugins,
            team: own.name,
        };
        Team { reconcile, quota: own.quota }
    }

    /// The teams that are named here, or the usual ones. Where nothing says, it is a team that nobody configured,
    /// whose view is empty.
    pub(super) fn members(&mut self, written: Option<&Spanned<Vec<Spanned<String>>>>) -> Teams {
        let named = written.and_then(|written| self.named_teams(&written.span(), written.get_ref()));
        named.or_else(|| self.usual_teams()).unwrap_or_else(Teams::sole)
    }

    /// The team `default`, else the only one.
    pub(super) fn usual_teams(&self) -> Option<Teams> {
        let mut only = self.known.iter().take(2);
        match (only.next(), only.next()) {
            (Some(only), None) => Some(only.clone().into()),
            _ => self.known.get(&TeamName::sole()).cloned().map(Teams::from),
        }
    }

    pub(super) fn named_teams(&mut self, at: &Range<usize>, written: &[Spanned<String>]) -> Option<Teams> {
        let teams: Option<Vec<_>> = written.iter().map(|name| self.named_team(name)).collect();
        let teams = Teams::of(teams?);
        if teams.is_none() {
            self.fault(at, "is empty: whoever has no team can ask for nothing");
        }
        teams
    }

    pub(super) fn named_team(&mut self, written: &Spanned<String>) -> Option<TeamName> {
        let team = self.parsed(written, TeamName::parse)?;
        if !self.known.contains(&team) {
            let what = format!("there is no team `{team}`: the configuration has no [team.{team}]");
            self.fault(&written.span(), what);
            return None;
        }
        Some(team)
    }
}

fn quota(written: &file::Quota) -> Quota {
    let default = Quota::default();
    let size =
        |written: Option<crate::config::value::Size<u64>>, default| written.map_or(default, |size| size.0);
    Quota {
        memory: size(written.memory, default.memory),
        cpu: written.cpu.map_or(default.cpu, |time| time.0),
        calls: count(written.calls, default.calls),
        requests: count(written.requests, default.requests),
        bytes: size(written.bytes, default.bytes),
        providers: count(written.providers, default.providers),
        component: size(written.component, default.component),
        watchers: count(written.watchers, default.watchers),
    }
}

/// Where a path leads, as far as it is there already.
fn real(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(real), ..) => real,
        (Err(_), Some(above), Some(name)) => real(above).join(name),
        _ => path.to_owned(),
    }
}
