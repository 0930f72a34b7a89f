//! Converts `[admin]`.

use std::net::{Ipv4Addr, SocketAddr};

use super::Conversion;
use crate::config::Overrides;
use crate::config::file::Admin;
use larder_admin as admin;

impl Conversion<'_> {
    pub(super) fn admin(&mut self, raw: &Admin, overrides: &Overrides) -> admin::Config {
        let default = SocketAddr::from((Ipv4Addr::LOCALHOST, 7879));
        let in_file = raw.listen.as_ref().map_or(Some(default), |listen| listen.get_ref().0);
        let listen = overrides.admin.map_or(in_file, |admin| admin.0);
        let is_protected = raw.token.is_some() || raw.unauthenticated == Some(true);
        if let Some(public) = listen.filter(|listen| !listen.ip().is_loopback() && !is_protected) {
            let message = format!(
                "{public} is reachable from outside this machine: set `admin.token` to the digest of a token, or `admin.unauthenticated = true`, since anyone who reaches it may see what is served and what went wrong"
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
        }
    }
}
