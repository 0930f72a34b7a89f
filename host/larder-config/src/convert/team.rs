//! Converts teams. Each team has its own plugins folder, grants and limits. A file without `[team.*]` describes one
//! team, `default`.

use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;

use super::component::NamedComponents;
use super::provider::{limits, size};
use super::registries::{RegistrySettings, TeamAccess};
use super::secret::ConfiguredSecrets;
use super::trust::{Rule, verifier};
use super::{Conversion, count, name_case};
use crate::file::{self, File, Provider};
use crate::value::Approval;
use crate::{Overrides, Team};
use larder_core::reconcile::{self, Approvals, ProviderConfig};
use larder_model::name::{ProviderName, StateName, TeamName, Teams};
use larder_model::policy::{
    ApprovalMode, Ceiling, Grant, Limits, OwnFile, Quota, resolve_existing,
};
use larder_model::state_key::StateKey;

/// A list of teams in the file.
type TeamNames = Spanned<Vec<Spanned<String>>>;

/// Top-level settings that apply to all teams.
pub(super) struct GlobalSettings<'a> {
    pub(super) limits: Limits,
    pub(super) approve: Option<Approval>,
    pub(super) trust: Rule,
    pub(super) secrets: ConfiguredSecrets,
    pub(super) registries: RegistrySettings,
    pub(super) state_dir: Option<Spanned<PathBuf>>,
    pub(super) state_name: Option<StateName>,
    pub(super) scan_interval: std::time::Duration,
    pub(super) missing_source_grace: std::time::Duration,
    pub(super) resource_tools: bool,
    pub(super) overrides: &'a Overrides,
}

impl GlobalSettings<'_> {
    /// Returns the value of `--plugins` if it is for this team.
    fn plugins_option(&self, team: &TeamName) -> Option<&Path> {
        let plugins = self.overrides.plugins.as_deref()?;
        (self.overrides.team.as_ref() == Some(team)).then_some(plugins)
    }

    /// Returns the access without credentials of a team.
    fn shared_access(&self) -> TeamAccess {
        TeamAccess {
            access: self.registries.access.clone(),
            has_own_store: false,
        }
    }

    /// Returns the ceiling of a team without a section.
    fn ceiling(&self) -> Ceiling {
        Ceiling {
            bounds: None,
            secrets: self.secrets.for_settings(),
            credentials: self.secrets.hosts.clone(),
        }
    }
}

/// The settings of one team, before conversion to `Team`.
pub(super) struct TeamSettings {
    name: TeamName,
    plugins: PathBuf,
    approve: Option<Approval>,
    trust: Option<Rule>,
    access: TeamAccess,
    limits: Limits,
    ceiling: Ceiling,
    provider: BTreeMap<Spanned<String>, Provider>,
    quota: Option<Quota>,
}

