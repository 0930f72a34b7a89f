//! The path `/forget`, which deletes the stored values of a provider.

use axum::extract::{Query, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::Admin;
use super::response::{json, report_status, token_required};
use larder_core::audit::AuditEvent;
use larder_model::name::{ProviderName, TeamName};
use larder_runtime::history::{Event, EventKind};

/// The path.
pub(super) const PATH: &str = "/forget";

/// The provider whose values are deleted.
#[derive(Debug, Deserialize)]
pub(super) struct ForgetQuery {
    team: String,
    provider: String,
}

/// What was deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetReport {
    /// Whether the values are deleted.
    pub ok: bool,
    /// Why values were not deleted.
    #[serde(default)]
    pub error: Option<String>,
    /// The number of keys that were deleted.
    pub keys: u64,
    /// The bytes that were deleted.
    pub bytes: u64,
    /// The number of resources whose text was deleted from the full-text index.
    #[serde(default)]
    pub documents: u64,
}

/// The sender of this request can delete values, so the same credential is required as for a reload: the token, or an
/// address that only this machine can reach.
pub(super) async fn post(State(admin): State<Admin>, Query(query): Query<ForgetQuery>) -> Response {
    if !admin.0.may_reload {
        return token_required();
    }
    let forgotten = admin.forget(&query).await;
    let report = forgotten.unwrap_or_else(ForgetReport::failed);
    json(report_status(report.ok), &report)
}

impl ForgetReport {
    fn failed(error: String) -> Self {
        let error = Some(error);
        Self {
            error,
            ..Self::default()
        }
    }
}

impl Admin {
    fn record_removal(&self, query: &ForgetQuery) {
        let sources = &self.0.sources;
        sources.audit.record(&AuditEvent {
            team: Some(&query.team),
            provider: Some(&query.provider),
            ..AuditEvent::new("forget", "ok")
        });
        let text = format!("deleted what {} stored", query.provider);
        let mut event = Event::new(EventKind::Removal, text).of_provider(&query.provider);
        if let Ok(team) = TeamName::parse(&query.team) {
            event = event.of_team(&team);
        }
        sources.metrics.events().record(event);
    }

    async fn forget(&self, query: &ForgetQuery) -> Result<ForgetReport, String> {
        let unknown = || format!("there is no team {:?}", query.team);
        let team = self.team(&query.team).ok_or_else(unknown)?;
        let provider = ProviderName::parse(&query.provider).map_err(|error| error.to_string())?;
        let usage = team
            .key_value
            .forget(&provider)
            .await
            .map_err(|error| error.to_string())?;
        let indexed = team
            .index
            .forget(&provider)
            .await
            .map_err(|error| error.to_string())?;
        self.record_removal(query);
        Ok(ForgetReport {
            ok: true,
            error: None,
            keys: usage.keys,
            bytes: usage.bytes,
            documents: indexed.documents,
        })
    }
}
