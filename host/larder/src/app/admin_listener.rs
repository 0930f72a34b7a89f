//! Binds the admin address, before components load, so that it can report the progress of the start.

use tokio::net::TcpListener;

use super::RunError;
use larder_admin as admin;

/// Binds the admin address. If the default address is in use, for example by another server, that is only a
/// warning.
pub async fn bind_admin(config: &admin::Config) -> Result<Option<TcpListener>, RunError> {
    let Some(listen) = config.listen else { return Ok(None) };
    match TcpListener::bind(listen).await {
        Ok(listener) => {
            let at = listener.local_addr().unwrap_or(listen);
            tracing::info!(url = %format_args!("http://{at}"), "serving /livez, /readyz, /metrics and /status");
            Ok(Some(listener))
        }
        Err(error) if config.is_explicit => Err(RunError::BindAdmin { listen, error }),
        Err(error) => {
            tracing::warn!(
                %error,
                %listen,
                "cannot bind the default admin address, so /metrics and /status are not available; set `admin.listen` to another address, or to \"off\""
            );
            Ok(None)
        }
    }
}
