//! The address for operators: taken before anything slow is done, so that who looks sees the start.

use tokio::net::TcpListener;

use super::RunError;
use crate::admin;

/// Takes the address. One that nobody wrote down may be another server's already: that is said, and no more.
pub async fn bind_admin(config: &admin::Config) -> Result<Option<TcpListener>, RunError> {
    let Some(listen) = config.listen else { return Ok(None) };
    match TcpListener::bind(listen).await {
        Ok(listener) => {
            let at = listener.local_addr().unwrap_or(listen);
            tracing::info!("/livez, /readyz, /metrics and /status are at http://{at}");
            Ok(Some(listener))
        }
        Err(error) if config.is_written => Err(RunError::BindAdmin { listen, error }),
        Err(error) => {
            tracing::warn!(
                %error,
                "no /metrics and no /status of this server: {listen} cannot be had; set `admin.listen` to another address, or to \"off\""
            );
            Ok(None)
        }
    }
}
