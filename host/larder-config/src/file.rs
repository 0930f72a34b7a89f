//! The structure of `larder.toml`: all keys are optional, unknown keys are rejected, and there are no defaults. Values
//! that `convert` checks have their span (`Spanned`), for error messages.

#[cfg(feature = "cluster")]
mod cluster;
#[cfg(feature = "registry")]
mod registries;
#[cfg(feature = "registry")]
mod trust;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::LogFormat;
use super::value::{
    AdminAddress, Approval, Apps, ByteSize, ComponentReference, Dir, DurationOrNever, Extension,
    Functions, Host, HumanDuration, KeyValue, Listen, Origin, PageSize, Proxy, Resources, Scalar,
    SecretHost, ServerName, ServerUrl, SettingValue, SocketMode, Tcp, Timestamp, TokenDigest,
    Tools,
};

#[cfg(feature = "cluster")]
pub(super) use self::cluster::{Cluster, NatsServers};
#[cfg(feature = "registry")]
pub(super) use self::registries::{PermittedRegistry, Registries, RegistryCredentials, Update};
#[cfg(feature = "registry")]
pub(super) use self::trust::{Identity, Trust};
#[cfg(not(feature = "registry"))]
pub(super) use super::without_registry::{Registries, RegistryCredentials, Trust, Update};
/// Without the feature, `features` refuses this key.
#[cfg(not(feature = "cluster"))]
pub(super) type Cluster = serde::de::IgnoredAny;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    pub(super) plugins: Option<Spanned<PathBuf>>,
    pub(super) state_dir: Option<Spanned<PathBuf>>,
    pub(super) state_name: Option<Spanned<String>>,
    pub(super) approve: Option<Approval>,
    pub(super) trust: Trust,
    pub(super) registries: Registries,
    pub(super) server: Server,
    pub(super) auth: Auth,
    pub(super) admin: Admin,
    pub(super) audit: Audit,
    pub(super) telemetry: Telemetry,
    pub(super) cluster: Cluster,
    pub(super) cache: Cache,
    pub(super) search: Search,
    pub(super) watch: Watch,
    pub(super) limits: Limits,
    pub(super) compiler: Compiler,
    pub(super) provider: BTreeMap<Spanned<String>, Provider>,
    pub(super) team: BTreeMap<Spanned<String>, Team>,
    pub(super) secret: BTreeMap<Spanned<String>, Secret>,
    pub(super) stdio: Stdio,
    pub(super) client: Client,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Team {
    pub(super) plugins: Option<Spanned<PathBuf>>,
    pub(super) approve: Option<Approval>,
    pub(super) trust: Option<Trust>,
    pub(super) credentials: BTreeMap<Spanned<String>, RegistryCredentials>,
    pub(super) ceiling: Ceiling,
    pub(super) limits: Limits,
    pub(super) quota: Quota,
    pub(super) provider: BTreeMap<Spanned<String>, Provider>,
}

/// The maximum that the providers of a team can be granted.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Ceiling {
    pub(super) dirs: Vec<Spanned<Dir>>,
    pub(super) hosts: Vec<Spanned<Host>>,
    pub(super) tcp: Vec<Tcp>,
    pub(super) env: Vec<String>,
    pub(super) secrets: Vec<Spanned<String>>,
    pub(super) key_value: KeyValue,
    pub(super) tools: Tools,
    pub(super) prompts: bool,
    pub(super) skills: bool,
    pub(super) apps: Apps,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Quota {
    pub(super) memory: Option<Spanned<ByteSize<u64>>>,
    pub(super) cpu: Option<HumanDuration>,
    pub(super) calls: Option<NonZeroU32>,
    pub(super) requests: Option<NonZeroU32>,
    pub(super) bytes: Option<ByteSize<u64>>,
    pub(super) providers: Option<NonZeroU32>,
    pub(super) component: Option<ByteSize<u64>>,
    pub(super) watchers: Option<NonZeroU32>,
    pub(super) connections: Option<NonZeroU32>,
}

/// The source of a secret: an environment variable of the server, or a file. With `hosts`, only the host sends it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Secret {
    pub(super) env: Option<Spanned<String>>,
    pub(super) file: Option<Spanned<PathBuf>>,
    pub(super) hosts: Option<Vec<SecretHost>>,
}

/// The caller of stdio clients.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Stdio {
    pub(super) subject: Option<String>,
    pub(super) teams: Option<Spanned<Vec<Spanned<String>>>>,
}

