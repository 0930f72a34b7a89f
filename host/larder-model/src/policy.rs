//! Authorization and resource limits: the grants of a provider, its limits, and the permit with which a caller may call
//! it. Nothing is granted by default. Every limit has a default.

mod apps;
mod ceiling;
mod credential;
mod functions;
mod grant_request;
mod host_auth;
mod host_rule;
mod key_value;
mod oauth_client;
mod own_files;
mod permits;
mod quota;
mod quota_usage;
mod quoted;
mod secret;
mod tcp_rule;
mod token_bucket;
mod tool_grant;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use self::apps::{
    AppDomain, AppGrant, AppPermission, AppRight, PAGE_KEY, UI_KEY, check_page_key,
    is_for_apps_only, is_page_type, page_of,
};
pub use self::ceiling::{Bounds, CappedGrant, Ceiling};
pub use self::credential::{Credential, CredentialStore, SecretHosts, TeamCredentials};
pub use self::functions::{FunctionResource, FunctionSettings, FunctionTool};
pub use self::grant_request::{ApprovalMode, GrantRequest, grant_lines, ungranted_imports};
pub use self::host_auth::{AwsSigner, CertificateSecrets, CredentialPlacement, HostAuth};
pub use self::host_rule::HostRule;
pub use self::key_value::{KeyValueGrant, KeyValueLimits};
pub use self::oauth_client::{ClientAuthentication, OauthClient, TokenServer};
pub use self::own_files::{OwnFile, OwnFileConflict, OwnFiles, resolve_existing};
pub use self::quota::Quota;
pub use self::quota_usage::{MemoryReservation, QuotaExceeded, QuotaUsage, QuotaUse};
pub use self::secret::{MIN_SECRET_LEN, Secret, Secrets};
pub use self::tcp_rule::TcpRule;
pub use self::token_bucket::TokenBucket;
pub use self::tool_grant::ToolGrant;
use crate::name::TeamName;
use crate::resource::{Call, Caller};
use crate::trace::TraceContext;

/// Limits of one provider. Each limit has a value: there is no "unlimited".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of linear memory of one guest, summed over its memories.
    pub memory: u64,
    /// Elements of one table of a guest. Interpreters need thousands.
    pub table_elements: u64,
    /// Core instances in one guest. A Python component has more than ten.
    pub instances: u32,
    /// CPU time of one call.
    pub cpu_time: Duration,
    /// Elapsed time of one call, from the first instruction to the result, including waits.
    pub timeout: Duration,
    /// Calls that run at the same time.
    pub concurrency: u32,
    /// How long a call may wait in the queue.
    pub queue_timeout: Duration,
    /// Calls that may wait in the queue at the same time.
    pub queue_length: u32,
    /// Bytes that one call may pass to the host: the result, log lines and all other data.
    pub result: u64,
    /// Entries or templates on one page of a list.
    pub page_entries: u32,
    /// Entries and templates of this provider in the catalog.
    pub catalog_entries: u32,
    /// Bytes of log output in one call, including stdout and stderr.
    pub log: u32,
    /// Notifications (progress, changes) in one call.
    pub notifications: u32,
    /// Size of the component file in bytes.
    pub component_size: u64,
    /// Size of the body of an HTTP response in bytes.
    pub http_body: u64,
    /// TCP connections of all guests at the same time.
    pub connections: u32,
    /// Bytes that one call may send and receive over TCP connections.
    pub tcp_bytes: u64,
    /// How much the provider may store in the key-value store.
    pub key_value: KeyValueLimits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 128 << 20,
            table_elements: 100_000,
            instances: 64,
            cpu_time: Duration::from_secs(1),
            timeout: Duration::from_secs(10),
            concurrency: 16,
            queue_timeout: Duration::from_secs(5),
            queue_length: 1_000,
            result: 16 << 20,
            page_entries: 10_000,
            catalog_entries: 1_000,
            log: 64 << 10,
            notifications: 1_000,
            component_size: 64 << 20,
            http_body: 8 << 20,
            connections: 32,
            tcp_bytes: 64 << 20,
            key_value: KeyValueLimits::default(),
        }
    }
}

/// What one provider is granted by its operator. Guests are opened only under a grant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grant {
    /// The limits of the provider.
    pub limits: Limits,
    /// The values that `provider-host.setting` returns.
    pub settings: BTreeMap<String, String>,
    /// Further values that `provider-host.setting` returns, and that are never shown.
    pub secrets: Secrets,
    /// Environment variables with their values.
    pub env: BTreeMap<String, String>,
    /// Preopened folders.
    pub dirs: Vec<Dir>,
    /// Rules for HTTP requests.
    pub hosts: Vec<HostRule>,
    /// Rules for TCP connections.
    pub tcp: Vec<TcpRule>,
    /// The buckets of the key-value store.
    pub key_value: KeyValueGrant,
    /// Whether the provider receives the values of template variables without safety checks.
    pub raw_values: bool,
    /// Whether guests of the provider may be reused.
    pub guests: GuestLifetime,
    /// The tools that clients can call.
    pub tools: ToolGrant,
    /// Whether clients can get the prompts of the provider.
    pub prompts: bool,
    /// Whether folders with a `SKILL.md` are offered as skills.
    pub skills: bool,
    /// What the pages of its apps may use in a browser.
    pub apps: AppGrant,
    /// How its functions are offered, if the component does not export the contract.
    pub functions: FunctionSettings,
    /// Precedes the names of its tools and prompts.
    pub name_prefix: String,
    /// Whether the text of the provider's resources is kept in the full-text index of the team.
    pub index: bool,
}

