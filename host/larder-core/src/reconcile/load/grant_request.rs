//! Reads which grants a component requests.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{DesiredComponent, Loader};
use crate::source::{Blob, FetchOutcome};
use larder_model::policy::{Grant, GrantRequest, OwnFiles, grant_lines};
use larder_model::size;
use larder_provider::{GrantSources, LoadError};

/// Size limit of a component's grant request file in bytes.
pub const MAX_GRANT_REQUEST_SIZE: u64 = 64 << 10;

/// What a component is granted, and what it requests.
pub(super) struct GrantDecision {
    /// The operator's grant and the request, within the ceiling of the team.
    pub(super) grant: Arc<Grant>,
    /// The requested lines beyond the operator's grant.
    pub(super) requests: BTreeSet<String>,
    /// The requested lines beyond the ceiling of the team, which are refused.
    pub(super) denied: BTreeSet<String>,
    pub(super) sources: GrantSources,
}

impl Loader {
    /// Reads the grant request of a component and combines it with the operator's grant.
    pub(super) async fn decide_grant(
        &self,
        desired: &DesiredComponent,
    ) -> Result<GrantDecision, LoadError> {
        let granted = &desired.config.grant;
        let request = self
            .read_grant_request(
                desired.artifact.grant_request.clone(),
                desired.own_files.clone(),
            )
            .await?;
        let sources = GrantSources {
            requested: request.lines(),
            allowed: grant_lines(granted),
        };
        let capped = desired.ceiling.cap_request(request);
        let request = capped.allowed;
        let requests = request.lines_beyond(granted);
        Ok(GrantDecision {
            grant: Arc::new(request.merged_into(granted)),
            requests,
            denied: capped.denied.into_iter().collect(),
            sources,
        })
    }

    /// Reads and parses the grant request of a component.
    async fn read_grant_request(
        &self,
        blob: Option<Blob>,
        own_files: Arc<OwnFiles>,
    ) -> Result<GrantRequest, LoadError> {
        let Some(blob) = blob else {
            return Ok(GrantRequest::default());
        };
        let parse = self.parse_grant_request;
        let folder = self.base_folder.clone();
        let work = self
            .threads
            .run(move || match blob.fetch(MAX_GRANT_REQUEST_SIZE) {
                Ok(FetchOutcome::Bytes(bytes)) => {
                    let text = std::str::from_utf8(&bytes)
                        .map_err(|error| LoadError::GrantRequestFile(error.to_string()))?;
                    let request = parse(text, &folder).map_err(LoadError::GrantRequestFile)?;
                    match request
                        .dirs
                        .iter()
                        .find_map(|dir| Some((dir, own_files.conflict(dir)?)))
                    {
                        Some((dir, conflict)) if conflict.is_refused => {
                            Err(LoadError::GrantRequestFile(format!(
                                "`{}` {conflict}",
                                dir.host.display()
                            )))
                        }
                        _ => Ok(request),
                    }
                }
                Ok(FetchOutcome::TooLarge(size)) => Err(LoadError::GrantRequestFile(format!(
                    "the file has {}; the limit is {}",
                    size::show(size),
                    size::show(MAX_GRANT_REQUEST_SIZE)
                ))),
                Err(error) => Err(LoadError::Unreadable(error.to_string())),
            });
        work.await
            .unwrap_or_else(|error| Err(LoadError::Unreadable(error.to_string())))
    }
}
