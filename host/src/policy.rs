//! Decisions: what a provider gets, what it may use up, and the proof that a caller may ask it.
//! Nothing is granted by default, and every limit has a value by default.

mod ask;
mod bucket;
mod ceiling;
mod quota;
mod ration;
mod secret;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use self::ask::{Approve, Ask, granted, import_asks};
pub use self::bucket::Bucket;
pub use self::ceiling::{Bounds, Ceiling, Cut};
pub use self::quota::Quota;
pub use self::ration::{Memory, Ration, UsedUp};
pub use self::secret::{Secret, Secrets};
use crate::name::TeamName;
use crate::resource::{Call, Caller};
use crate::trace::Trace;

/// What one provider may use up. There is no "unlimited".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of linear memory of one guest, all its memories together.
    pub memory: u64,
    /// Elements of one table of a guest. Interpreters need thousands.
    pub table_elements: u64,
    /// Core instances in one guest. A Python component has more than ten.
    pub instances: u32,
    /// Time on a processor that one call may take.
    pub cpu: Duration,
    /// Time from the first instruction to the answer, waiting included.
    pub wall: Duration,
    /// Calls that run at the same time.
    pub calls: u32,
    /// How long a call waits for its turn.
    pub queue: Duration,
    /// Calls that wait for their turn at the same time.
    pub waiting: u32,
    /// Bytes that one call may hand to the host: answer, log and all else.
    pub result: u64,
    /// Entries or templates on one page of a list.
    pub page: u32,
    /// Entries and templates that the catalog holds of this provider.
    pub held: u32,
    /// Bytes of log in one call, stdout and stderr included.
    pub log: u32,
    /// Reports (progress, changes) in one call.
    pub reports: u32,
    /// Bytes of the component's file.
    pub component: u64,
    /// Bytes of the body of an HTTP response.
    pub http_body: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 128 << 20,
            table_elements: 100_000,
            instances: 64,
            cpu: Duration::from_secs(1),
            wall: Duration::from_secs(10),
            calls: 16,
            queue: Duration::from_secs(5),
            waiting: 1_000,
            result: 16 << 20,
            page: 10_000,
            held: 1_000,
            log: 64 << 10,
            reports: 1_000,
            component: 64 << 20,
            http_body: 8 << 20,
        }
    }
}

/// What one provider was given by its operator. Without a grant no guest is opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grant {
    /// What it may use up.
    pub limits: Limits,
    /// Answers to `provider-host.setting`.
    pub settings: BTreeMap<String, String>,
    /// Answers to the same question that nobody else may see.
    pub secrets: Secrets,
    /// Environment variables, with their values.
    pub env: BTreeMap<String, String>,
    /// Folders.
    pub dirs: Vec<Dir>,
    /// Where it may send HTTP requests.
    pub hosts: Vec<HostRule>,
    /// Whether it gets the values of template variables without screening.
    pub raw_values: bool,
    /// Whether its guests may be used again.
    pub guests: Guests,
}

/// How long a guest lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Guests {
    /// For one call.
    #[default]
    Fresh,
    /// For several calls of one caller.
    Reused,
}

/// A granted folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dir {
    /// The folder on this machine.
    pub host: PathBuf,
    /// The path under which the guest sees it.
    pub guest: String,
    /// What the guest may do there.
    pub access: Access,
    /// Whether `host` is a real path: one that was looked at, and on the way to which no link is followed.
    pub is_real: bool,
}

/// What a guest may do in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Look and read.
    Read,
    /// Everything.
    Write,
}

/// One place that a provider may send HTTP requests to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    /// `http` or `https`; none for `https` only.
    pub scheme: Option<String>,
    /// A name, an address, or `*.` and a name for all names below it. Lower case.
    pub host: String,
    /// None for the scheme's own port.
    pub port: Option<u16>,
    /// None for GET and HEAD only; empty for every method.
    pub methods: Option<Vec<String>>,
    /// Whether the name may stand for an address inside this network.
    pub private: bool,
}

impl HostRule {
    /// Whether a request to this place is allowed by this rule.
    pub fn covers(&self, method: &str, scheme: &str, host: &str, port: u16) -> bool {
        self.has_method(method)
            && self.scheme() == scheme
            && self.port.unwrap_or(own_port(scheme)) == port
            && self.names(host)
    }

    /// Whether everything that the other rule allows is allowed by this one.
    pub fn includes(&self, other: &Self) -> bool {
        let port = |rule: &Self| rule.port.unwrap_or(own_port(rule.scheme()));
        let methods = match &other.methods {
            None => ["GET", "HEAD"].into_iter().all(|method| self.has_method(method)),
            Some(all) if all.is_empty() => self.methods.as_ref().is_some_and(Vec::is_empty),
            Some(some) => some.iter().all(|method| self.has_method(method)),
        };
        // A star is for names below: `*.b.example.com` as a name is below `*.example.com`.
        let host = self.host == other.host || self.names(&other.host);
        methods
            && host
            && self.scheme() == other.scheme()
            && port(self) == port(other)
            && (self.private || !other.private)
    }

