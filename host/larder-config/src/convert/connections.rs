//! The maximum numbers of connections and of streams.

use std::num::NonZeroU32;

use toml::Spanned;

use super::{Conversion, count};
use crate::file::Server;

/// Connections that remain for requests when all streams are open.
const REQUEST_CONNECTIONS: u32 = 1_000;

pub(super) struct ConnectionLimits {
    pub(super) streams: usize,
    pub(super) connections: usize,
}

impl Conversion<'_> {
    /// Derives a limit that is not configured from the other limit. Over HTTP/1.1, each open stream occupies a
    /// connection. So there must be more connections than streams: otherwise streams alone could block all requests.
    pub(super) fn connection_limits(&mut self, server: &Server) -> ConnectionLimits {
        let max = server.connections.as_ref().map(Spanned::get_ref).copied();
        let streams = count(server.streams, default_streams(max));
        self.require_request_connections(server, streams);
        let connections = count(max, streams.saturating_add(REQUEST_CONNECTIONS));
        ConnectionLimits {
            streams: streams as usize,
            connections: connections as usize,
        }
    }

    fn require_request_connections(&mut self, server: &Server, streams: u32) {
        let max = server.connections.as_ref();
        let max = max.filter(|max| server.streams.is_some() && max.get_ref().get() <= streams);
        if let Some(max) = max {
            let message = format!(
                "each of the {streams} streams (`server.streams`) occupies a connection, so none is left for \
                 requests: allow more connections, or fewer streams"
            );
            self.error(&max.span(), message);
        }
    }
}

fn default_streams(connections: Option<NonZeroU32>) -> u32 {
    connections.map_or(REQUEST_CONNECTIONS, |max| {
        (max.get() / 2).clamp(1, REQUEST_CONNECTIONS)
    })
}
