//! The lines of the audit log.

use std::borrow::Cow;
use std::net::IpAddr;
use std::time::SystemTime;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use larder_model::name::Digest;
use larder_model::resource::{ConnectionRecord, CredentialUse};

/// The record of an operation of a caller.
#[derive(Debug, Serialize)]
pub struct AuditLine<'a> {
    /// The time at which the operation ended.
    #[serde(serialize_with = "time")]
    pub time: SystemTime,
    /// What the caller did.
    pub operation: &'static str,
    /// The id of the request, as the client sent it.
    pub request: Option<&'a RawValue>,
    /// The subject of the credential.
    pub subject: Option<&'a str>,
    /// The issuer of the credential; none if the credential is a static token of this server.
    pub issuer: Option<&'a str>,
    /// The name of the token, or the id (`jti`) of the JWT.
    pub token: Option<&'a str>,
    /// The address of the client; none if the client is not connected over TCP.
    pub peer: Option<IpAddr>,
    /// The operator that made the request on behalf of the subject, through the admin address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator: Option<&'a str>,
    /// The team of the provider. If no provider was called: all teams of the caller, separated by commas.
    pub team: Cow<'a, str>,
    /// The requested URI or template; none for a list.
    pub uri: Option<&'a str>,
    /// Whether the URI was truncated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub uri_cut: bool,
    /// The tool or prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// The provider that was called last.
    pub provider: Option<&'a str>,
    /// The digest of the provider's component.
    #[serde(serialize_with = "digest")]
    pub digest: Option<Digest>,
    /// The outcome of the operation.
    pub outcome: &'static str,
    /// Whether the response came from the cache.
    pub cached: bool,
    /// The number of items on the page of a list, or of proposed values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<usize>,
    /// The TCP connections that guests attempted for this operation.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "connections")]
    pub connections: Vec<ConnectionRecord>,
    /// The requests of guests to which the host added a credential.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "credentials")]
    pub credentials: Vec<CredentialUse>,
    /// Bytes of content.
    pub bytes: u64,
    /// Duration in milliseconds.
    pub ms: f64,
}

/// The record of an event of the server: a refused request, a reload, a component with new rights.
#[derive(Debug, Serialize)]
pub struct AuditEvent<'a> {
    /// The time of the event.
    #[serde(serialize_with = "time")]
    pub time: SystemTime,
    /// What happened.
    pub operation: &'static str,
    /// How the operation ended.
    pub outcome: &'a str,
    /// The subject of the credential.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<&'a str>,
    /// The issuer of the credential.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<&'a str>,
    /// The name of the token, or the id (`jti`) of the JWT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<&'a str>,
    /// The address of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<IpAddr>,
    /// The HTTP status of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The number of further events of this kind, which have no lines of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<u64>,
    /// The team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<&'a str>,
    /// The provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<&'a str>,
    /// The digest of the provider's component.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<&'a str>,
    /// The components, the approved requests, or the problems.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub details: &'a [String],
}

impl AuditEvent<'_> {
    /// Creates an event that happens now, without any attributes.
    pub fn new<'a>(operation: &'static str, outcome: &'a str) -> AuditEvent<'a> {
        AuditEvent {
            time: SystemTime::now(),
            operation,
            outcome,
            subject: None,
            issuer: None,
            token: None,
            peer: None,
            status: None,
            more: None,
            team: None,
            provider: None,
            digest: None,
            details: &[],
        }
    }
}

fn time<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&humantime::format_rfc3339_millis(*time))
}

/// A connection attempt.
#[derive(Serialize)]
struct Connection<'a> {
    to: &'a str,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<u64>,
}

#[expect(clippy::ptr_arg, reason = "serde passes a reference to the field")]
fn connections<S: Serializer>(records: &Vec<ConnectionRecord>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(records.iter().map(|record| Connection {
        to: &record.to,
        outcome: record.outcome,
        more: Some(record.more).filter(|more| *more > 0),
    }))
}

/// The use of a secret.
#[derive(Serialize)]
struct Credential<'a> {
    secret: &'a str,
    host: &'a str,
    outcome: &'static str,
    count: u64,
}

#[expect(clippy::ptr_arg, reason = "serde passes a reference to the field")]
fn credentials<S: Serializer>(uses: &Vec<CredentialUse>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(uses.iter().map(|used| Credential {
        secret: &used.secret,
        host: &used.host,
        outcome: used.outcome,
        count: used.count,
    }))
}

fn digest<S: Serializer>(digest: &Option<Digest>, to: S) -> Result<S::Ok, S::Error> {
    match digest {
        Some(digest) => to.collect_str(digest),
        None => to.serialize_none(),
    }
}