/// Where client commands connect to.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Client {
    pub(super) url: Option<ServerUrl>,
    pub(super) admin: Option<ServerUrl>,
    pub(super) token_file: Option<PathBuf>,
    pub(super) admin_token_file: Option<PathBuf>,
    pub(super) ca_file: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Watch {
    pub(super) scan_interval: Option<HumanDuration>,
    pub(super) missing_folder_grace: Option<DurationOrNever>,
    pub(super) version_interval: Option<HumanDuration>,
    pub(super) read_interval: Option<DurationOrNever>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Server {
    pub(super) listen: Option<Spanned<Listen>>,
    pub(super) socket_mode: Option<SocketMode>,
    pub(super) unauthenticated: Option<Spanned<bool>>,
    pub(super) teams: Option<Spanned<Vec<Spanned<String>>>>,
    pub(super) team_order: Option<Spanned<Vec<Spanned<String>>>>,
    pub(super) hosts: Option<Vec<ServerName>>,
    pub(super) origins: Option<Vec<Origin>>,
    pub(super) title: Option<String>,
    pub(super) instructions: Option<String>,
    pub(super) page_size: PageSize,
    pub(super) resource_tools: Option<bool>,
    pub(super) extensions: Vec<Extension>,
    pub(super) body_limit: Option<ByteSize<usize>>,
    pub(super) sessions: Option<NonZeroU32>,
    pub(super) session_idle_timeout: Option<HumanDuration>,
    pub(super) streams: Option<NonZeroU32>,
    pub(super) connections: Option<Spanned<NonZeroU32>>,
    pub(super) watched_uris: Option<NonZeroU32>,
    pub(super) guests: Option<NonZeroU32>,
    pub(super) memory: Option<Spanned<ByteSize<u64>>>,
    pub(super) waiting_bytes: Option<ByteSize<usize>>,
    pub(super) keep_alive: Option<HumanDuration>,
    pub(super) shutdown_grace: Option<HumanDuration>,
    pub(super) ready_timeout: Option<DurationOrNever>,
    pub(super) trusted_proxies: Vec<Proxy>,
    pub(super) log: Log,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Auth {
    pub(super) tokens: Vec<Token>,
    pub(super) oauth: Option<Oauth>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Token {
    pub(super) name: Spanned<String>,
    pub(super) digest: Spanned<String>,
    pub(super) teams: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    pub(super) scopes: Vec<Spanned<String>>,
    pub(super) expires: Option<Spanned<Timestamp>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Oauth {
    pub(super) issuer: Spanned<String>,
    pub(super) audience: Spanned<String>,
    pub(super) jwks: Option<Spanned<String>>,
    pub(super) algorithms: Option<Spanned<Vec<Spanned<String>>>>,
    pub(super) team_claim: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) teams: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    pub(super) scopes: Vec<Spanned<String>>,
    pub(super) leeway: Option<Spanned<HumanDuration>>,
    pub(super) refresh: Option<Spanned<HumanDuration>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Admin {
    pub(super) listen: Option<Spanned<AdminAddress>>,
    pub(super) socket_mode: Option<SocketMode>,
    pub(super) hosts: Option<Vec<ServerName>>,
    pub(super) token: Option<TokenDigest>,
    pub(super) scope: Option<Spanned<String>>,
    pub(super) unauthenticated: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Audit {
    pub(super) file: Option<Spanned<PathBuf>>,
    pub(super) on_full: Option<OnFull>,
    pub(super) sync: Option<Spanned<bool>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Telemetry {
    pub(super) otlp: Option<Spanned<String>>,
    pub(super) headers: BTreeMap<Spanned<String>, Spanned<String>>,
    pub(super) service: Option<String>,
    pub(super) sample: Option<Spanned<f64>>,
}

/// What happens to reads while the audit log cannot be written.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OnFull {
    Wait,
    Drop,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Log {
    pub(super) filter: Option<Spanned<String>>,
    pub(super) format: Option<LogFormat>,
    pub(super) requests: Option<Requests>,
    pub(super) bytes_per_second: Option<ByteSize<u64>>,
}

/// Which requests are logged.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Requests {
    Off,
    Errors,
    All,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Cache {
    pub(super) bytes: Option<ByteSize<usize>>,
    pub(super) entries: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Search {
    pub(super) max_bytes: Option<ByteSize<u64>>,
    pub(super) timeout: Option<HumanDuration>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Limits {
    pub(super) memory: Option<Spanned<ByteSize<u64>>>,
    pub(super) table_elements: Option<NonZeroU32>,
    pub(super) instances: Option<NonZeroU32>,
    pub(super) cpu_time: Option<HumanDuration>,
    pub(super) timeout: Option<HumanDuration>,
    pub(super) concurrency: Option<NonZeroU32>,
    pub(super) queue_timeout: Option<HumanDuration>,
    pub(super) queue_length: Option<u32>,
    pub(super) result: Option<ByteSize<u64>>,
    pub(super) page_entries: Option<NonZeroU32>,
    pub(super) catalog_entries: Option<NonZeroU32>,
    pub(super) log: Option<ByteSize<u32>>,
    pub(super) notifications: Option<NonZeroU32>,
    pub(super) component_size: Option<ByteSize<u64>>,
    pub(super) http_body: Option<ByteSize<u64>>,
    pub(super) connections: Option<NonZeroU32>,
    pub(super) tcp_bytes: Option<ByteSize<u64>>,
    pub(super) key_value_size: Option<ByteSize<u64>>,
    pub(super) key_value_bucket_size: Option<ByteSize<u64>>,
    pub(super) key_value_bucket_keys: Option<NonZeroU32>,
    pub(super) key_value_callers: Option<NonZeroU32>,
    pub(super) key_value_expiry: Option<HumanDuration>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Provider {
    pub(super) component: Option<Spanned<ComponentReference>>,
    pub(super) update: Option<Spanned<Update>>,
    pub(super) settings: BTreeMap<String, SettingValue>,
    pub(super) env: Env,
    pub(super) dirs: Vec<Spanned<Dir>>,
    pub(super) hosts: Vec<Spanned<Host>>,
    pub(super) tcp: Vec<Tcp>,
    pub(super) secrets: Vec<Spanned<String>>,
    pub(super) priority: Option<i32>,
    pub(super) raw_values: Option<bool>,
    pub(super) guests: Option<Guests>,
    pub(super) key_value: KeyValue,
    pub(super) tools: Tools,
    pub(super) functions: Functions,
    pub(super) resources: Resources,
    pub(super) prompts: bool,
    pub(super) skills: bool,
    pub(super) apps: Apps,
    pub(super) prefix: Option<Spanned<String>>,
    pub(super) index: bool,
    pub(super) approve: Option<Approval>,
    pub(super) limits: Limits,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Guests {
    Fresh,
    Reuse,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Compiler {
    pub(super) memory: Option<ByteSize<u64>>,
    pub(super) cpu_time: Option<HumanDuration>,
    pub(super) timeout: Option<HumanDuration>,
    pub(super) code: Option<ByteSize<u64>>,
    pub(super) cache_dir: Option<PathBuf>,
    pub(super) cache_size: Option<ByteSize<u64>>,
    pub(super) cache_age: Option<HumanDuration>,
}

/// `NAME.toml` next to `NAME.wasm`: the grants that the author of a component requests.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct GrantRequest {
    pub(super) settings: BTreeMap<String, SettingValue>,
    pub(super) env: Vec<Spanned<String>>,
    pub(super) dirs: Vec<Spanned<Dir>>,
    pub(super) hosts: Vec<Host>,
    pub(super) tcp: Vec<Tcp>,
    pub(super) secrets: Vec<String>,
    pub(super) key_value: KeyValue,
    pub(super) tools: Tools,
    pub(super) functions: Functions,
    pub(super) resources: Resources,
    pub(super) prompts: bool,
    pub(super) skills: bool,
    pub(super) apps: Apps,
}

/// Environment variables of a guest: names that are inherited from the server, or names with values.
#[derive(Debug, Default)]
pub(super) struct Env {
    pub(super) inherited: Vec<Spanned<String>>,
    pub(super) set: BTreeMap<String, Scalar>,
}

impl<'de> Deserialize<'de> for Env {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EnvVisitor)
    }
}

struct EnvVisitor;

impl<'de> serde::de::Visitor<'de> for EnvVisitor {
    type Value = Env;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of names, or a table of names and values")
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, list: A) -> Result<Env, A::Error> {
        let inherited =
            Deserialize::deserialize(serde::de::value::SeqAccessDeserializer::new(list))?;
        Ok(Env {
            inherited,
            ..Env::default()
        })
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Env, A::Error> {
        let set = Deserialize::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        Ok(Env {
            set,
            ..Env::default()
        })
    }
}
