//! Binds the admin address before components load, so that the address can report the progress of the start.

use super::{App, LogHook, Purpose, RunError};
use larder_admin as admin;
use larder_config::Config;
use larder_mcp::Listener;

impl App {
    /// Builds the parts of a command like `build`, with an admin address, for `larder dev`.
    pub(crate) async fn build_with_admin(
        config: Config,
        admin: Option<Listener>,
        log_hook: LogHook,
    ) -> Result<Self, RunError> {
        Self::wire(for_command(config), admin, Purpose::Development, log_hook).await
    }
}

/// Turns off what only a server has.
pub(super) fn for_command(mut config: Config) -> Config {
    config.audit.to = None;
    config.telemetry = None;
    // A command is not a replica: as a replica, it would check what servers watch.
    config.cluster = None;
    config
}

/// What happens if a configured admin address cannot be bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfInUse {
    /// The server does not start.
    Fail,
    /// The server starts without the address. For stdio: clients start several servers with the same configuration.
    Warn,
}

/// Binds the admin address. For the default address, which another server may use, a failure is only a warning.
pub async fn bind_admin(
    config: &admin::Config,
    if_in_use: IfInUse,
) -> Result<Option<Listener>, RunError> {
    let Some(listen) = &config.listen else {
        return Ok(None);
    };
    match Listener::bind(listen).await {
        Ok(listener) => {
            let at = listener.address().unwrap_or_else(|_| listen.clone());
            tracing::info!(url = %at.url(""), "serving /livez, /readyz, /metrics and /status");
            Ok(Some(listener))
        }
        Err(error) if config.is_explicit && if_in_use == IfInUse::Fail => {
            Err(RunError::BindAdmin {
                listen: listen.clone(),
                error,
            })
        }
        Err(error) => {
            tracing::warn!(
                %error,
                %listen,
                "cannot bind the admin address, so /metrics and /status are not available; use another address with `--admin` or `admin.listen`, or \"off\""
            );
            Ok(None)
        }
    }
}

/// Binds the admin address if it is configured. The default address is for a server over HTTP.
pub(crate) async fn bind_explicit_admin(
    config: &admin::Config,
    if_in_use: IfInUse,
) -> Result<Option<Listener>, RunError> {
    if config.is_explicit {
        bind_admin(config, if_in_use).await
    } else {
        Ok(None)
    }
}
