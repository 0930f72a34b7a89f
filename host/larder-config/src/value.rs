//! Value types of the file: sizes, durations, addresses, folders, hosts and scalar settings.
//! Each deserializes from a human-readable form, and otherwise fails with a message that shows a valid value.

mod address;
mod apps;
mod functions;
mod host;
mod host_auth;
mod key_value;
mod oauth_client;
mod reference;
mod tcp;
mod tools;
#[cfg(feature = "registry")]
mod trusted_key;

use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::de::{Error, MapAccess, Unexpected, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};
use toml::value::{Datetime, Offset};

pub use address::AdminAddress;
pub(super) use address::{Listen, Origin, ServerName, ServerUrl, SocketMode};
pub use address::{parse_admin_address, parse_listen_address};
pub(super) use apps::Apps;
pub(super) use functions::{Functions, Resources, function_settings};
pub(super) use host::{Host, SecretHost};
pub(super) use key_value::KeyValue;
pub(super) use oauth_client::is_scope;
pub(super) use reference::ComponentReference;
pub(super) use tcp::Tcp;
pub(super) use tools::Tools;
#[cfg(feature = "registry")]
pub(super) use trusted_key::{KeySource, TrustedKey};

use larder_mcp as endpoint;
use larder_model::name::Digest;
use larder_model::policy::{self, ApprovalMode};
use larder_model::size;
use larder_runtime::trusted_proxies::TrustedProxy;

/// The error of a limit that is 0.
const NOT_ZERO: &str = "must be more than 0: there is no \"unlimited\"";

/// A number of bytes: `64MiB`, `512 KiB`, `1GB`, `100B`, or a plain number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ByteSize<N>(pub(super) N);

impl<'de, N: TryFrom<u64>> Deserialize<'de> for ByteSize<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parse_scalar(deserializer, parse_size).map(Self)
    }
}

fn parse_size<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let bytes =
        size::parse(text).ok_or_else(|| format!("`{text}` is not a size: {}", size::HINT))?;
    if bytes == 0 {
        return Err(NOT_ZERO.into());
    }
    N::try_from(bytes).map_err(|_| "is too large for this limit".into())
}

/// A duration: `10s`, `250ms`, `1m 30s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HumanDuration(pub(super) Duration);

/// The maximum duration. The sum of this duration and any clock does not overflow.
const MAX_DURATION: Duration = Duration::from_secs(366 * 24 * 3600);

impl<'de> Deserialize<'de> for HumanDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parse_scalar(deserializer, parse_duration).map(Self)
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let hint = "write a number and a unit, such as \"10s\", \"250ms\" or \"1m 30s\"";
    humantime::parse_duration(text)
        .map_err(|_| format!("`{text}` is not a duration: {hint}"))
        .and_then(check_duration)
}

fn check_duration(time: Duration) -> Result<Duration, String> {
    match time {
        Duration::ZERO => Err(NOT_ZERO.into()),
        time if time > MAX_DURATION => Err("must not be more than a year".into()),
        time => Ok(time),
    }
}

/// An interval, or `0` for "never".
#[derive(Debug, Clone, Copy)]
pub(super) struct DurationOrNever(pub(super) Option<Duration>);

impl<'de> Deserialize<'de> for DurationOrNever {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parse_scalar(deserializer, parse_duration_or_never).map(Self)
    }
}

fn parse_duration_or_never(text: &str) -> Result<Option<Duration>, String> {
    match text {
        "0" | "0s" => Ok(None),
        _ => parse_duration(text).map(Some),
    }
}

/// A point in time: `2027-01-31T12:00:00Z`, or a date, which means midnight UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Timestamp(pub(super) SystemTime);

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Datetime::deserialize(deserializer)?;
        let hint = "write a date, such as 2027-01-31, or a date and time with an offset, such as 2027-01-31T12:00:00Z";
        parse_timestamp(&raw)
            .map(Self)
            .ok_or_else(|| D::Error::custom(format!("`{raw}` is not a point in time: {hint}")))
    }
}

fn parse_timestamp(raw: &Datetime) -> Option<SystemTime> {
    let date = raw.date?;
    let time = time_of_day(raw);
    let minutes = utc_offset(raw)?;
    let local = humantime::parse_rfc3339(&format!("{date}T{time}Z")).ok()?;
    subtract_minutes(local, minutes)
}

fn time_of_day(raw: &Datetime) -> String {
    let Some(time) = raw.time else {
        return "00:00:00".into();
    };
    let second = time.second.unwrap_or(0);
    format!("{:02}:{:02}:{second:02}", time.hour, time.minute)
}

/// Returns the minutes from UTC to the local time. `None` if a time has no offset, or an offset has no time.
fn utc_offset(raw: &Datetime) -> Option<i64> {
    match (raw.time, raw.offset) {
        (None, None) | (Some(_), Some(Offset::Z)) => Some(0),
        (Some(_), Some(Offset::Custom { minutes })) => Some(minutes.into()),
        _ => None,
    }
}

fn subtract_minutes(local: SystemTime, minutes: i64) -> Option<SystemTime> {
    let offset = Duration::from_secs(minutes.unsigned_abs() * 60);
    if minutes < 0 {
        local.checked_add(offset)
    } else {
        local.checked_sub(offset)
    }
}

/// A reverse proxy, or a network of reverse proxies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Proxy(pub(super) TrustedProxy);

impl<'de> Deserialize<'de> for Proxy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map(Self)
            .map_err(D::Error::custom)
    }
}

/// The error of a value that is not the digest of a token.
const NOT_A_DIGEST: &str = "must be \"sha256:\" and the digest of the token in hexadecimal, as printed by `printf %s TOKEN | sha256sum`";

