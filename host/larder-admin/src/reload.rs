//! The path `/reload`, which has the same effect as SIGHUP, and returns the result.

use std::fmt;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::response::{json, report_status, token_required};
use super::{Admin, STARTING};

/// The path.
pub(super) const PATH: &str = "/reload";

/// The result of a reload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReloadReport {
    /// Whether the configuration in the file is in effect, except for values that need a restart.
    pub ok: bool,
    /// Why the configuration is not in effect.
    pub errors: Vec<String>,
    /// The keys whose values in the file take effect only after a restart.
    pub needs_restart: Vec<String>,
}

/// Reloads the configuration and scans the plugins folders.
#[derive(Clone)]
pub struct ReloadTrigger(Arc<dyn Fn() -> BoxFuture<'static, ReloadReport> + Send + Sync>);

impl ReloadTrigger {
    /// Creates a trigger that calls `reload`.
    pub fn new(
        reload: impl Fn() -> BoxFuture<'static, ReloadReport> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(reload))
    }
}

impl fmt::Debug for ReloadTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReloadTrigger")
    }
}

/// The sender of this request cannot grant anything, because the file decides. The token, or an address that only this
/// machine can reach, is required because each reload costs CPU time.
pub(super) async fn post(State(admin): State<Admin>) -> Response {
    if !admin.0.may_reload {
        return token_required();
    }
    let report = match admin.started() {
        Some(started) => (started.reload.0)().await,
        None => ReloadReport::failed(STARTING),
    };
    json(report_status(report.ok), &report)
}

impl ReloadReport {
    fn failed(error: &str) -> Self {
        let errors = vec![error.to_owned()];
        Self {
            errors,
            ..Self::default()
        }
    }
}
