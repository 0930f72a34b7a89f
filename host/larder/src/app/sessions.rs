//! Where the sessions of legacy clients are stored, so that they continue after a restart.

use std::path::PathBuf;
use std::sync::Arc;

use super::Purpose;
use super::replicas::Replicas;
use larder_config::Config;
use larder_mcp::{FileSessionStore, ListenAddress, StoredSessions};
use larder_model::name::{Digest, ReplicaName};

/// The folder for the sessions of all servers that use the same state folder.
const FOLDER: &str = "sessions";

/// Opens the store for sessions in the state folder. If that is impossible, the sessions end with the server. Sessions
/// also end with a server whose clients cannot find it after a restart, and a server on stdio has no sessions.
pub(super) async fn stored_sessions(
    config: &Config,
    replicas: Option<&Replicas>,
    purpose: Purpose,
) -> Option<StoredSessions> {
    if config.is_over_stdio || !purpose.persists_state() {
        return None;
    }
    let replica = replicas.map(Replicas::configured_name);
    if let Some(None) = replica {
        tracing::info!(
            "the sessions of legacy clients end with this process: they continue after a restart if `cluster.replica` \
             names this replica"
        );
        return None;
    }
    let folder = folder(config, replica.flatten())?;
    match FileSessionStore::open(folder.clone()).await {
        Ok(store) => StoredSessions::list(Arc::new(store)).await,
        Err(error) => {
            tracing::warn!(
                folder = %folder.display(), %error,
                "sessions cannot be stored: clients with a session must connect again after a restart"
            );
            None
        }
    }
}

/// Each address has a folder of its own, because servers for other folders may share the state folder. A port that the
/// operating system chooses is different after a restart. Replicas on several machines may have the same address and
/// share the state folder, so each of them has a folder, too.
fn folder(config: &Config, replica: Option<&ReplicaName>) -> Option<PathBuf> {
    let address = match &config.endpoint.listen {
        ListenAddress::Tcp(address) if address.port() == 0 => return None,
        ListenAddress::Tcp(address) => address.to_string(),
        ListenAddress::Unix { path, .. } => path.to_string_lossy().into_owned(),
    };
    let server = match replica {
        Some(name) => format!("{address} {name}"),
        None => address,
    };
    Some(
        config
            .state_dir
            .join(FOLDER)
            .join(Digest::of(server.as_bytes()).short()),
    )
}
