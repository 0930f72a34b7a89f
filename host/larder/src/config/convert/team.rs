//! Converts teams. Each has its own plugins folder, grants and limits. A file without `[team.*]` describes
//! one team, `default`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;

use super::provider::limits;
use super::registries::{Access as RegistryAccess, RegistrySettings, TeamAccess};
use super::trust::{Rule, verifier};
use super::{Conversion, count, require_folder};
use crate::config::file::{self, Provider};
use crate::config::value::{Access, Approval};
use crate::config::{Overrides, Team};
use larder_core::reconcile::{self, Approvals, ProviderConfig};
use larder_model::name::{StateName, TeamName, Teams};
use larder_model::policy::{
    self, ApprovalMode, Bounds, Ceiling, Dir, Grant, Limits, OwnFile, Quota, Secrets,
    resolve_existing,
};
use larder_model::state_key::StateKey;

/// Top-level settings that apply to all teams.
pub(super) struct GlobalSettings<'a> {
    pub(super) limits: Limits,
    pub(super) approve: Option<Approval>,
    pub(super) trust: Rule,
    pub(super) secrets: Secrets,
    pub(super) registries: RegistrySettings,
    pub(super) state_dir: Option<Spanned<PathBuf>>,
    pub(super) state_name: Option<StateName>,
    pub(super) scan_interval: std::time::Duration,
    pub(super) missing_source_grace: std::time::Duration,
    pub(super) resource_tools: bool,
    pub(super) overrides: &'a Overrides,
}

/// The settings of one team, before conversion to `Team`.
struct TeamSettings {
    name: TeamName,
    plugins: PathBuf,
    approve: Option<Approval>,
    trust: Option<Rule>,
    access: RegistryAccess,
    /// Whether it has credentials for registries that other teams do not have.
    has_own_credentials: bool,
    limits: Limits,
    ceiling: Ceiling,
    provider: BTreeMap<Spanned<String>, Provider>,
    quota: Option<Quota>,
}

