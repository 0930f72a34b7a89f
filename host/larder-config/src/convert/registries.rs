//! Converts `[registries]`, and the components that providers name by reference.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Spanned;

use super::{Conversion, count, time};
use crate::Overrides;
use crate::file::{PermittedRegistry, Provider, Registries, RegistryCredentials, Update};
use crate::value::ComponentReference;
use larder_core::reconcile::ProviderConfig;
use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::{Secret, Secrets};
pub(super) use larder_registry::Access;
use larder_registry::source::{RegistryComponent, RegistryConfig, UpdateMode};
use larder_registry::{Credentials, Error, LOCK_FILE, Limits, LockFile, Reference, Registry};

/// The permitted registries, by their host names.
type PermittedRegistries = BTreeMap<String, Registry>;

/// The maximum size of a file with certificates, in bytes.
const MAX_CA: u64 = 1 << 20;

/// How a team reaches registries.
pub(super) struct TeamAccess {
    pub(super) access: Access,
    /// Whether the components are in a store that other teams do not use.
    pub(super) has_own_store: bool,
}

/// The settings for registries that all teams share.
pub(super) struct RegistrySettings {
    /// The permitted registries, with the credentials of the server.
    pub(super) access: Access,
    /// The configured folder of the store.
    pub(super) store: Option<PathBuf>,
    pub(super) check_interval: Duration,
    pub(super) lock_file: Option<PathBuf>,
    /// Whether exactly the content of the lock file is served.
    pub(super) is_locked: bool,
    /// The lock file, if the server serves exactly its content and the file can be read.
    pub(super) lock: Option<LockFile>,
}

impl RegistrySettings {
    /// Returns the folder of the store: the configured folder, or a folder in the state folder.
    pub(super) fn store_in(&self, state_dir: &Path) -> PathBuf {
        self.store
            .clone()
            .unwrap_or_else(|| state_dir.join("store"))
    }
}

fn limits(raw: &Registries) -> Limits {
    Limits {
        stall: time(raw.stall_timeout, 30),
        pull: time(raw.pull_timeout, 10 * 60),
        concurrent_pulls: count(raw.concurrent_pulls, 4) as usize,
        ..Limits::default()
    }
}

