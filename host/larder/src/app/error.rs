//! Why a server cannot start, or stopped, with advice.

use std::io;

use larder_core::telemetry::TelemetryError;
use larder_mcp::{ListenAddress, Listener};
use larder_sandbox::SetUpError;

/// Why the server could not start or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The MCP address is in use or not available.
    #[error(
        "cannot listen on {listen}: {error}{}",
        bind_advice(listen, error, "--listen")
    )]
    Bind {
        /// The address.
        listen: ListenAddress,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The admin address is in use or not available.
    #[error(
        "cannot listen on {listen}: {error}{}",
        bind_advice(listen, error, "admin.listen` or `--admin")
    )]
    BindAdmin {
        /// The address.
        listen: ListenAddress,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The sockets of the service manager cannot be used.
    #[error("the sockets that the service manager has opened (`LISTEN_FDS`) cannot be used: {0}")]
    InheritedSockets(String),
    /// The audit log cannot be opened.
    #[error("cannot open the audit log (`audit.file`): {0}")]
    Audit(io::Error),
    /// The trace exporter cannot be set up.
    #[error("cannot set up the trace exporter (`telemetry.otlp`): {0}")]
    Telemetry(TelemetryError),
    /// The connection to the other replicas cannot be set up.
    #[cfg(feature = "cluster")]
    #[error("cannot set up the connection to other replicas (`cluster`): {0}")]
    Cluster(larder_cluster::ClusterError),
    /// The sandbox cannot be set up.
    #[error("cannot set up the sandbox: {0}")]
    SetUp(#[from] SetUpError),
    /// The endpoint stopped unexpectedly.
    #[error("the endpoint stopped unexpectedly: {0}")]
    Serve(#[from] io::Error),
    /// A critical task panicked. Without it, the catalogs would become outdated.
    #[error(
        "a task that keeps the catalog up to date panicked; this is a bug in Larder, and the log names the task"
    )]
    CriticalTaskPanicked,
}

fn advice(error: &io::Error, option: &str) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("; is another server running there? choose another address with `{option}`")
        }
        io::ErrorKind::AddrNotAvailable => "; it is not an address of this machine".into(),
        io::ErrorKind::PermissionDenied => format!("; choose a port above 1023 with `{option}`"),
        _ => String::new(),
    }
}

fn bind_advice(listen: &ListenAddress, error: &io::Error, option: &str) -> String {
    match (listen, error.kind()) {
        (ListenAddress::Tcp(_), _) => advice(error, option),
        (_, io::ErrorKind::AddrInUse | io::ErrorKind::AlreadyExists) => {
            format!("; choose another path with `{option}`")
        }
        (_, io::ErrorKind::NotFound) => "; create the folder first".into(),
        (_, io::ErrorKind::PermissionDenied) => {
            "; the user who runs the server must be able to create files in the folder".into()
        }
        _ => String::new(),
    }
}

/// Binds the MCP address before the components load. Early clients wait until the server accepts connections.
pub async fn bind(listen: &ListenAddress) -> Result<Listener, RunError> {
    Listener::bind(listen)
        .await
        .map_err(|error| RunError::Bind {
            listen: listen.clone(),
            error,
        })
}