impl Conversion<'_> {
    /// Takes the settings of all teams out of the file.
    pub(super) fn all_team_settings(
        &mut self,
        global: &GlobalSettings<'_>,
        file: &mut File,
    ) -> Vec<TeamSettings> {
        let provider = mem::take(&mut file.provider);
        let raw = mem::take(&mut file.team);
        let plugins = file.plugins.as_ref();
        if raw.is_empty() {
            return vec![self.default_team_settings(global, plugins, provider)];
        }
        self.reject_top_level_providers(plugins, &provider);
        self.named_team_settings(global, raw)
    }

    /// Returns the state folder. Guests may have neither it nor the plugins folders of these teams.
    pub(super) fn team_state_dir(
        &mut self,
        global: &GlobalSettings<'_>,
        teams: &[TeamSettings],
    ) -> PathBuf {
        let folders: Vec<_> = teams.iter().map(|team| team.plugins.clone()).collect();
        let state = self.state_dir(global.state_dir.as_ref(), global.overrides, &folders);
        self.own_files.add(OwnFile::State, &state);
        for folder in &folders {
            self.own_files.add(OwnFile::Plugins, folder);
        }
        state
    }

    pub(super) fn build_teams(
        &mut self,
        global: &GlobalSettings<'_>,
        settings: Vec<TeamSettings>,
        state: &Path,
    ) -> BTreeMap<TeamName, Team> {
        let teams = settings.into_iter();
        let teams: BTreeMap<_, _> = teams
            .map(|team| (team.name.clone(), self.build_team(global, team, state)))
            .collect();
        self.team_names = teams.keys().cloned().collect();
        teams
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
            self.reject_team_option(other);
        }
        let plugins = self.plugins(plugins, overrides.plugins.as_deref(), "plugins");
        TeamSettings {
            name,
            plugins,
            approve: None,
            trust: None,
            access: global.shared_access(),
            limits: global.limits.clone(),
            ceiling: global.ceiling(),
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
        self.reject_names_in_another_case(raw.keys());
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
        self.check_team_option(global.overrides, &all);
        all
    }

    /// Checks `--team`, and that `--plugins` is for one team.
    fn check_team_option(&mut self, overrides: &Overrides, teams: &[TeamSettings]) {
        let exists = |name: &TeamName| teams.iter().any(|team| team.name == *name);
        match &overrides.team {
            Some(team) if !exists(team) => self.reject_team_option(team),
            None if overrides.plugins.is_some() => {
                let message = "the configuration has teams: specify with `--team NAME` to which one the folder belongs";
                self.error_for_key("--team", message.into());
            }
            _ => {}
        }
    }

    fn reject_team_option(&mut self, team: &TeamName) {
        let message = format!("there is no team {team}: the configuration has no [team.{team}]");
        self.error_for_key("--team", message);
    }

    fn team_settings(
        &mut self,
        global: &GlobalSettings<'_>,
        name: TeamName,
        raw: file::Team,
    ) -> TeamSettings {
        let option = global.plugins_option(&name);
        let quota = quota(&raw.quota);
        self.check_memory(raw.quota.memory.as_ref());
        self.check_memory(raw.limits.memory.as_ref());
        let mut limits = limits(&global.limits, &raw.limits);
        limits.component_size = limits.component_size.min(quota.component);
        TeamSettings {
            plugins: self.plugins(raw.plugins.as_ref(), option, &format!("plugins/{name}")),
            approve: raw.approve,
            access: TeamAccess {
                has_own_store: !raw.credentials.is_empty(),
                access: self.team_access(
                    &global.registries.access,
                    raw.credentials,
                    &global.secrets.values,
                ),
            },
            trust: raw.trust.map(|raw| {
                self.trust_rule(format!("[team.{name}.trust]"), &raw, Some(&global.trust))
            }),
            limits,
            ceiling: self.ceiling(&global.secrets, raw.ceiling),
            provider: raw.provider,
            quota: Some(quota),
            name,
        }
    }

    /// Requires that the plugins folders of teams do not overlap: no team may put components into the folder of another
    /// team.
    fn check_folder_overlap(
        &mut self,
        at: &Range<usize>,
        team: &TeamSettings,
        others: &[TeamSettings],
    ) {
        let path = resolve_existing(&team.plugins);
        for other in others {
            let other_path = resolve_existing(&other.plugins);
            if name_case::overlap(&path, &other_path) {
                let path = team.plugins.display();
                let other = &other.name;
                self.error(
                    at,
                    format!("{path} overlaps with the folder of team {other}: choose another one"),
                );
            }
        }
    }

    fn build_team(
        &mut self,
        global: &GlobalSettings<'_>,
        mut team: TeamSettings,
        state: &Path,
    ) -> Team {
        let approval_mode = team.approval_mode(global);
        let section = team.section().cloned();
        let settings = &global.registries;
        self.reject_names_in_another_case(team.provider.keys());
        let mut providers = BTreeMap::new();
        let mut components = NamedComponents::default();
        for (name, raw) in mem::take(&mut team.provider) {
            let plugins = &team.plugins;
            self.add_component(
                &mut components,
                &name,
                &raw,
                plugins,
                settings,
                section.as_ref(),
            );
            let secrets = &global.secrets;
            providers.extend(self.provider_of_team(&name, raw, &team, approval_mode, secrets));
        }
        let default = team.default_provider(approval_mode);
        let approvals = Approvals::new(state, team.state_key(global));
        let access = team.access;
        let credentials = global.secrets.credentials(&team.ceiling.credentials);
        let registry = self.registry_config(
            settings,
            access,
            components.registry,
            section,
            &providers,
            state,
        );
        let reconcile = reconcile::Config {
            providers,
            default,
            ceiling: Arc::new(team.ceiling),
            scan_interval: global.scan_interval,
            missing_source_grace: global.missing_source_grace,
            own_files: Arc::new(self.own_files.clone()),
            parse_grant_request: super::grant_request_file::parse,
            requires_settings: true,
            relative_to: team.plugins.clone(),
            approvals,
            trust: verifier(&global.trust, team.trust),
            resource_tools: global.resource_tools,
            team: team.name,
        };
        Team {
            plugins: team.plugins,
            builtin: components.builtin,
            reconcile,
            credentials,
            registry,
            quota: team.quota,
        }
    }

    /// Converts a provider. Its component may not be larger than the quota of the team permits.
    fn provider_of_team(
        &mut self,
        name: &Spanned<String>,
        raw: Provider,
        team: &TeamSettings,
        approval_mode: ApprovalMode,
        secrets: &ConfiguredSecrets,
    ) -> Option<(ProviderName, ProviderConfig)> {
        let (name, mut config) = self.provider(name, raw, &team.limits, approval_mode, secrets)?;
        if let Some(quota) = &team.quota {
            let limits = &mut Arc::make_mut(&mut config.grant).limits;
            limits.component_size = limits.component_size.min(quota.component);
        }
        Some((name, config))
    }

    /// Returns the teams of clients on stdio and in this process.
    pub(super) fn local_teams(&mut self, raw: Option<&TeamNames>, overrides: &Overrides) -> Teams {
        let configured = self.teams_or_implied(raw);
        match &overrides.team {
            Some(team) if self.team_names.contains(team) => team.clone().into(),
            _ => configured,
        }
    }

    /// Returns the configured teams, or the implied ones. If there are neither, returns the team `default`. This team
    /// is not configured then, so its view is empty.
    pub(super) fn teams_or_implied(&mut self, raw: Option<&TeamNames>) -> Teams {
        let teams = raw.and_then(|raw| self.known_teams(raw));
        teams
            .or_else(|| self.implied_teams())
            .unwrap_or_else(Teams::default_team)
    }

    /// Returns the team `default` if it exists, otherwise the only team. `None` if there are several teams.
    pub(super) fn implied_teams(&self) -> Option<Teams> {
        let names = &self.team_names;
        let team = match names.len() {
            1 => names.first(),
            _ => names.get(&TeamName::default_team()),
        };
        team.cloned().map(Teams::from)
    }

    /// Sets the order of teams, which overrides the order of each caller.
    pub(super) fn set_team_order(&mut self, raw: Option<&TeamNames>) {
        if let Some(raw) = raw {
            self.team_order = self.known_names(raw).and_then(Teams::of);
        }
    }

    pub(super) fn known_teams(&mut self, raw: &TeamNames) -> Option<Teams> {
        let Some(teams) = Teams::of(self.known_names(raw)?) else {
            let message = "is empty: a caller without a team has no access";
            self.error(&raw.span(), message);
            return None;
        };
        Some(self.in_team_order(teams))
    }

    fn known_names(&mut self, raw: &TeamNames) -> Option<Vec<TeamName>> {
        let names = raw.get_ref().iter();
        names.map(|name| self.known_team(name)).collect()
    }

    fn in_team_order(&self, teams: Teams) -> Teams {
        match &self.team_order {
            Some(order) => teams.ordered_by(order),
            None => teams,
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

impl TeamSettings {
    /// Returns the name of its section. `None` if the file has no `[team.*]`.
    fn section(&self) -> Option<&TeamName> {
        self.quota.as_ref().map(|_| &self.name)
    }

    /// Returns the configuration of providers without a section.
    fn default_provider(&self, approval_mode: ApprovalMode) -> ProviderConfig {
        let grant = Grant {
            limits: self.limits.clone(),
            ..Grant::default()
        };
        ProviderConfig {
            grant: Arc::new(grant),
            priority: 0,
            approval_mode,
        }
    }

    fn approval_mode(&self, global: &GlobalSettings<'_>) -> ApprovalMode {
        self.approve
            .or(global.approve)
            .map_or(ApprovalMode::Ask, ApprovalMode::from)
    }

    fn state_key(&self, global: &GlobalSettings<'_>) -> StateKey {
        match &global.state_name {
            Some(name) => StateKey::named(name, &self.name),
            None => StateKey::of_folder(&self.plugins),
        }
    }
}

fn quota(raw: &file::Quota) -> Quota {
    let default = Quota::default();
    let memory = raw.memory.as_ref().map(|size| *size.get_ref());
    Quota {
        memory: size(memory, default.memory),
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
