//! The maximum numbers of connections and of streams.

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
        let connections = server.connections.as_ref();
        let default_streams = connections.map_or(REQUEST_CONNECTIONS, |max| {
            (max.get_ref().get() / 2).clamp(1, REQUEST_CONNECTIONS)
        });
        let streams = count(server.streams, default_streams);
        if let Some(max) =
            connections.filter(|max| server.streams.is_some() && max.get_ref().get() <= streams)
        {
            let message = format!(
                "each of the {streams} streams (`server.streams`) occupies a connection, so none is left for \
                 requests: allow more connections, or fewer streams"
            );
            self.error(&max.span(), message);
        }
        let connections = count(
            connections.map(Spanned::get_ref).copied(),
            streams.saturating_add(REQUEST_CONNECTIONS),
        );
        ConnectionLimits {
            streams: streams as usize,
            connections: connections as usize,
        }
    }
}