    fn scheme(&self) -> &str {
        self.scheme.as_deref().unwrap_or("https")
    }

    fn has_method(&self, method: &str) -> bool {
        match &self.methods {
            None => matches!(method, "GET" | "HEAD"),
            Some(methods) => methods.is_empty() || methods.iter().any(|m| m.eq_ignore_ascii_case(method)),
        }
    }

    /// Whether this host is the one that the rule names.
    pub fn names(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        match self.host.strip_prefix("*.") {
            Some(parent) => {
                host.strip_suffix(parent).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            None => self.host == host,
        }
    }
}

fn own_port(scheme: &str) -> u16 {
    if scheme == "http" { 80 } else { 443 }
}

/// The proof that a call may go to a provider. Calling one demands it.
#[derive(Debug, Clone)]
pub struct Permit {
    call: Arc<Call>,
    /// The span that the provider's work belongs to, where one is recorded.
    place: Option<Trace>,
    /// Whose provider is asked; none where the host asks.
    team: Option<TeamName>,
}

/// Why a call may not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the provider is not of a team of the caller's")]
pub struct Denied;

impl Permit {
    /// Whether this caller may ask a provider of this team.
    pub fn ask(call: &Arc<Call>, team: &TeamName) -> Result<Self, Denied> {
        match &call.caller {
            Some(caller) if caller.teams.has(team) => {
                Ok(Self { call: call.clone(), place: None, team: Some(team.clone()) })
            }
            _ => Err(Denied),
        }
    }

    /// The host asks for itself: to probe, to list, to look for newer versions.
    pub fn host() -> Self {
        Self { call: Call::by_host(), place: None, team: None }
    }

    /// The team as whose member the caller asks; none when it is the host.
    pub fn team(&self) -> Option<&TeamName> {
        self.team.as_ref()
    }

    /// Who asks; none when it is the host.
    pub fn caller(&self) -> Option<&Caller> {
        self.call.caller.as_ref()
    }

    /// What the provider does belongs to this place in a trace, and no longer to the request's.
    pub fn put_into(&mut self, place: &Trace) {
        self.place = Some(place.clone());
    }

    /// Where in a trace the provider's work belongs.
    pub fn trace(&self) -> Option<&Trace> {
        self.place.as_ref().or(self.call.trace.as_ref())
    }

    /// The metadata of the question, with where in a trace the answer to it belongs.
    pub fn metadata(&self) -> Vec<(String, String)> {
        let place = self.place.iter().flat_map(Trace::metadata);
        let known = |key: &str| self.place.is_some() && matches!(key, "traceparent" | "tracestate");
        let others = self.call.metadata.iter().filter(|(key, _)| !known(key));
        others.map(|(key, json)| (key.to_owned(), json.to_owned())).chain(place).collect()
    }

    /// What came with the question.
    pub fn call(&self) -> &Call {
        &self.call
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Teams;

    fn rule(host: &str) -> HostRule {
        HostRule { scheme: None, host: host.into(), port: None, methods: None, private: false }
    }

    #[test]
    fn a_rule_is_narrow_unless_it_says_more() {
        let plain = rule("api.example.com");
        assert!(plain.covers("GET", "https", "API.example.com", 443));
        for (method, scheme, host, port) in [
            ("POST", "https", "api.example.com", 443),
            ("GET", "http", "api.example.com", 80),
            ("GET", "https", "api.example.com", 8443),
            ("GET", "https", "example.com", 443),
            ("GET", "https", "api.example.com.evil.net", 443),
        ] {
            assert!(!plain.covers(method, scheme, host, port), "{method} {scheme} {host} {port}");
        }
        let wide = HostRule { methods: Some(vec![]), port: Some(8080), scheme: Some("http".into()), ..plain };
        assert!(wide.covers("DELETE", "http", "api.example.com", 8080));
    }

    #[test]
    fn a_star_is_for_names_below() {
        let star = rule("*.example.com");
        assert!(star.names("a.example.com") && star.names("a.b.example.com"));
        assert!(!star.names("example.com") && !star.names("evilexample.com") && !star.names(".example.com"));
    }

    #[test]
    fn a_caller_of_another_team_gets_no_permit() {
        let team = |name: &str| TeamName::parse(name).unwrap();
        let teams = Teams::of([team("wiki"), team("docs")]).unwrap();
        let call = Arc::new(Call::by(Caller { subject: None, issuer: None, teams, scopes: vec![] }));
        for own in ["wiki", "docs"] {
            assert_eq!(Permit::ask(&call, &team(own)).unwrap().team(), Some(&team(own)));
        }
        assert!(Permit::ask(&call, &team("ops")).is_err());
        assert!(Permit::ask(&Call::by_host(), &team("ops")).is_err());
    }
}