impl Conversion<'_> {
    /// Converts all teams. Returns the state folder as well.
    pub(super) fn build_teams(
        &mut self,
        global: &GlobalSettings<'_>,
        plugins: Option<&Spanned<PathBuf>>,
        provider: BTreeMap<Spanned<String>, Provider>,
        raw: BTreeMap<Spanned<String>, file::Team>,
    ) -> (BTreeMap<TeamName, Team>, PathBuf) {
        let settings = if raw.is_empty() {
            vec![self.default_team_settings(global, plugins, provider)]
        } else {
            self.reject_top_level_providers(plugins, &provider);
            self.named_team_settings(global, raw)
        };
        let folders: Vec<_> = settings.iter().map(|team| team.plugins.clone()).collect();
        let state = self.state_dir(global.state_dir.as_ref(), global.overrides, &folders);
        self.own_files.add(OwnFile::State, &state);
        folders
            .iter()
            .for_each(|folder| self.own_files.add(OwnFile::Plugins, folder));
        let teams = settings.into_iter();
        (
            teams
                .map(|team| (team.name.clone(), self.build_team(global, team, &state)))
                .collect(),
            state,
        )
    }

    fn default_team_settings(
        &mut self,
        global: &GlobalSettings<'_>,
        plugins: Option<&Spanned<PathBuf>>,
        provider: BTreeMap<Spanned<String>, Provider>,
    ) -> TeamSettings {
        let name = TeamName::default_team();
        let overrides = global.overrides;
        if let Some(other) = overrides.team.as_ref().filter(|team| **team != name) {
            self.error_for_key(
                "--team",
                format!("there is no team {other}: the configuration has no [team.{other}]"),
            );
        }
        let ceiling = Ceiling {
            bounds: None,
            secrets: global.secrets.clone(),
        };
        let plugins = self.plugins(plugins, overrides.plugins.as_deref(), "plugins");
        TeamSettings {
            name,
            plugins,
            approve: None,
            trust: None,
            access: global.registries.access.clone(),
            has_own_credentials: false,
            limits: global.limits.clone(),
            ceiling,
            provider,
            quota: None,
        }
    }

    /// Rejects a top-level plugins folder and top-level providers in a file with teams.
    fn reject_top_level_providers(
        &mut self,
        plugins: Option<&Spanned<PathBuf>>,
        provider: &BTreeMap<Spanned<String>, Provider>,
    ) {
        if let Some(plugins) = plugins {
            let message = "each team has its own plugins folder: set `plugins` in [team.NAME]";
            self.error(&plugins.span(), message);
        }
        for name in provider.keys() {
            let message = format!(
                "a provider belongs to a team: write [team.NAME.provider.{}]",
                name.get_ref()
            );
            self.error(&name.span(), message);
        }
    }

    fn named_team_settings(
        &mut self,
        global: &GlobalSettings<'_>,
        raw: BTreeMap<Spanned<String>, file::Team>,
    ) -> Vec<TeamSettings> {
        let mut all: Vec<TeamSettings> = Vec::new();
        for (name, raw) in raw {
            match TeamName::parse(name.get_ref()) {
                Ok(team) => {
                    let at = raw.plugins.as_ref().map_or(name.span(), Spanned::span);
                    let settings = self.team_settings(global, team, raw);
                    self.check_folder_overlap(&at, &settings, &all);
                    all.push(settings);
                }
                Err(error) => self.error(&name.span(), error.to_string()),
            }
        }
        let has = |team: &TeamName| all.iter().any(|settings| settings.name == *team);
        match &global.overrides.team {
            Some(team) if !has(team) => {
                self.error_for_key(
                    "--team",
                    format!("there is no team {team}: the configuration has no [team.{team}]"),
                );
            }
            None if global.overrides.plugins.is_some() => {
                let message = "the configuration has teams: specify with `--team NAME` to which one the folder belongs";
                self.error_for_key("--team", message.into());
            }
            _ => {}
        }
        all
    }

    fn team_settings(
        &mut self,
        global: &GlobalSettings<'_>,
        name: TeamName,
        raw: file::Team,
    ) -> TeamSettings {
        let option = global.overrides.plugins.as_deref();
        let option = option.filter(|_| global.overrides.team.as_ref() == Some(&name));
        let quota = quota(&raw.quota);
        self.check_memory(raw.quota.memory.as_ref());
        self.check_memory(raw.limits.memory.as_ref());
        let mut limits = limits(&global.limits, &raw.limits);
        limits.component_size = limits.component_size.min(quota.component);
        TeamSettings {
            plugins: self.plugins(raw.plugins.as_ref(), option, &format!("plugins/{name}")),
            approve: raw.approve,
            has_own_credentials: !raw.credentials.is_empty(),
            access: self.team_access(&global.registries.access, raw.credentials, &global.secrets),
            trust: raw.trust.map(|raw| {
                self.trust_rule(format!("[team.{name}.trust]"), &raw, Some(&global.trust))
            }),
            limits,
            ceiling: self.ceiling(global, raw.ceiling),
            provider: raw.provider,
            quota: Some(quota),
            name,
        }
    }

    /// Requires that the plugins folders of teams do not overlap: no team may put components into another
    /// one's folder.
    fn check_folder_overlap(
        &mut self,
        at: &Range<usize>,
        team: &TeamSettings,
        others: &[TeamSettings],
    ) {
        let path = resolve_existing(&team.plugins);
        for other in others {
            let other_path = resolve_existing(&other.plugins);
            if path.starts_with(&other_path) || other_path.starts_with(&path) {
                let path = team.plugins.display();
                let other = &other.name;
                self.error(
                    at,
                    format!("{path} overlaps with the folder of team {other}: choose another one"),
                );
            }
        }
    }

    fn ceiling(&mut self, global: &GlobalSettings<'_>, raw: file::Ceiling) -> Ceiling {
        let dirs = raw
            .dirs
            .iter()
            .filter_map(|dir| self.ceiling_dir(dir))
            .collect();
        let hosts = raw.hosts.into_iter().map(|host| host.0).collect();
        let tcp = raw.tcp.into_iter().map(|rule| rule.0).collect();
        let secrets = self.select_secrets(&global.secrets, &raw.secrets);
        let env = raw.env.into_iter().collect();
        let tools = raw.tools.0;
        let prompts = raw.prompts;
        let key_value = raw.key_value.0;
        Ceiling {
            bounds: Some(Bounds {
                dirs,
                hosts,
                tcp,
                key_value,
                env,
                tools,
                prompts,
            }),
            secrets,
        }
    }

    fn ceiling_dir(&mut self, raw: &Spanned<crate::config::value::Dir>) -> Option<Dir> {
        let dir = raw.get_ref();
        let host = self.context.folder.join(&dir.host);
        if dir.guest.is_some() {
            self.error(&raw.span(), "`guest` has no effect in a ceiling: remove it");
        }
        if let Err(message) = require_folder(&host) {
            self.error(&raw.span(), message);
            return None;
        }
        let access = match dir.access {
            Access::Read => policy::Access::Read,
            Access::Write => policy::Access::Write,
        };
        Some(Dir {
            host: resolve_existing(&host),
            guest: String::new(),
            access,
            is_canonical: true,
        })
    }

    fn build_team(
        &mut self,
        global: &GlobalSettings<'_>,
        team: TeamSettings,
        state: &Path,
    ) -> Team {
        let grant = Grant {
            limits: team.limits.clone(),
            ..Grant::default()
        };
        let approval_mode = team
            .approve
            .or(global.approve)
            .map_or(ApprovalMode::Ask, ApprovalMode::from);
        let mut components = BTreeMap::new();
        let section = team.quota.as_ref().map(|_| &team.name);
        let provider = team.provider.into_iter();
        let terms = provider.filter_map(|(name, raw)| {
            let plugins = team.plugins.as_path();
            components.extend(self.registry_component(
                &name,
                plugins,
                &raw,
                &global.registries,
                section,
            ));
            let (name, mut terms) =
                self.provider(&name, raw, &team.limits, approval_mode, &global.secrets)?;
            if let Some(quota) = &team.quota {
                let limits = &mut Arc::make_mut(&mut terms.grant).limits;
                limits.component_size = limits.component_size.min(quota.component);
            }
            Some((name, terms))
        });
        let providers: BTreeMap<_, _> = terms.collect();
        let registry = self.registry_config(
            &global.registries,
            TeamAccess {
                access: team.access,
                has_own_store: team.has_own_credentials,
            },
            components,
            section,
            &providers,
            state,
        );
        let key = match &global.state_name {
            Some(name) => StateKey::named(name, &team.name),
            None => StateKey::of_folder(&team.plugins),
        };
        let reconcile = reconcile::Config {
            providers,
            default: ProviderConfig {
                grant: Arc::new(grant),
                priority: 0,
                approval_mode,
            },
            ceiling: Arc::new(team.ceiling),
            scan_interval: global.scan_interval,
            missing_source_grace: global.missing_source_grace,
            own_files: Arc::new(self.own_files.clone()),
            parse_grant_request: crate::config::grant_request::parse,
            requires_settings: true,
            relative_to: team.plugins.clone(),
            approvals: Approvals::new(state, &key),
            trust: verifier(&global.trust, team.trust),
            resource_tools: global.resource_tools,
            team: team.name,
        };
        Team {
            plugins: team.plugins,
            reconcile,
            registry,
            quota: team.quota,
        }
    }

    /// Returns the configured teams, or the implied ones. If neither exist, returns the team `default`, which
    /// then is not configured, so that its view is empty.
    pub(super) fn teams_or_implied(
        &mut self,
        raw: Option<&Spanned<Vec<Spanned<String>>>>,
    ) -> Teams {
        let configured = raw.and_then(|raw| self.known_teams(&raw.span(), raw.get_ref()));
        configured
            .or_else(|| self.implied_teams())
            .unwrap_or_else(Teams::default_team)
    }

    /// Returns the team `default` if it exists, or else the only team. `None` if there are several.
    pub(super) fn implied_teams(&self) -> Option<Teams> {
        let mut only = self.team_names.iter().take(2);
        match (only.next(), only.next()) {
            (Some(only), None) => Some(only.clone().into()),
            _ => self
                .team_names
                .get(&TeamName::default_team())
                .cloned()
                .map(Teams::from),
        }
    }

    /// Sets the order of teams that overrides those of all callers.
    pub(super) fn set_team_order(&mut self, raw: Option<&Spanned<Vec<Spanned<String>>>>) {
        let Some(raw) = raw else { return };
        let teams: Option<Vec<_>> = raw
            .get_ref()
            .iter()
            .map(|name| self.known_team(name))
            .collect();
        self.team_order = teams.and_then(Teams::of);
    }

    pub(super) fn known_teams(
        &mut self,
        at: &Range<usize>,
        raw: &[Spanned<String>],
    ) -> Option<Teams> {
        let teams: Option<Vec<_>> = raw.iter().map(|name| self.known_team(name)).collect();
        let Some(teams) = Teams::of(teams?) else {
            self.error(at, "is empty: a caller without a team has no access");
            return None;
        };
        match &self.team_order {
            Some(order) => Some(teams.ordered_by(order)),
            None => Some(teams),
        }
    }

    pub(super) fn known_team(&mut self, raw: &Spanned<String>) -> Option<TeamName> {
        let team = self.parse_value(raw, TeamName::parse)?;
        if !self.team_names.contains(&team) {
            let message =
                format!("there is no team `{team}`: the configuration has no [team.{team}]");
            self.error(&raw.span(), message);
            return None;
        }
        Some(team)
    }
}

fn quota(raw: &file::Quota) -> Quota {
    let default = Quota::default();
    let size = |raw: Option<crate::config::value::ByteSize<u64>>, default| {
        raw.map_or(default, |size| size.0)
    };
    Quota {
        memory: size(
            raw.memory.as_ref().map(|size| *size.get_ref()),
            default.memory,
        ),
        cpu: raw.cpu.map_or(default.cpu, |time| time.0),
        calls: count(raw.calls, default.calls),
        requests: count(raw.requests, default.requests),
        bytes: size(raw.bytes, default.bytes),
        providers: count(raw.providers, default.providers),
        component: size(raw.component, default.component),
        watchers: count(raw.watchers, default.watchers),
        connections: count(raw.connections, default.connections),
    }
}
