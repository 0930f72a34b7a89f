//! Converts `[provider.NAME]`: the grant of one provider.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toml::Spanned;

use super::secret::ConfiguredSecrets;
use super::{Conversion, count, require_folder, setting_texts};
use crate::file::{self, Provider};
use crate::value::{self, ByteSize, Host, HumanDuration};
use larder_core::reconcile::ProviderConfig;
use larder_model::name::ProviderName;
use larder_model::policy::{
    ApprovalMode, Dir, Grant, GuestLifetime, HostRule, KeyValueLimits, Limits,
};
use larder_model::tool::ToolName;

/// Returns the configured limits. `default` has the values that are not set.
pub(super) fn limits(default: &Limits, raw: &file::Limits) -> Limits {
    let memory = raw.memory.as_ref().map(|size| *size.get_ref());
    Limits {
        memory: size(memory, default.memory),
        table_elements: number(raw.table_elements, default.table_elements),
        instances: count(raw.instances, default.instances),
        cpu_time: time(raw.cpu_time, default.cpu_time),
        timeout: time(raw.timeout, default.timeout),
        concurrency: count(raw.concurrency, default.concurrency),
        queue_timeout: time(raw.queue_timeout, default.queue_timeout),
        queue_length: raw.queue_length.unwrap_or(default.queue_length),
        result: size(raw.result, default.result),
        page_entries: count(raw.page_entries, default.page_entries),
        catalog_entries: count(raw.catalog_entries, default.catalog_entries),
        log: raw.log.map_or(default.log, |size| size.0),
        notifications: count(raw.notifications, default.notifications),
        component_size: size(raw.component_size, default.component_size),
        http_body: size(raw.http_body, default.http_body),
        connections: count(raw.connections, default.connections),
        tcp_bytes: size(raw.tcp_bytes, default.tcp_bytes),
        key_value: key_value_limits(&default.key_value, raw),
    }
}

fn key_value_limits(default: &KeyValueLimits, raw: &file::Limits) -> KeyValueLimits {
    KeyValueLimits {
        bytes: size(raw.key_value_size, default.bytes),
        bucket_bytes: size(raw.key_value_bucket_size, default.bucket_bytes),
        bucket_keys: number(raw.key_value_bucket_keys, default.bucket_keys),
        callers: number(raw.key_value_callers, default.callers),
        expiry: time(raw.key_value_expiry, default.expiry),
    }
}

pub(super) fn size(raw: Option<ByteSize<u64>>, default: u64) -> u64 {
    raw.map_or(default, |size| size.0)
}

fn time(raw: Option<HumanDuration>, default: Duration) -> Duration {
    raw.map_or(default, |time| time.0)
}

fn number(raw: Option<NonZeroU32>, default: u64) -> u64 {
    raw.map_or(default, |number| number.get().into())
}

fn guest_lifetime(raw: Option<file::Guests>) -> GuestLifetime {
    match raw {
        None | Some(file::Guests::Fresh) => GuestLifetime::Fresh,
        Some(file::Guests::Reuse) => GuestLifetime::Reused,
    }
}

