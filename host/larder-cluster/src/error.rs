//! Errors at the start. An unreachable NATS is not an error here: the connection is made in the background.

use std::path::PathBuf;

/// Why the connection cannot even be attempted.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The credentials cannot be used.
    #[error("`cluster.credentials_file` has no NATS credentials: {0}")]
    Credentials(std::io::Error),
    /// The certificates cannot be read.
    #[error("cannot read the certificates in {}: {error}", path.display())]
    Certificates {
        /// The file with the certificates.
        path: PathBuf,
        /// What happened.
        error: std::io::Error,
    },
    /// The addresses of the servers cannot be used.
    #[error("cannot connect to NATS: {0}")]
    Connect(String),
    /// The system provides no random numbers, which are needed for the name of a replica.
    #[error("no random numbers: {0}")]
    Random(getrandom::Error),
}
