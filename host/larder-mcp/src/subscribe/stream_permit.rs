//! Permits for notification streams, whose number is limited for each team and for the server.

use http::StatusCode;
use tokio::sync::OwnedSemaphorePermit;

use crate::Endpoint;
use crate::wire::rpc_error::{INTERNAL_ERROR, RpcError};
use larder_model::resource::Caller;
use larder_runtime::shares::{Resource, SharePermit};

/// A permit for one notification stream. It is released on drop.
pub(crate) struct StreamPermit {
    _server: SharePermit,
    _team: Option<OwnedSemaphorePermit>,
}

impl Endpoint {
    /// Acquires a permit for a notification stream, from the share of the caller's team and from the server.
    pub(crate) fn stream_permit(&self, caller: &Caller) -> Result<StreamPermit, RpcError> {
        let team = self
            .0
            .gateway
            .stream_permit(caller)
            .map_err(RpcError::quota_exceeded)?;
        // The first team pays, so that a caller does not use up permits that other members of its later teams need.
        let shares = caller
            .teams
            .first()
            .map(|team| self.0.stream_shares.team(team));
        let taken = shares
            .as_ref()
            .and_then(|shares| shares.try_take(Resource::Streams, 1));
        let server = taken.ok_or_else(|| {
            if let Some(shares) = &shares {
                shares.count_refusal(Resource::Streams);
            }
            RpcError::new(
                INTERNAL_ERROR,
                "too many clients are listening: try again later",
            )
            .with_status(StatusCode::SERVICE_UNAVAILABLE)
        })?;
        Ok(StreamPermit {
            _server: server,
            _team: team,
        })
    }
}
