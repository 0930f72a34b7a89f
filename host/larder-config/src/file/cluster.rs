//! `[cluster]`: the connection to the other replicas of this server.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::value::HumanDuration;
use larder_cluster::NatsServer;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Cluster {
    pub(crate) nats: Option<Spanned<NatsServers>>,
    pub(crate) replica: Option<Spanned<String>>,
    pub(crate) prefix: Option<Spanned<String>>,
    pub(crate) credentials_file: Option<Spanned<PathBuf>>,
    pub(crate) ca: Option<Spanned<PathBuf>>,
    pub(crate) key: Option<Spanned<Vec<Spanned<String>>>>,
    pub(crate) require_sealed: Option<Spanned<bool>>,
    pub(crate) lease: Option<Spanned<HumanDuration>>,
    pub(crate) copies: Option<Spanned<NonZeroUsize>>,
}

/// One URL or a list of them.
#[derive(Debug, Clone)]
pub(crate) struct NatsServers(pub(crate) Vec<NatsServer>);

impl<'de> Deserialize<'de> for NatsServers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NatsServersVisitor)
    }
}

struct NatsServersVisitor;

impl<'de> Visitor<'de> for NatsServersVisitor {
    type Value = NatsServers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the URL of a NATS server, or a list of URLs")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<NatsServers, E> {
        NatsServer::parse(text)
            .map(|server| NatsServers(vec![server]))
            .map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<NatsServers, A::Error> {
        let mut servers = Vec::new();
        while let Some(text) = list.next_element::<String>()? {
            servers.push(NatsServer::parse(&text).map_err(A::Error::custom)?);
        }
        if servers.is_empty() {
            return Err(A::Error::custom("name at least one server"));
        }
        Ok(NatsServers(servers))
    }
}