impl Conversion<'_> {
    pub(super) fn registries(
        &mut self,
        raw: Registries,
        secrets: &Secrets,
        overrides: &Overrides,
    ) -> RegistrySettings {
        let context = self.context;
        let folder = &context.folder;
        let lock_file = context.file.as_ref().map(|_| folder.join(LOCK_FILE));
        let lock = overrides.locked.then(|| self.lock(lock_file.as_deref()));
        RegistrySettings {
            store: raw.store.as_ref().map(|store| folder.join(store.get_ref())),
            check_interval: time(raw.check_interval, 10 * 60),
            access: self.server_access(raw, secrets),
            is_locked: overrides.locked,
            lock: lock.flatten(),
            lock_file,
        }
    }

    /// Returns the access that all teams have.
    fn server_access(&mut self, raw: Registries, secrets: &Secrets) -> Access {
        let limits = limits(&raw);
        let registries = self.permitted_registries(raw.permitted, secrets);
        for registry in raw.namespaces.values() {
            self.require_permitted(&registry.span(), registry.get_ref(), &registries);
        }
        let docker_credentials = raw.docker_credentials.unwrap_or(true);
        Access {
            registries,
            namespaces: namespaces(raw.namespaces),
            docker_config: docker_credentials.then(|| self.docker_config()).flatten(),
            limits,
        }
    }

    fn permitted_registries(
        &mut self,
        raw: BTreeMap<Spanned<String>, PermittedRegistry>,
        secrets: &Secrets,
    ) -> PermittedRegistries {
        let mut registries = BTreeMap::new();
        let mut mirrors = Vec::new();
        for (name, raw) in raw {
            mirrors.extend(raw.mirrors.iter().cloned());
            let registry = self.permitted_registry(&name, raw, secrets);
            self.check_registry_name(&name);
            self.check_registry(&name, &registry);
            registries.insert(name.into_inner(), registry);
        }
        for mirror in mirrors {
            self.require_permitted(&mirror.span(), mirror_host(&mirror), &registries);
        }
        registries
    }

    fn permitted_registry(
        &mut self,
        name: &Spanned<String>,
        raw: PermittedRegistry,
        secrets: &Secrets,
    ) -> Registry {
        let credentials = raw.credentials();
        let mirrors = raw.mirrors.into_iter();
        Registry {
            credentials: self.registry_credentials(&name.span(), credentials, secrets),
            plain_http: raw.plain_http,
            ca: raw.ca.and_then(|path| self.certificates(&path)),
            proxy: raw.proxy.map(|proxy| Secret::new(proxy.get_ref())),
            mirrors: mirrors.map(Spanned::into_inner).collect(),
        }
    }

    /// Returns the path of Docker's configuration.
    fn docker_config(&self) -> Option<PathBuf> {
        let folder = self.context.working_dir.join(self.docker_folder()?);
        Some(folder.join("config.json"))
    }

    fn docker_folder(&self) -> Option<PathBuf> {
        self.variable("DOCKER_CONFIG")
            .map(PathBuf::from)
            .or_else(|| Some(Path::new(self.variable("HOME")?).join(".docker")))
    }

    /// Returns the access of a team: the access of the server, with the team's own credentials.
    pub(super) fn team_access(
        &mut self,
        access: &Access,
        raw: BTreeMap<Spanned<String>, RegistryCredentials>,
        secrets: &Secrets,
    ) -> Access {
        let mut access = access.clone();
        for (name, raw) in raw {
            let at = name.span();
            self.require_permitted(&at, name.get_ref(), &access.registries);
            let credentials = self.registry_credentials(&at, raw, secrets);
            if let Some(registry) = access.registries.get_mut(name.get_ref()) {
                registry.credentials = credentials;
            }
        }
        access
    }

    /// Returns the component that a provider takes from a registry.
    pub(super) fn registry_component(
        &mut self,
        provider: &ProviderName,
        raw: &Provider,
        settings: &RegistrySettings,
        team: Option<&TeamName>,
    ) -> Option<RegistryComponent> {
        let component = raw.component.as_ref()?;
        let at = component.span();
        let ComponentReference::Registry(reference) = component.get_ref().clone() else {
            return None;
        };
        self.require_registry(&at, &settings.access, &reference);
        if let Some(lock) = &settings.lock {
            self.require_locked(&at, lock, team, provider, &reference);
        }
        let update = update_mode(raw);
        Some(RegistryComponent { reference, update })
    }

    fn require_registry(&mut self, at: &Range<usize>, access: &Access, reference: &Reference) {
        let registry = match reference {
            Reference::Image(image) => access.registry(&image.registry).map(drop),
            Reference::Package(package) => access.registry_of(package).map(drop),
        };
        self.ok_or_report(at, registry);
    }

    /// Returns the configuration of the components that a team takes from registries.
    pub(super) fn registry_config(
        &self,
        settings: &RegistrySettings,
        team_access: TeamAccess,
        components: BTreeMap<ProviderName, RegistryComponent>,
        team: Option<TeamName>,
        providers: &BTreeMap<ProviderName, ProviderConfig>,
        state_dir: &Path,
    ) -> RegistryConfig {
        let mut access = team_access.access;
        access.limits.component = access.limits.component.max(largest_component(providers));
        let file = self.context.file_path();
        RegistryConfig {
            components,
            access,
            store: settings.store_in(state_dir),
            has_own_store: team_access.has_own_store,
            lock_file: settings.lock_file.clone(),
            is_locked: settings.is_locked,
            check_interval: settings.check_interval,
            server: file.map_or_else(String::new, |file| file.display().to_string()),
            has_teams: team.is_some(),
            team: team.unwrap_or_else(TeamName::default_team).to_string(),
        }
    }

    fn lock(&mut self, path: Option<&Path>) -> Option<LockFile> {
        let lock = path.map_or_else(
            || Err("there is no configuration file, next to which it would be".to_owned()),
            |path| LockFile::read(path).map_err(|error| error.to_string()),
        );
        lock.map_err(|error| self.error_for_key("--locked", error))
            .ok()
    }

    fn require_locked(
        &mut self,
        at: &Range<usize>,
        lock: &LockFile,
        team: Option<&TeamName>,
        provider: &ProviderName,
        reference: &Reference,
    ) {
        let message = match lock.get(team.map(TeamName::as_str), provider.as_str()) {
            Some(locked) if locked.reference == reference.to_string() => return,
            Some(locked) => format!(
                "is {} in the lock file: run `larder lock`",
                locked.reference
            ),
            None => "is not in the lock file: run `larder lock`".to_owned(),
        };
        self.error(at, message);
    }

    /// Returns the credentials. The file contains only the names of their secrets.
    fn registry_credentials(
        &mut self,
        at: &Range<usize>,
        raw: RegistryCredentials,
        secrets: &Secrets,
    ) -> Option<Credentials> {
        match (raw.username, raw.password, raw.token) {
            (None, None, None) => None,
            (Some(username), Some(password), None) => {
                let password = self.named_secret(&password, secrets)?;
                Some(Credentials::Basic { username, password })
            }
            (None, None, Some(token)) => {
                self.named_secret(&token, secrets).map(Credentials::Bearer)
            }
            _ => {
                self.error(at, "write either `username` and `password`, or `token`");
                None
            }
        }
    }

    fn named_secret(&mut self, name: &Spanned<String>, secrets: &Secrets) -> Option<Secret> {
        self.select_secrets(secrets, std::slice::from_ref(name))
            .get(name.get_ref())
            .cloned()
    }

    fn certificates(&mut self, path: &Spanned<PathBuf>) -> Option<String> {
        let file = self.context.folder.join(path.get_ref());
        let text = read_certificates(&file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()));
        self.ok_or_report(&path.span(), text)
    }

    /// Reports settings that the client cannot use.
    fn check_registry(&mut self, name: &Spanned<String>, registry: &Registry) {
        let registries = BTreeMap::from([(name.get_ref().clone(), registry.clone())]);
        if let Err(error) = larder_registry::Client::new(Access {
            registries,
            ..Access::default()
        }) {
            self.error(&name.span(), error.to_string());
        }
    }

    fn check_registry_name(&mut self, name: &Spanned<String>) {
        let text = name.get_ref();
        if !is_registry_name(text) {
            let message = "is not the host name of a registry: write it as in a reference, such as \"registry.example.com\" or \"localhost:5000\"";
            self.error(&name.span(), format!("`{}` {message}", text.escape_debug()));
        }
    }

    fn require_permitted(
        &mut self,
        at: &Range<usize>,
        host: &str,
        permitted: &PermittedRegistries,
    ) {
        if !permitted.contains_key(host) {
            self.error(at, Error::NotPermitted(host.to_owned()).to_string());
        }
    }
}

fn namespaces(raw: BTreeMap<String, Spanned<String>>) -> BTreeMap<String, String> {
    raw.into_iter()
        .map(|(namespace, registry)| (namespace, registry.into_inner()))
        .collect()
}

fn mirror_host(mirror: &Spanned<String>) -> &str {
    mirror.get_ref().split('/').next().unwrap_or_default()
}

fn update_mode(raw: &Provider) -> UpdateMode {
    match raw.update.as_ref().map(Spanned::get_ref) {
        Some(Update::Auto) => UpdateMode::Auto,
        None | Some(Update::Ask) => UpdateMode::Ask,
    }
}

/// Returns the maximum size of all components, in bytes.
fn largest_component(providers: &BTreeMap<ProviderName, ProviderConfig>) -> u64 {
    let providers = providers.values();
    let sizes = providers.map(|provider| provider.grant.limits.component_size);
    sizes.max().unwrap_or_default()
}

fn read_certificates(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let file = std::fs::File::open(path)?;
    file.take(MAX_CA).read_to_string(&mut text)?;
    Ok(text)
}

fn is_registry_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    !text.is_empty() && text.chars().all(fits)
}
