//! `larder.toml` as a person wrote it: every key optional, unknown keys refused, nothing decided.
//! Values that are checked later carry their place in the file.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::LogFormat;
use super::value::{
    Approval, Dialect, Dir, Host, Listen, ListenOrOff, Moment, PageSize, Plain, Size, Time, TimeOrNever,
    TokenDigest,
};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    pub(super) plugins: Option<Spanned<PathBuf>>,
    pub(super) state_dir: Option<Spanned<PathBuf>>,
    pub(super) approve: Option<Approval>,
    pub(super) server: Server,
    pub(super) auth: Auth,
    pub(super) admin: Admin,
    pub(super) audit: Audit,
    pub(super) telemetry: Telemetry,
    pub(super) cache: Cache,
    pub(super) watch: Watch,
    pub(super) limits: Limits,
    pub(super) compiler: Compiler,
    pub(super) provider: BTreeMap<Spanned<String>, Provider>,
    pub(super) team: BTreeMap<Spanned<String>, Team>,
    pub(super) secret: BTreeMap<Spanned<String>, Secret>,
    pub(super) stdio: Stdio,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Team {
    pub(super) plugins: Option<Spanned<PathBuf>>,
    pub(super) approve: Option<Approval>,
    pub(super) ceiling: Ceiling,
    pub(super) limits: Limits,
    pub(super) quota: Quota,
    pub(super) provider: BTreeMap<Spanned<String>, Provider>,
}

/// What the providers of a team may have at most.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Ceiling {
    pub(super) dirs: Vec<Spanned<Dir>>,
    pub(super) hosts: Vec<Host>,
    pub(super) env: Vec<String>,
    pub(super) secrets: Vec<Spanned<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Quota {
    pub(super) memory: Option<Size<u64>>,
    pub(super) cpu: Option<Time>,
    pub(super) calls: Option<NonZeroU32>,
    pub(super) requests: Option<NonZeroU32>,
    pub(super) bytes: Option<Size<u64>>,
    pub(super) providers: Option<NonZeroU32>,
    pub(super) component: Option<Size<u64>>,
    pub(super) watchers: Option<NonZeroU32>,
}

/// Where a secret is: in a variable of the host, or in a file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Secret {
    pub(super) env: Option<Spanned<String>>,
    pub(super) file: Option<Spanned<PathBuf>>,
}

/// Who asks on standard input.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Stdio {
    pub(super) subject: Option<String>,
    pub(super) teams: Option<Spanned<Vec<Spanned<String>>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Watch {
    pub(super) poll: Option<Time>,
    pub(super) interval: Option<Time>,
    pub(super) reread: Option<TimeOrNever>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Server {
    pub(super) listen: Option<Spanned<Listen>>,
    pub(super) unauthenticated: Option<Spanned<bool>>,
    pub(super) teams: Option<Spanned<Vec<Spanned<String>>>>,
    pub(super) hosts: Option<Vec<String>>,
    pub(super) origins: Option<Vec<String>>,
    pub(super) title: Option<String>,
    pub(super) instructions: Option<String>,
    pub(super) page_size: PageSize,
    pub(super) dialects: Vec<Dialect>,
    pub(super) body_limit: Option<Size<usize>>,
    pub(super) sessions: Option<NonZeroU32>,
    pub(super) session_idle: Option<Time>,
    pub(super) streams: Option<NonZeroU32>,
    pub(super) connections: Option<Spanned<NonZeroU32>>,
    pub(super) watched_uris: Option<NonZeroU32>,
    pub(super) guests: Option<NonZeroU32>,
    pub(super) waiting_bytes: Option<Size<usize>>,
    pub(super) keep_alive: Option<Time>,
    pub(super) grace: Option<Time>,
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
    pub(super) expires: Option<Moment>,
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
    pub(super) leeway: Option<Spanned<Time>>,
    pub(super) refresh: Option<Spanned<Time>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Admin {
    pub(super) listen: Option<Spanned<ListenOrOff>>,
    pub(super) hosts: Option<Vec<String>>,
    pub(super) token: Option<TokenDigest>,
    pub(super) unauthenticated: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Audit {
    pub(super) file: Option<Spanned<PathBuf>>,
    pub(super) on_full: Option<OnFull>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Telemetry {
    pub(super) otlp: Option<Spanned<String>>,
    pub(super) headers: BTreeMap<Spanned<String>, Spanned<String>>,
    pub(super) service: Option<String>,
    pub(super) sample: Option<Spanned<f64>>,
}

/// What happens to reads when the audit log cannot be written.
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
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Cache {
    pub(super) bytes: Option<Size<usize>>,
    pub(super) entries: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Limits {
    pub(super) memory: Option<Size<u64>>,
    pub(super) table_elements: Option<NonZeroU32>,
    pub(super) instances: Option<NonZeroU32>,
    pub(super) cpu: Option<Time>,
    pub(super) wall: Option<Time>,
    pub(super) calls: Option<NonZeroU32>,
    pub(super) queue: Option<Time>,
    pub(super) waiting: Option<u32>,
    pub(super) result: Option<Size<u64>>,
    pub(super) page: Option<NonZeroU32>,
    pub(super) held: Option<NonZeroU32>,
    pub(super) log: Option<Size<u32>>,
    pub(super) reports: Option<NonZeroU32>,
    pub(super) component: Option<Size<u64>>,
    pub(super) http_body: Option<Size<u64>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Provider {
    pub(super) settings: BTreeMap<String, Plain>,
    pub(super) env: Env,
    pub(super) dirs: Vec<Spanned<Dir>>,
    pub(super) hosts: Vec<Host>,
    pub(super) secrets: Vec<Spanned<String>>,
    pub(super) priority: Option<i32>,
    pub(super) raw_values: Option<bool>,
    pub(super) guests: Option<Guests>,
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
    pub(super) memory: Option<Size<u64>>,
    pub(super) cpu: Option<Time>,
    pub(super) wall: Option<Time>,
    pub(super) code: Option<Size<u64>>,
    pub(super) cache_dir: Option<PathBuf>,
    pub(super) cache_size: Option<Size<u64>>,
    pub(super) cache_age: Option<Time>,
}

/// `NAME.toml`, which stands beside `NAME.wasm`: its author's word, not the operator's.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Ask {
    pub(super) settings: BTreeMap<String, Plain>,
    pub(super) env: Vec<Spanned<String>>,
    pub(super) dirs: Vec<Spanned<Dir>>,
    pub(super) hosts: Vec<Host>,
    pub(super) secrets: Vec<String>,
}

/// Variables: names that are taken over from the host, or names with values.
#[derive(Debug, Default)]
pub(super) struct Env {
    pub(super) taken: Vec<Spanned<String>>,
    pub(super) given: BTreeMap<String, Plain>,
}

impl<'de> Deserialize<'de> for Env {
    fn deserialize<D: serde::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(EnvVisitor)
    }
}

struct EnvVisitor;

impl<'de> serde::de::Visitor<'de> for EnvVisitor {
    type Value = Env;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of names, or a table of names and values")
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, list: A) -> Result<Env, A::Error> {
        let taken = Deserialize::deserialize(serde::de::value::SeqAccessDeserializer::new(list))?;
        Ok(Env { taken, ..Env::default() })
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Env, A::Error> {
        let given = Deserialize::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        Ok(Env { given, ..Env::default() })
    }
}
