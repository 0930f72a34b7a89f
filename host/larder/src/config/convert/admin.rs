//! Converts `[admin]`.

use std::net::{Ipv4Addr, SocketAddr};

use super::Conversion;
use crate::config::file::Admin;
use larder_admin as admin;

impl Conversion<'_> {
    pub(super) fn admin(&mut self, raw: &Admin) -> admin::Config {
        let default = SocketAddr::from((Ipv4Addr::LOCALHOST, 7879));
        let listen = raw.listen.as_ref().map_or(Some(default), |listen| listen.get_ref().0);
        let public = listen.filter(|listen| !listen.ip().is_loopback());
        let is_protected = raw.token.is_some() || raw.unauthenticated == Some(true);
        if let (Some(public), Some(at), false) = (public, &raw.listen, is_protected) {
            let message = format!(
                "{public} is reachable from outside this machine: set `admin.token` to the digest of a token, or `admin.unauthenticated = true`, since anyone who reaches it may see what is served and what went wrong"
            );
            self.error(&at.span(), message);
        }
        admin::Config {
            // Writing down the default address means the same as leaving it out.
            is_explicit: listen != Some(default),
            listen,
            hosts: raw.hosts.clone().unwrap_or_default(),
            token: raw.token.map(|digest| digest.0),
        }
    }
}
