//! Converts `[admin]`.

use std::net::{Ipv4Addr, SocketAddr};

use super::Conversion;
use super::socket::WrittenAt;
use crate::file::{Admin, Server};
use crate::{AdminAddress, Overrides};
use larder_admin as admin;

/// What the operator has to do before other machines can reach the admin address.
const PROTECTION: &str = "set `admin.token` to the digest of a token, or `admin.scope` to a scope of the OAuth issuer, or `admin.unauthenticated = true`, since anyone who reaches it may see what is served and what went wrong";

impl Conversion<'_> {
    /// `has_issuer` is whether tokens of an OAuth issuer are accepted.
    pub(super) fn admin(
        &mut self,
        raw: &Admin,
        server: &Server,
        overrides: &Overrides,
        has_issuer: bool,
    ) -> admin::Config {
        let (AdminAddress(listen), at) = match (&overrides.admin, &raw.listen) {
            (None, Some(listen)) => (listen.get_ref().clone(), WrittenAt::File(listen.span())),
            (Some(listen), _) => (listen.clone(), WrittenAt::Option("--admin")),
            (None, None) => (default_address(), WrittenAt::Option("--admin")),
        };
        let listen = listen.map(|listen| self.absolute_socket(listen, raw.socket_mode, &at));
        let scope = self.admin_scope(raw, has_issuer);
        let public = listen.as_ref().filter(|listen| !listen.is_local());
        if let Some(public) = public.filter(|_| !is_protected(raw, scope.as_deref())) {
            let message = format!("{public} is reachable from outside this machine: {PROTECTION}");
            self.error_at(&at, message);
        }
        let hosts = raw.hosts.iter().flatten();
        admin::Config {
            // If the file contains the default address, that has the same effect as if the file omits it.
            is_explicit: overrides.admin.is_some() || listen != default_address().0,
            listen,
            hosts: hosts.map(|name| name.0.clone()).collect(),
            token: raw.token.map(|digest| digest.0),
            scope,
            trusted_proxies: server.trusted_proxies.iter().map(|proxy| proxy.0).collect(),
        }
    }

    /// Returns the scope of operators. A scope has no spaces, because tokens list scopes separated by spaces.
    fn admin_scope(&mut self, raw: &Admin, has_issuer: bool) -> Option<String> {
        let scope = raw.scope.as_ref()?;
        let text = scope.get_ref();
        if text.is_empty() || text.contains(|c: char| c.is_whitespace()) {
            self.error(
                &scope.span(),
                "write one scope, such as \"larder:admin\"".to_owned(),
            );
        } else if !has_issuer {
            let message = "a scope is part of the tokens of an OAuth issuer: configure `[auth.oauth]`, or use `admin.token`";
            self.error(&scope.span(), message.to_owned());
        }
        Some(text.clone())
    }
}

fn default_address() -> AdminAddress {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 7879));
    AdminAddress(Some(address.into()))
}

fn is_protected(raw: &Admin, scope: Option<&str>) -> bool {
    raw.token.is_some() || scope.is_some() || raw.unauthenticated == Some(true)
}
