//! Where the sessions of legacy clients are stored, so that they continue after a restart.

use std::path::PathBuf;
use std::sync::Arc;

use super::App;
use larder_config::Config;
use larder_mcp::{FileSessionStore, ListenAddress};
use larder_model::name::{Digest, ReplicaName};

/// The folder for the sessions of all servers that use the same state folder.
const FOLDER: &str = "sessions";

impl App {
    /// Stores sessions in the state folder. If that is impossible, the sessions end with the server. Sessions also end
    /// with a server whose clients cannot find it after a restart.
    pub(super) async fn keep_sessions(&self) {
        let replica = self.replicas.as_ref().map(|all| all.configured_name());
        if let Some(None) = replica {
            tracing::info!(
                "the sessions of legacy clients end with this process: they continue after a restart if `cluster.replica` \
                 names this replica"
            );
            return;
        }
        let Some(folder) = folder(&self.reloader.config(), replica.flatten()) else {
            return;
        };
        match FileSessionStore::open(folder.clone()).await {
            Ok(store) => self.endpoint.keep_sessions(Arc::new(store)).await,
            Err(error) => tracing::warn!(
                folder = %folder.display(), %error,
                "sessions cannot be stored: clients with a session must connect again after a restart"
            ),
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
