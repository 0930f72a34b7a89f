//! Converts `[server]`: the endpoint, the gateway, and the log.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::connections::ConnectionLimits;
use super::socket::WrittenAt;
use super::{Conversion, count, log_filter, time, time_or_never};
use crate::file::{self, Cache, Search, Server};
use crate::{Log, LogFormat, Overrides};
use larder_core::gateway;
use larder_mcp::{self as endpoint, ListenAddress};
use larder_model::name::Teams;
use larder_model::resource::Caller;

/// A client that reads nothing for this time is disconnected.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) fn gateway(
    server: &Server,
    cache: &Cache,
    search: &Search,
    private: bool,
    shared_teams: Vec<Teams>,
) -> gateway::Config {
    gateway::Config {
        page_size: gateway::PageSize {
            resources: server.page_size.resources.unwrap_or(1_000),
            templates: server.page_size.templates.unwrap_or(1_000),
        },
        instructions: server.instructions.clone(),
        cache: gateway::CacheConfig {
            bytes: cache.bytes.map_or(64 << 20, |size| size.0),
            entries: cache.entries.unwrap_or(10_000) as usize,
        },
        private,
        shared_teams,
        search_timeout: time(search.timeout, 1),
    }
}

pub(super) fn ready_timeout(server: &Server) -> Duration {
    time_or_never(server.ready_timeout, 30).unwrap_or_default()
}

pub(super) fn endpoint(
    server: Server,
    listen: ListenAddress,
    limits: ConnectionLimits,
    auth: endpoint::auth::Config,
    anonymous_teams: Teams,
) -> endpoint::Config {
    let hosts = server.hosts.unwrap_or_default().into_iter();
    let origins = server.origins.unwrap_or_default().into_iter();
    let proxies = server.trusted_proxies.into_iter();
    let extensions = server.extensions.into_iter();
    endpoint::Config {
        listen,
        hosts: hosts.map(|name| name.0).collect(),
        origins: origins.map(|origin| origin.0).collect(),
        body_limit: server.body_limit.map_or(1 << 20, |size| size.0),
        sessions: count(server.sessions, 1_000) as usize,
        session_idle_timeout: time(server.session_idle_timeout, 30 * 60),
        streams: limits.streams,
        connections: limits.connections,
        waiting_bytes: server.waiting_bytes.map_or(256 << 20, |size| size.0),
        keep_alive: time(server.keep_alive, 15),
        stall_timeout: STALL_TIMEOUT,
        shutdown_grace: time(server.shutdown_grace, 10),
        request_log: request_log(server.log.requests),
        trusted_proxies: proxies.map(|proxy| proxy.0).collect(),
        auth,
        caller: caller(None, anonymous_teams),
        title: server.title,
        extensions: extensions.map(endpoint::Extension::from).collect(),
    }
}

/// Returns the caller of clients without credentials.
pub(super) fn caller(subject: Option<String>, teams: Teams) -> Caller {
    Caller {
        subject,
        issuer: None,
        teams,
        scopes: Vec::new(),
    }
}

fn request_log(raw: Option<file::Requests>) -> endpoint::RequestLogMode {
    match raw {
        Some(file::Requests::Off) => endpoint::RequestLogMode::Off,
        None | Some(file::Requests::Errors) => endpoint::RequestLogMode::Errors,
        Some(file::Requests::All) => endpoint::RequestLogMode::All,
    }
}

impl Conversion<'_> {
    /// Returns the address to listen on. A non-loopback address requires credentials, or an explicit
    /// `unauthenticated = true`.
    pub(super) fn listen(
        &mut self,
        server: &Server,
        overrides: &Overrides,
        is_open: bool,
    ) -> ListenAddress {
        let unauthenticated = server.unauthenticated.as_ref();
        if let Some(flag) = unauthenticated.filter(|flag| *flag.get_ref() && !is_open) {
            let message = "contradicts the credentials in `auth`: remove one of the two";
            self.error(&flag.span(), message);
        }
        let listen = self.listen_address(server, overrides);
        // As on a loopback address, only clients on this machine can connect to a socket.
        if let ListenAddress::Tcp(address) = &listen
            && !address.ip().is_loopback()
        {
            self.require_protection(server, overrides, *address, is_open);
        }
        listen
    }

    /// Returns the address on the command line, in the file, or the default.
    fn listen_address(&mut self, server: &Server, overrides: &Overrides) -> ListenAddress {
        let (address, at) = match (&overrides.listen, &server.listen) {
            (Some(address), _) => (address.clone(), WrittenAt::Option("--listen")),
            (None, Some(address)) => (address.get_ref().0.clone(), WrittenAt::File(address.span())),
            (None, None) => return SocketAddr::from((Ipv4Addr::LOCALHOST, 7878)).into(),
        };
        self.absolute_socket(address, server.socket_mode, &at)
    }

    /// Reports what is missing at an address that other machines can reach.
    fn require_protection(
        &mut self,
        server: &Server,
        overrides: &Overrides,
        address: SocketAddr,
        is_open: bool,
    ) {
        let missing = self.missing_protection(server, is_open);
        if missing.is_empty() {
            return;
        }
        let message = format!(
            "{address} is reachable from outside this machine: set {}",
            missing.join(", and ")
        );
        match &server.listen {
            Some(raw) if overrides.listen.is_none() => self.error(&raw.span(), message),
            _ => self.error_for_key("--listen", message),
        }
    }

    fn missing_protection(&self, server: &Server, is_open: bool) -> Vec<&'static str> {
        let mut missing = Vec::new();
        if server.hosts.as_ref().is_none_or(Vec::is_empty) {
            missing.push("`server.hosts` with the names under which clients reach it");
        }
        let unauthenticated = server.unauthenticated.as_ref();
        let permits_everybody = unauthenticated.is_some_and(|flag| *flag.get_ref());
        if is_open && !self.context.auth_active && !permits_everybody {
            missing.push(
                "credentials (`larder token new` creates a token), or `server.unauthenticated = true` \
                 if anyone who reaches it may read everything",
            );
        }
        missing
    }

    pub(super) fn log(&mut self, server: &Server) -> Log {
        let variable = self.variable("LARDER_LOG");
        let raw = server.log.filter.as_ref();
        let filter = variable
            .or(raw.map(|filter| filter.get_ref()))
            .map_or("info", String::as_str)
            .to_owned();
        if let Err(message) = log_filter::validate(&filter) {
            match raw {
                Some(raw) if variable.is_none() => self.error(&raw.span(), message),
                _ => self.error_for_key("LARDER_LOG", message),
            }
        }
        Log {
            filter,
            format: server.log.format.unwrap_or(LogFormat::Text),
            bytes_per_second: server.log.bytes_per_second.map_or(1 << 20, |size| size.0),
        }
    }
}
