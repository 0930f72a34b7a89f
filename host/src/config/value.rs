//! The small values of the file: sizes, times, addresses, folders, hosts, and plain settings.
//! Each is read from what a person would write, with a message for the rest.

mod host;

use std::fmt;
use std::marker::PhantomData;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::de::{Error, MapAccess, Unexpected, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};

pub(super) use host::Host;

use crate::endpoint;
use crate::name::Digest;
use crate::policy::Approve;

/// Bytes: `64MiB`, `512 KiB`, `1GB`, `100B`, or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size<N>(pub(super) N);

impl<'de, N: TryFrom<u64>> Deserialize<'de> for Size<N> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let text = Plain::deserialize(reader)?.0;
        let bytes =
            size(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is not a size: {SIZES}")))?;
        if bytes == 0 {
            return Err(D::Error::custom("must be more than 0: there is no \"unlimited\""));
        }
        N::try_from(bytes).map(Self).map_err(|_| D::Error::custom("is more than this limit can be"))
    }
}

const SIZES: &str = "write a whole number and a unit, such as \"64MiB\", \"512KiB\" or \"1GB\"";

// Twenty lines of our own: the crates for it accept fractions, bits and silently rounded values.
fn size(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim_start() {
        "" | "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// A time: `10s`, `250ms`, `1m 30s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Time(pub(super) Duration);

/// Longer than anyone means, and short enough to be added to any clock.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let text = Plain::deserialize(reader)?.0;
        let time = humantime::parse_duration(&text).map_err(|_| {
            let hint = "write a number and a unit, such as \"10s\", \"250ms\" or \"1m 30s\"";
            D::Error::custom(format!("`{text}` is not a time: {hint}"))
        })?;
        match time {
            Duration::ZERO => Err(D::Error::custom("must be more than 0: there is no \"unlimited\"")),
            time if time > LONGEST => Err(D::Error::custom("must not be more than a year")),
            time => Ok(Self(time)),
        }
    }
}

/// A time between two of a kind; `0` where there is to be none.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeOrNever(pub(super) Option<Duration>);

impl<'de> Deserialize<'de> for TimeOrNever {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let plain = Plain::deserialize(reader)?.0;
        if matches!(plain.as_str(), "0" | "0s") {
            return Ok(Self(None));
        }
        Time::deserialize(serde::de::value::StringDeserializer::new(plain)).map(|time| Self(Some(time.0)))
    }
}

/// A point in time: `2027-01-31T12:00:00Z`, or a day, which means its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment(pub(super) SystemTime);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let written = toml::value::Datetime::deserialize(reader)?;
        let hint = "write a day, such as 2027-01-31, or a time with its offset, such as 2027-01-31T12:00:00Z";
        moment(&written)
            .map(Self)
            .ok_or_else(|| D::Error::custom(format!("`{written}` is not a moment: {hint}")))
    }
}

fn moment(written: &toml::value::Datetime) -> Option<SystemTime> {
    let date = written.date?;
    let time = match written.time {
        Some(time) => format!("{:02}:{:02}:{:02}", time.hour, time.minute, time.second.unwrap_or(0)),
        None => "00:00:00".into(),
    };
    let minutes = match (written.time, written.offset) {
        (None, None) | (Some(_), Some(toml::value::Offset::Z)) => 0,
        (Some(_), Some(toml::value::Offset::Custom { minutes })) => i64::from(minutes),
        _ => return None,
    };
    let local = humantime::parse_rfc3339(&format!("{date}T{time}Z")).ok()?;
    let offset = Duration::from_secs(minutes.unsigned_abs() * 60);
    if minutes < 0 { local.checked_add(offset) } else { local.checked_sub(offset) }
}

/// Where to listen: an address and a port; `localhost` is its IPv4 address.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listen(pub(super) SocketAddr);

impl<'de> Deserialize<'de> for Listen {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let text = Plain::deserialize(reader)?.0;
        listen(&text).map(Self).map_err(D::Error::custom)
    }
}

/// Where to listen, or `off`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListenOrOff(pub(super) Option<SocketAddr>);

impl<'de> Deserialize<'de> for ListenOrOff {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let text = Plain::deserialize(reader)?.0;
        if text == "off" {
            return Ok(Self(None));
        }
        listen(&text)
            .map(|listen| Self(Some(listen)))
            .map_err(|why| D::Error::custom(format!("{why}, or \"off\"")))
    }
}

/// The digest of a token; the token itself has no place in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenDigest(pub(super) Digest);

