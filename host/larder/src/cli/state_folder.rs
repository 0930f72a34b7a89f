//! The state folder of commands that work on the files of a server. A service manager passes the state folder to the
//! server, but not to the users of commands: so a command requests it from the server, or searches for the folder in
//! which something is stored for its plugins folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::admin_args::AdminArgs;
use super::out;
use super::server_address::ServerAddress;
use crate::app::use_stored_keys;
use larder_admin::Folders;
use larder_config::{self as config, Config, ConfigError, Overrides};

/// How long the server may take to answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Returns the configuration with the state folder of its server, and with the keys under which something is stored.
pub(super) async fn of_server(config: Config, admin: AdminArgs) -> Result<Config, ConfigError> {
    let mut config = with_state_dir(config, admin).await?;
    use_stored_keys(&mut config);
    Ok(config)
}

/// Returns the configuration with the state folder of its server.
pub(super) async fn with_state_dir(
    config: Config,
    admin: AdminArgs,
) -> Result<Config, ConfigError> {
    match find(&config, admin).await {
        Some(state_dir) if state_dir != config.state_dir => {
            out::note(&format!(
                "larder: uses the state folder {}",
                state_dir.display()
            ));
            config::load(&Overrides {
                state_dir: Some(state_dir),
                ..config.overrides
            })
        }
        _ => Ok(config),
    }
}

/// Returns the state folder, if the configuration does not determine the folder.
async fn find(config: &Config, admin: AdminArgs) -> Option<PathBuf> {
    if config.default_state_dirs.is_empty() {
        return None;
    }
    match of_running_server(config, admin).await {
        Some(state_dir) => Some(state_dir),
        None => config
            .default_state_dirs
            .iter()
            .find(|folder| has_state(config, folder))
            .cloned(),
    }
}

/// Returns the state folder of the server at the admin address, if this server has the same configuration file.
async fn of_running_server(config: &Config, admin: AdminArgs) -> Option<PathBuf> {
    let ServerAddress { url, builder, .. } = admin.resolve().ok()?;
    let status: serde_json::Value = tokio::time::timeout(TIMEOUT, builder.status(&url))
        .await
        .ok()?
        .ok()?;
    let Folders {
        configuration,
        state,
        ..
    } = serde_json::from_value(status["folders"].clone()).ok()?;
    let is_same = is_same_file(config.file.as_deref()?, Path::new(&configuration?));
    is_same.then(|| state.into())
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(one) == real(other)
}

/// Whether a server stored something in this folder for one of the plugins folders. A folder that this user cannot read
/// does not belong to a server of this user.
fn has_state(config: &Config, state_dir: &Path) -> bool {
    let mut teams = config.teams.values();
    teams.any(|team| crate::app::is_stored(team, state_dir))
}
