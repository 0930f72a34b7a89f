//! How many may be connected at the same time, and how many of these may listen.

use toml::Spanned;

use super::{Conversion, count};
use crate::config::file::Server;

/// What is left for those who ask, however many listen.
const ASKING: u32 = 1_000;

pub(super) struct Places {
    pub(super) streams: usize,
    pub(super) connections: usize,
}

impl Conversion<'_> {
    /// Over HTTP/1.1 each stream holds a connection for as long as it lasts. So there are more connections than
    /// streams: listeners alone must not be able to shut everybody else out.
    pub(super) fn places(&mut self, server: &Server) -> Places {
        let connections = server.connections.as_ref();
        let few = connections.map_or(ASKING, |most| (most.get_ref().get() / 2).clamp(1, ASKING));
        let streams = count(server.streams, few);
        if let Some(most) =
            connections.filter(|most| server.streams.is_some() && most.get_ref().get() <= streams)
        {
            let what = format!(
                "each of the {streams} streams (`server.streams`) holds a connection, and none is left for \
                 those who ask: allow more connections, or fewer streams"
            );
            self.fault(&most.span(), what);
        }
        let connections = count(connections.map(Spanned::get_ref).copied(), streams.saturating_add(ASKING));
        Places { streams: streams as usize, connections: connections as usize }
    }
}
