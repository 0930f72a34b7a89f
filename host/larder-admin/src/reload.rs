//! The path `/reload`, which has the same effect as SIGHUP, and returns the result.

use std::fmt;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use futures_util::future::BoxFuture;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::response::{json, text};
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
        let message =
            "other machines can reach this address, so `admin.token` has to be configured for this";
        return text(StatusCode::FORBIDDEN, message.into());
    }
    let reloaded = match admin.started() {
        Some(started) => (started.reload.0)().await,
        None => ReloadReport {
            errors: vec![STARTING.into()],
            ..ReloadReport::default()
        },
    };
    let status = if reloaded.ok {
        StatusCode::OK
    } else {
        StatusCode::UNPROCESSABLE_ENTITY
    };
    json(status, &reloaded)
}
