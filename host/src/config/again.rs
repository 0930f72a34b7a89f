//! The configuration read once more while the house runs: what takes effect now, and what at the next start.

use super::{Config, ConfigError, load};
use crate::endpoint::{self, auth};
use crate::reconcile;

/// What a second look found.
#[derive(Debug, Clone)]
pub struct Again {
    /// What takes effect now: what each provider gets, its limits, and what has to be approved.
    pub now: reconcile::Config,
    /// Whom to believe now.
    pub auth: auth::Config,
    /// Keys that say something else than at the start, and take effect at the next one.
    pub later: Vec<&'static str>,
}

impl Config {
    /// Reads the same file with the same command line. Faults leave everything as it is.
    pub fn again(&self) -> Result<Again, ConfigError> {
        let fresh = load(&self.overrides)?;
        Ok(self.against(fresh))
    }

    /// What differs from the configuration that the house was started with.
    pub(super) fn against(&self, fresh: Self) -> Again {
        let rooms = [
            ("plugins", self.plugins != fresh.plugins),
            (
                "state_dir",
                self.reconcile.approvals != fresh.reconcile.approvals && self.plugins == fresh.plugins,
            ),
            ("watch", self.reconcile.poll != fresh.reconcile.poll || self.lookout != fresh.lookout),
            ("cache", self.gateway.cache != fresh.gateway.cache),
            ("compiler", format!("{:?}", self.sandbox.compiler) != format!("{:?}", fresh.sandbox.compiler)),
            ("server", self.differs_in_server(&fresh)),
            ("admin", self.admin != fresh.admin),
            ("audit", self.audit != fresh.audit),
        ];
        let later = rooms.into_iter().filter_map(|(key, differs)| differs.then_some(key)).collect();
        let now = reconcile::Config {
            plugins: self.reconcile.plugins.clone(),
            approvals: self.reconcile.approvals.clone(),
            poll: self.reconcile.poll,
            ..fresh.reconcile
        };
        Again { now, auth: fresh.endpoint.auth, later }
    }

    fn differs_in_server(&self, fresh: &Self) -> bool {
        // `Debug` shows every field.
        let server = |config: &Self| {
            let Self { endpoint, gateway, watched_uris, sandbox, grace, log, .. } = config;
            let endpoint = endpoint::Config { auth: auth::Config::default(), ..endpoint.clone() };
            let gateway = (gateway.page_size, &gateway.instructions);
            format!("{endpoint:?} {gateway:?} {watched_uris} {} {grace:?} {log:?}", sandbox.slots)
        };
        server(self) != server(fresh)
    }
}
