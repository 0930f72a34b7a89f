//! `[cluster]`: the connection to the other replicas of this server.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::config::value::HumanDuration;
use larder_cluster::NatsServer;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct Cluster {
    pub(in crate::config) nats: Option<Spanned<NatsServers>>,
    pub(in crate::config) prefix: Option<Spanned<String>>,
    pub(in crate::config) credentials_file: Option<Spanned<PathBuf>>,
    pub(in crate::config) ca: Option<Spanned<PathBuf>>,
    pub(in crate::config) key: Option<Spanned<Vec<Spanned<String>>>>,
    pub(in crate::config) require_sealed: Option<Spanned<bool>>,
    pub(in crate::config) lease: Option<Spanned<HumanDuration>>,
    pub(in crate::config) copies: Option<Spanned<NonZeroUsize>>,
}

/// One URL or a list of them.
#[derive(Debug, Clone)]
pub(in crate::config) struct NatsServers(pub(in crate::config) Vec<NatsServer>);

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