impl Conversion<'_> {
    pub(super) fn provider(
        &mut self,
        name: &Spanned<String>,
        raw: Provider,
        defaults: &Limits,
        approval_mode: ApprovalMode,
        secrets: &ConfiguredSecrets,
    ) -> Option<(ProviderName, ProviderConfig)> {
        self.check_memory(raw.limits.memory.as_ref());
        let approval_mode = raw.approve.map_or(approval_mode, ApprovalMode::from);
        let priority = raw.priority.unwrap_or(0);
        let grant = Arc::new(self.grant(raw, defaults, secrets));
        let name = self.parse_value(name, ProviderName::parse)?;
        let config = ProviderConfig {
            grant,
            priority,
            approval_mode,
        };
        Some((name, config))
    }

    fn grant(&mut self, raw: Provider, defaults: &Limits, secrets: &ConfiguredSecrets) -> Grant {
        let grant = Grant {
            limits: limits(defaults, &raw.limits),
            settings: setting_texts(raw.settings),
            secrets: self.secrets_for_settings(secrets, &raw.secrets),
            env: self.variables(raw.env),
            dirs: self.dirs(&raw.dirs),
            hosts: self.hosts(raw.hosts, secrets),
            tcp: raw.tcp.into_iter().map(|rule| rule.0).collect(),
            raw_values: raw.raw_values.unwrap_or(false),
            guests: guest_lifetime(raw.guests),
            key_value: raw.key_value.0,
            tools: raw.tools.0,
            prompts: raw.prompts,
            skills: raw.skills,
            apps: raw.apps.0,
            functions: value::function_settings(raw.functions, raw.resources),
            name_prefix: self.name_prefix(raw.prefix),
            index: raw.index,
        };
        self.reject_secrets_with_names_of_settings(&raw.secrets, &grant);
        grant
    }

    fn hosts(&mut self, raw: Vec<Spanned<Host>>, secrets: &ConfiguredSecrets) -> Vec<HostRule> {
        for host in &raw {
            self.check_auth(host, secrets);
        }
        raw.into_iter().map(|host| host.into_inner().0).collect()
    }

    fn reject_secrets_with_names_of_settings(
        &mut self,
        secrets: &[Spanned<String>],
        grant: &Grant,
    ) {
        for secret in secrets {
            let name = secret.get_ref();
            if grant.settings.contains_key(name) {
                let message = format!("`{name}` is also a setting: remove one of the two");
                self.error(&secret.span(), message);
            }
        }
    }

    /// Checks the prefix of the names of tools and prompts.
    fn name_prefix(&mut self, raw: Option<Spanned<String>>) -> String {
        let Some(prefix) = raw else {
            return String::new();
        };
        // The prefix is checked together with a name of one letter.
        if ToolName::parse(&format!("{}x", prefix.get_ref())).is_err() {
            let message =
                "is no valid prefix: use letters, digits, `_` and `-`, fewer than 64 in total";
            self.error(&prefix.span(), format!("`{}` {message}", prefix.get_ref()));
        }
        prefix.into_inner()
    }

    fn variables(&mut self, raw: file::Env) -> BTreeMap<String, String> {
        let mut set: BTreeMap<_, _> = raw
            .set
            .into_iter()
            .map(|(name, value)| (name, value.0))
            .collect();
        for name in raw.inherited {
            match self.env.get(name.get_ref()) {
                Some(value) => {
                    set.insert(name.into_inner(), value.clone());
                }
                None => {
                    let message = format!(
                        "the environment variable {name} is not set; set it, or remove the name"
                    );
                    self.error(&name.span(), message);
                }
            }
        }
        set
    }

    pub(super) fn dirs(&mut self, raw: &[Spanned<value::Dir>]) -> Vec<Dir> {
        let mut dirs: Vec<Dir> = Vec::with_capacity(raw.len());
        for item in raw {
            let at = item.span();
            let dir = self.dir(item.get_ref());
            self.check_host_folder(&at, &dir);
            self.check_guest_path(&at, &dir.guest, &dirs);
            dirs.push(dir);
        }
        dirs
    }

    fn check_host_folder(&mut self, at: &Range<usize>, dir: &Dir) {
        if let Err(message) = require_folder(&dir.host) {
            self.error(at, message);
        } else if let Err(error) = std::fs::read_dir(&dir.host) {
            let message = format!(
                "the names in {} cannot be read: {error}",
                dir.host.display()
            );
            self.warn(at, message);
        }
        match self.own_files.conflict(dir) {
            Some(conflict) if conflict.is_refused => self.error(at, conflict.to_string()),
            Some(conflict) => self.warn(at, conflict.to_string()),
            None => {}
        }
    }

    fn check_guest_path(&mut self, at: &Range<usize>, path: &str, others: &[Dir]) {
        if !is_guest_path(path) {
            let message =
                "is not a valid guest path: write an absolute path without `..`, such as \"/docs\"";
            self.error(at, format!("`{path}` {message}"));
        }
        if others.iter().any(|other| other.guest == path) {
            let message =
                "is the guest path of two folders: set a different `guest` for one of them";
            self.error(at, format!("`{path}` {message}"));
        }
    }

    /// Converts one folder. Its default guest path is the name of the folder, such as `/docs`.
    fn dir(&self, raw: &value::Dir) -> Dir {
        let host = self.context.folder.join(&raw.host);
        let guest = raw.guest.clone();
        Dir {
            guest: guest.unwrap_or_else(|| default_guest_path(&host)),
            host,
            access: raw.access.into(),
            is_canonical: false,
        }
    }
}

fn default_guest_path(host: &Path) -> String {
    let host = host.canonicalize().unwrap_or_default();
    let name = host.file_name().unwrap_or_default();
    format!("/{}", name.to_string_lossy())
}

fn is_guest_path(path: &str) -> bool {
    path.starts_with('/')
        && !path.contains('\0')
        && path.split('/').all(|part| !matches!(part, "." | ".."))
}
