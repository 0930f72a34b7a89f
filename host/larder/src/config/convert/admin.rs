//! Converts `[admin]`.

use std::net::{Ipv4Addr, SocketAddr};

use super::Conversion;
use crate::config::Overrides;
use crate::config::file::Admin;
use larder_admin as admin;

impl Conversion<'_> {
    /// `has_issuer` is whether tokens of an OAuth issuer are accepted.
    pub(super) fn admin(&mut self, raw: &Admin, overrides: &Overrides, has_issuer: bool) -> admin::Config {
        let default = SocketAddr::from((Ipv4Addr::LOCALHOST, 7879));
        let in_file = raw.listen.as_ref().map_or(Some(default), |listen| listen.get_ref().0);
        let listen = overrides.admin.map_or(in_file, |admin| admin.0);
        let scope = self.admin_scope(raw, has_issuer);
        let is_protected = raw.token.is_some() || scope.is_some() || raw.unauthenticated == Some(true);
        if let Some(public) = listen.filter(|listen| !listen.ip().is_loopback() && !is_protected) {
            let message = format!(
                "{public} is reachable from outside this machine: set `admin.token` to the digest of a token, or `admin.scope` to a scope of the OAuth issuer, or `admin.unauthenticated = true`, since anyone who reaches it may see what is served and what went wrong"
            );
            match &raw.listen {
                Some(at) if overrides.admin.is_none() => self.error(&at.span(), message),
                _ => self.error_for_key("--admin", message),
            }
        }
        admin::Config {
            // Writing down the default address in the file means the same as leaving it out.
            is_explicit: overrides.admin.is_some() || listen != Some(default),
            listen,
            hosts: raw.hosts.iter().flatten().map(|name| name.0.clone()).collect(),
            token: raw.token.map(|digest| digest.0),
            scope,
        }
    }

    /// Returns the scope of operators. A scope has no spaces, because tokens list scopes separated by spaces.
    fn admin_scope(&mut self, raw: &Admin, has_issuer: bool) -> Option<String> {
        let scope = raw.scope.as_ref()?;
        let text = scope.get_ref();
        if text.is_empty() || text.contains(|c: char| c.is_whitespace()) {
            self.error(&scope.span(), "write one scope, such as \"larder:admin\"".to_owned());
        } else if !has_issuer {
            let message = "a scope is part of the tokens of an OAuth issuer: configure `[auth.oauth]`, or use `admin.token`";
            self.error(&scope.span(), message.to_owned());
        }
        Some(text.clone())
    }
}