impl<'de> Deserialize<'de> for TokenDigest {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let text = Plain::deserialize(reader)?.0;
        // What was written may be the token: it is not repeated.
        let bad = "must be \"sha256:\" and the digest of the token in hexadecimal, as `printf %s TOKEN | sha256sum` gives it";
        Digest::parse(&text).map(Self).map_err(|_| D::Error::custom(bad))
    }
}

/// Reads an address to listen on.
pub(crate) fn listen(text: &str) -> Result<SocketAddr, String> {
    let local = text.strip_prefix("localhost:").and_then(|port| port.parse::<u16>().ok());
    match local {
        Some(port) => Ok((Ipv4Addr::LOCALHOST, port).into()),
        None => text.parse().map_err(|_| {
            format!("`{text}` is not an address: write an IP address and a port, such as \"127.0.0.1:7878\"")
        }),
    }
}

/// A text, number or boolean, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plain(pub(super) String);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(PlainVisitor).map(Self)
    }
}

struct PlainVisitor;

impl Visitor<'_> for PlainVisitor {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number or a boolean")
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

/// A granted folder: `"docs"`, or a table.
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

/// Whether more than was granted has to be approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Approval {
    Ask,
    Always,
}

/// Items on one page: a number for both lists, or a table with one for each.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PageSize {
    pub(super) resources: Option<u32>,
    pub(super) templates: Option<u32>,
}

impl<'de> Deserialize<'de> for PageSize {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(PageSizes)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PageSizeTable {
    resources: Option<u32>,
    templates: Option<u32>,
}

struct PageSizes;

impl<'de> Visitor<'de> for PageSizes {
    type Value = PageSize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number, or a table with `resources` and `templates`")
    }

    fn visit_i64<E: Error>(self, size: i64) -> Result<PageSize, E> {
        let size = u32::try_from(size).map_err(|_| E::invalid_value(Unexpected::Signed(size), &self))?;
        Ok(PageSize { resources: Some(size), templates: Some(size) })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PageSize, A::Error> {
        let PageSizeTable { resources, templates } =
            PageSizeTable::deserialize(MapAccessDeserializer::new(map))?;
        Ok(PageSize { resources, templates })
    }
}

/// What is spoken beside the protocol.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Dialect {
    ResourcesGet,
}

impl From<Dialect> for endpoint::Dialect {
    fn from(written: Dialect) -> Self {
        match written {
            Dialect::ResourcesGet => Self::ResourcesGet,
        }
    }
}

impl From<Approval> for Approve {
    fn from(written: Approval) -> Self {
        match written {
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
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(Short(PhantomData))
    }
}

impl FromShort for Dir {
    type Long = DirTable;
    const EXPECTED: &'static str = "a path, or a table with `host`, `guest` and `access`";

    fn short(text: &str) -> Result<Self, String> {
        Ok(Self { host: text.into(), guest: None, access: Access::Read })
    }

    fn long(table: DirTable) -> Result<Self, String> {
        Ok(Self { host: table.host, guest: table.guest, access: table.access })
    }
}

/// What can be written as a text or, to say more, as a table.
trait FromShort: Sized {
    type Long;
    const EXPECTED: &'static str;
    fn short(text: &str) -> Result<Self, String>;
    fn long(table: Self::Long) -> Result<Self, String>;
}

struct Short<T>(PhantomData<T>);

impl<'de, T: FromShort<Long: Deserialize<'de>>> Visitor<'de> for Short<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::short(text).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::long(T::Long::deserialize(MapAccessDeserializer::new(map))?).map_err(A::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_a_unit_that_people_write() {
        for (text, bytes) in
            [("64MiB", 64 << 20), ("1 GB", 1_000_000_000), ("7", 7), ("2KiB", 2048), ("3B", 3)]
        {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for bad in ["", "MiB", "1.5MiB", "-1", "1 M", "1mb", "99999999999GiB", "1 MiB extra"] {
            assert_eq!(size(bad), None, "{bad}");
        }
    }

    #[test]
    fn localhost_is_an_address() {
        assert_eq!(listen("localhost:80").map(|at| at.to_string()).as_deref(), Ok("127.0.0.1:80"));
        assert_eq!(listen("[::1]:80").map(|at| at.to_string()).as_deref(), Ok("[::1]:80"));
        for bad in ["", "7878", "localhost", "example.com:80", "127.0.0.1:70000"] {
            assert!(listen(bad).is_err(), "{bad}");
        }
    }
}