/// The digest of a token. The token itself must not be in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenDigest(pub(super) Digest);

impl<'de> Deserialize<'de> for TokenDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The value may be the token itself, so the error does not repeat it.
        let parse = |text: &str| Digest::parse(text).map_err(|_| NOT_A_DIGEST);
        parse_scalar(deserializer, parse).map(Self)
    }
}

/// Deserializes a scalar, and parses its text.
fn parse_scalar<'de, D: Deserializer<'de>, T, E: fmt::Display>(
    deserializer: D,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, D::Error> {
    let text = Scalar::deserialize(deserializer)?.0;
    parse(&text).map_err(D::Error::custom)
}

/// A string, number or boolean, converted to a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scalar(pub(super) String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor).map(Self)
    }
}

struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a number or a boolean")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_bool<E: Error>(self, yes: bool) -> Result<String, E> {
        Ok(yes.to_string())
    }
}

/// A setting of a provider: a string, a number or a boolean, converted to a string; or a list or a table, as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingValue(pub(super) String);

impl<'de> Deserialize<'de> for SettingValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match toml::Value::deserialize(deserializer)? {
            toml::Value::String(text) => text,
            toml::Value::Float(number) => number.to_string(),
            other => match to_json(other) {
                serde_json::Value::String(text) => text,
                json => json.to_string(),
            },
        }))
    }
}

/// The same value in JSON. A date becomes a string, and a number that JSON cannot express becomes null.
fn to_json(value: toml::Value) -> serde_json::Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(yes) => yes.into(),
        toml::Value::Datetime(date) => date.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(to_json).collect(),
        toml::Value::Table(table) => table
            .into_iter()
            .map(|(key, value)| (key, to_json(value)))
            .collect(),
    }
}

/// A granted folder: a path such as `"docs"`, or a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dir {
    pub(super) host: PathBuf,
    pub(super) guest: Option<String>,
    pub(super) access: Access,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Access {
    #[default]
    Read,
    Write,
}

/// Whether grant requests and additional imports need an approval (`ask`) or are accepted (`always`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Approval {
    Ask,
    Always,
}

/// The number of items per page: one number for both lists, or a table with a number for each list.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PageSize {
    pub(super) resources: Option<u32>,
    pub(super) templates: Option<u32>,
}

impl PageSize {
    fn of_both(size: u32) -> Self {
        Self {
            resources: Some(size),
            templates: Some(size),
        }
    }
}

impl<'de> Deserialize<'de> for PageSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PageSizeVisitor)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PageSizeTable {
    resources: Option<u32>,
    templates: Option<u32>,
}

struct PageSizeVisitor;

impl<'de> Visitor<'de> for PageSizeVisitor {
    type Value = PageSize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number, or a table with `resources` and `templates`")
    }

    fn visit_i64<E: Error>(self, size: i64) -> Result<PageSize, E> {
        let size =
            u32::try_from(size).map_err(|_| E::invalid_value(Unexpected::Signed(size), &self))?;
        Ok(PageSize::of_both(size))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PageSize, A::Error> {
        let PageSizeTable {
            resources,
            templates,
        } = PageSizeTable::deserialize(MapAccessDeserializer::new(map))?;
        Ok(PageSize {
            resources,
            templates,
        })
    }
}

/// A protocol extension.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Extension {
    ResourcesGet,
}

impl From<Extension> for endpoint::Extension {
    fn from(raw: Extension) -> Self {
        match raw {
            Extension::ResourcesGet => Self::ResourcesGet,
        }
    }
}

impl From<Access> for policy::Access {
    fn from(raw: Access) -> Self {
        match raw {
            Access::Read => Self::Read,
            Access::Write => Self::Write,
        }
    }
}

impl From<Approval> for ApprovalMode {
    fn from(raw: Approval) -> Self {
        match raw {
            Approval::Ask => Self::Ask,
            Approval::Always => Self::Always,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DirTable {
    host: PathBuf,
    guest: Option<String>,
    #[serde(default)]
    access: Access,
}

impl<'de> Deserialize<'de> for Dir {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShorthandVisitor(PhantomData))
    }
}

impl Shorthand for Dir {
    type Table = DirTable;
    const EXPECTED: &'static str = "a path, or a table with `host`, `guest` and `access`";

    fn from_text(text: &str) -> Result<Self, String> {
        Ok(Self {
            host: text.into(),
            guest: None,
            access: Access::Read,
        })
    }

    fn from_table(table: DirTable) -> Result<Self, String> {
        Ok(Self {
            host: table.host,
            guest: table.guest,
            access: table.access,
        })
    }
}

/// A value with a short form (a string) and a long form (a table).
trait Shorthand: Sized {
    type Table;
    const EXPECTED: &'static str;
    fn from_text(text: &str) -> Result<Self, String>;
    fn from_table(table: Self::Table) -> Result<Self, String>;
}

struct ShorthandVisitor<T>(PhantomData<T>);

impl<'de, T: Shorthand<Table: Deserialize<'de>>> Visitor<'de> for ShorthandVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_table(T::Table::deserialize(MapAccessDeserializer::new(map))?)
            .map_err(A::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_sizes_with_units() {
        for (text, bytes) in [
            ("64MiB", 64 << 20),
            ("1 GB", 1_000_000_000),
            ("7", 7),
            ("2KiB", 2048),
            ("3B", 3),
        ] {
            assert_eq!(size::parse(text), Some(bytes), "{text}");
        }
        for bad in [
            "",
            "MiB",
            "1.5MiB",
            "-1",
            "1 M",
            "1mb",
            "99999999999GiB",
            "1 MiB extra",
        ] {
            assert_eq!(size::parse(bad), None, "{bad}");
        }
    }
}
