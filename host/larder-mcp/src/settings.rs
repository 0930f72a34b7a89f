//! The parts of the configuration that a reload replaces while requests are served. All other parts are read once, when
//! the endpoint is created.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::wire::json_writer;
use crate::{Config, Extension, RequestLogMode, SERVER_NAME};
use larder_model::resource::Caller;
use larder_runtime::host_policy::HostPolicy;
use larder_runtime::trusted_proxies::TrustedProxies;

/// The current settings.
pub(super) struct Settings {
    host_policy: HostPolicy,
    /// The policy for requests through a Unix socket.
    unix_host_policy: HostPolicy,
    pub(super) body_limit: usize,
    pub(super) keep_alive: Duration,
    pub(super) stall_timeout: Duration,
    pub(super) shutdown_grace: Duration,
    pub(super) request_log: RequestLogMode,
    pub(super) trusted_proxies: TrustedProxies,
    pub(super) title: Option<String>,
    /// The `serverInfo` object, as JSON.
    pub(super) server_info: String,
    pub(super) extensions: BTreeSet<Extension>,
}

/// Settings that cannot change while the endpoint serves.
pub(super) struct FixedSettings {
    pub(super) sessions: usize,
    pub(super) session_idle_timeout: Duration,
    pub(super) streams: usize,
    pub(super) connections: usize,
    pub(super) waiting_bytes: usize,
    /// The caller of messages on stdio, and of calls without a caller.
    pub(super) caller: Caller,
}

impl Settings {
    /// Returns the hosts and origins that requests may have.
    pub(super) fn host_policy(&self, is_unix_socket: bool) -> &HostPolicy {
        if is_unix_socket {
            &self.unix_host_policy
        } else {
            &self.host_policy
        }
    }

    /// Separates the settings that a reload can replace from all others. Each field of the configuration is named here,
    /// so that a new field cannot be forgotten. The address is bound, and credentials are checked, in other modules.
    pub(super) fn split(config: Config) -> (FixedSettings, Self) {
        let Config {
            listen: _,
            hosts,
            origins,
            body_limit,
            sessions,
            session_idle_timeout,
            streams,
            connections,
            waiting_bytes,
            keep_alive,
            stall_timeout,
            shutdown_grace,
            request_log,
            trusted_proxies,
            auth: _,
            caller,
            title,
            extensions,
        } = config;
        let settings = Self {
            host_policy: HostPolicy::new(&hosts, &origins),
            unix_host_policy: HostPolicy::new(&hosts, &origins).with_empty_host(),
            body_limit,
            keep_alive,
            stall_timeout,
            shutdown_grace,
            request_log,
            trusted_proxies,
            server_info: server_info(title.as_deref()),
            title,
            extensions,
        };
        (
            FixedSettings {
                sessions,
                session_idle_timeout,
                streams,
                connections,
                waiting_bytes,
                caller,
            },
            settings,
        )
    }
}

fn server_info(title: Option<&str>) -> String {
    let json = json_writer::object(|o| {
        o.text("name", SERVER_NAME);
        o.text("version", env!("CARGO_PKG_VERSION"));
        o.optional_text("title", title);
    });
    String::from_utf8(json).unwrap_or_default()
}