/// How many calls a guest serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GuestLifetime {
    /// One call.
    #[default]
    Fresh,
    /// Several calls of one caller.
    Reused,
}

/// A granted folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dir {
    /// The folder on this machine.
    pub host: PathBuf,
    /// The path of the folder in the guest.
    pub guest: String,
    /// The access of the guest to the folder.
    pub access: Access,
    /// Whether `host` is canonical. A canonical path is opened without following symbolic links.
    pub is_canonical: bool,
}

/// The access of a guest to a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// List and read.
    Read,
    /// List, read and change.
    Write,
}

/// Proof that a call to a provider is authorized. Every method that calls a provider requires one.
#[derive(Debug, Clone)]
pub struct Permit {
    call: Arc<Call>,
    /// The span to which the provider's work belongs, if a span is recorded.
    span: Option<TraceContext>,
    /// The team of the provider; none for the server's own calls.
    team: Option<TeamName>,
    /// None if only the limits of the provider apply. Boxed because it is rare, and many futures contain permits.
    time_limit: Option<Box<TimeLimit>>,
}

/// When a call has to end before the limit of the provider, because the caller stops waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimit {
    /// When the call has to end.
    pub until: Instant,
    /// The time that the caller waits in total, for messages.
    pub total: Duration,
}

/// The caller belongs to no team that has the provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the caller does not belong to the team of the provider")]
pub struct NotInTeam;

impl Permit {
    /// Returns a permit if this caller may call providers of this team.
    pub fn for_team(call: &Arc<Call>, team: &TeamName) -> Result<Self, NotInTeam> {
        match &call.caller {
            Some(caller) if caller.teams.has(team) => Ok(Self {
                call: call.clone(),
                span: None,
                team: Some(team.clone()),
                time_limit: None,
            }),
            _ => Err(NotInTeam),
        }
    }

    /// Returns a permit for the server's own calls: to probe, to list, and to check for newer versions.
    pub fn for_host() -> Self {
        Self {
            call: Call::from_host(),
            span: None,
            team: None,
            time_limit: None,
        }
    }

    /// Limits how long the call may take, in addition to the limits of the provider.
    pub fn within(self, time_limit: Option<TimeLimit>) -> Self {
        Self {
            time_limit: time_limit.map(Box::new),
            ..self
        }
    }

    /// How long the call may take, in addition to the limits of the provider.
    pub fn time_limit(&self) -> Option<TimeLimit> {
        self.time_limit.as_deref().copied()
    }

    /// The team for which the caller acts; none for the server's own calls.
    pub fn team(&self) -> Option<&TeamName> {
        self.team.as_ref()
    }

    /// The caller; none for the server's own calls.
    pub fn caller(&self) -> Option<&Caller> {
        self.call.caller.as_ref()
    }

    /// Sets the span to which the provider's work belongs. It replaces the span of the request.
    pub fn set_span(&mut self, span: &TraceContext) {
        self.span = Some(span.clone());
    }

    /// The trace context to which the provider's work belongs.
    pub fn trace(&self) -> Option<&TraceContext> {
        self.span.as_ref().or(self.call.trace.as_ref())
    }

    /// Returns the metadata of the request, with the trace context of the call.
    pub fn metadata(&self) -> Vec<(String, String)> {
        let span = self.span.iter().flat_map(TraceContext::metadata);
        let is_replaced =
            |key: &str| self.span.is_some() && matches!(key, "traceparent" | "tracestate");
        let others = self
            .call
            .metadata
            .iter()
            .filter(|(key, _)| !is_replaced(key));
        others
            .map(|(key, json)| (key.to_owned(), json.to_owned()))
            .chain(span)
            .collect()
    }

    /// The request that the permit is for.
    pub fn call(&self) -> &Call {
        &self.call
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Teams;

    #[test]
    fn denies_a_caller_of_another_team() {
        let team = |name: &str| TeamName::parse(name).unwrap();
        let teams = Teams::of([team("wiki"), team("docs")]).unwrap();
        let call = Arc::new(Call::from_caller(Caller {
            subject: None,
            issuer: None,
            teams,
            scopes: vec![],
        }));
        for own in ["wiki", "docs"] {
            assert_eq!(
                Permit::for_team(&call, &team(own)).unwrap().team(),
                Some(&team(own))
            );
        }
        assert!(Permit::for_team(&call, &team("ops")).is_err());
        assert!(Permit::for_team(&Call::from_host(), &team("ops")).is_err());
    }
}
