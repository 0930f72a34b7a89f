//! Where operators look, and who may.

use std::net::{Ipv4Addr, SocketAddr};

use super::Conversion;
use crate::admin;
use crate::config::file::Admin;

impl Conversion<'_> {
    pub(super) fn admin(&mut self, written: &Admin) -> admin::Config {
        let default = SocketAddr::from((Ipv4Addr::LOCALHOST, 7879));
        let listen = written.listen.as_ref().map_or(Some(default), |listen| listen.get_ref().0);
        let beyond = listen.filter(|listen| !listen.ip().is_loopback());
        let may = written.token.is_some() || written.unauthenticated == Some(true);
        if let (Some(beyond), Some(at), false) = (beyond, &written.listen, may) {
            let what = format!(
                "{beyond} is reachable from outside this machine: set `admin.token` to the digest of a token, or `admin.unauthenticated = true`, since anyone who reaches it may see what is served and what went wrong"
            );
            self.fault(&at.span(), what);
        }
        admin::Config {
            // Whoever writes down the default does not mean another thing by it.
            is_written: listen != Some(default),
            listen,
            hosts: written.hosts.clone().unwrap_or_default(),
            token: written.token.map(|digest| digest.0),
        }
    }
}
