//! `larder forget`: deletes the values and the indexed text of a provider.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use clap::Args;

use super::admin_args::AdminArgs;
use super::confirm::confirm;
use super::error::CommandError;
use super::server_address::ServerAddress;
use super::team::TeamArg;
use super::{Outcome, out, sanitize, state_folder};
use crate::text_indexes::TextIndexes;
use larder_admin::ForgetReport;
use larder_client as client;
use larder_config::{self as config, Overrides, Team};
use larder_core::audit::{self, AuditEvent, AuditLog};
use larder_core::search_index::IndexProgress;
use larder_key_value::{KeyValueError, KeyValueStore, Usage, database_path};
use larder_model::name::{ProviderName, TeamName};
use larder_model::size;
use larder_model::text_index::{self, IndexError, Limits};
use larder_runtime::drain::Drain;
use larder_runtime::health::Health;

/// Delete the values that a provider stores, and its text in the full-text index
///
/// The values are those in its key-value store, for all callers. They are kept when the component is removed. Approvals
/// and grants stay. If a server is running, it deletes both; text that is still indexed is read again later.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1 if nothing is stored for that provider, or if it is not deleted."
)]
pub(super) struct Forget {
    /// The provider
    #[arg(value_parser = ProviderName::parse)]
    name: ProviderName,
    /// Delete without confirmation
    #[arg(long)]
    yes: bool,
    /// The folder with the components [default: plugins]
    #[arg(long, value_name = "DIR")]
    plugins: Option<PathBuf>,
    #[command(flatten)]
    team: TeamArg,
    #[command(flatten)]
    admin: AdminArgs,
}

/// The values of one team, while no server uses them.
struct LocalValues {
    store: KeyValueStore,
    index: IndexProgress,
    audit: audit::Config,
}

/// How much is stored, or was deleted.
#[derive(Debug, Clone, Copy)]
struct Amount {
    keys: u64,
    bytes: u64,
    /// Resources in the full-text index.
    documents: u64,
}

impl Forget {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let config = config::load(&self.overrides())?;
        let config = state_folder::of_server(config, self.admin.clone()).await?;
        let state_dir = config.state_dir;
        let (team, key) = match self.team(config.teams) {
            Ok((name, team)) => (name, team.reconcile.approvals.key().clone()),
            Err(message) => {
                out::note(&message);
                return Ok(Outcome::Negative);
            }
        };
        if self.admin.admin.is_some() {
            return self.forget_in_server(&team).await;
        }
        let path = database_path(&state_dir, &key, &team);
        let store = KeyValueStore::new(path, &team, Health::default(), &Drain::new());
        let index = TextIndexes::new(Limits::default()).of_team(&state_dir, &key, &team);
        let index = IndexProgress::new(index);
        match (store.load().await, index.stored(&self.name).await) {
            (Err(KeyValueError::InUse), _) | (_, Err(IndexError::InUse(_))) => {
                self.forget_in_server(&team).await
            }
            (Err(error), _) => Ok(not_deleted(&error.to_string())),
            (_, Err(error)) => Ok(not_deleted(&error.to_string())),
            (Ok(()), Ok(indexed)) => {
                let audit = config.audit;
                let values = LocalValues {
                    store,
                    index,
                    audit,
                };
                self.forget_here(&team, indexed, values).await
            }
        }
    }

    fn overrides(&self) -> Overrides {
        let config = self.admin.server.config.clone();
        self.team.overrides(config, self.plugins.clone())
    }

    /// Returns the team of the provider. If there are several teams, the team must be given.
    fn team(&self, teams: BTreeMap<TeamName, Team>) -> Result<(TeamName, Team), String> {
        let mut teams: Vec<_> = teams.into_iter().collect();
        teams.retain(|(name, _)| self.team.team.as_ref().is_none_or(|team| team == name));
        let names: Vec<_> = teams.iter().map(|(name, _)| name.to_string()).collect();
        match (teams.pop(), teams.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => Err(format!(
                "larder: there are several teams ({}): add --team NAME",
                names.join(", ")
            )),
        }
    }

    async fn forget_here(
        &self,
        team: &TeamName,
        indexed: Option<text_index::Usage>,
        values: LocalValues,
    ) -> Result<Outcome, CommandError> {
        let stored = values.store.usage().get(&self.name).copied();
        if stored.is_none() && indexed.is_none() {
            return Ok(self.nothing_stored(team));
        }
        let stored = stored.unwrap_or_default();
        let indexed = indexed.unwrap_or_default();
        let amount = Amount {
            keys: stored.keys,
            bytes: stored.bytes,
            documents: indexed.documents,
        };
        if !self.confirm(&format!("delete {} of {}?", shown(amount), self.name))? {
            return Ok(not_deleted("it was not confirmed"));
        }
        // The deletion is recorded before it takes effect.
        let operator = config::operator_name();
        let event = AuditEvent {
            subject: Some(&operator),
            team: Some(team.as_str()),
            provider: Some(self.name.as_str()),
            ..AuditEvent::new("forget", "ok")
        };
        AuditLog::append(&values.audit, &event).map_err(CommandError::Audit)?;
        if let Err(error) = values.index.forget(&self.name).await {
            return Ok(not_deleted(&error.to_string()));
        }
        match values.store.forget(&self.name).await {
            Ok(Usage { keys, bytes, .. }) => Ok(self.deleted(Amount {
                keys,
                bytes,
                ..amount
            })),
            Err(error) => Ok(not_deleted(&error.to_string())),
        }
    }

    async fn forget_in_server(self, team: &TeamName) -> Result<Outcome, CommandError> {
        if !self.confirm(&format!("delete all stored values of {}?", self.name))? {
            return Ok(not_deleted("it was not confirmed"));
        }
        let ServerAddress { url, builder, .. } = self.admin.clone().resolve()?;
        let forgotten: serde_json::Value = builder
            .forget(&url, team.as_str(), self.name.as_str())
            .await?;
        let forgotten: ForgetReport =
            serde_json::from_value(forgotten).map_err(|_| client::ClientError::NotStatus(url))?;
        match forgotten {
            ForgetReport {
                ok: true,
                keys: 0,
                documents: 0,
                ..
            } => Ok(self.nothing_stored(team)),
            ForgetReport {
                ok: true,
                keys,
                bytes,
                documents,
                ..
            } => Ok(self.deleted(Amount {
                keys,
                bytes,
                documents,
            })),
            ForgetReport { error, .. } => Ok(not_deleted(&error.unwrap_or_default())),
        }
    }

    fn nothing_stored(&self, team: &TeamName) -> Outcome {
        let team = team
            .non_default()
            .map(|team| format!(" of team {team}"))
            .unwrap_or_default();
        out::note(&format!(
            "larder: nothing is stored for {}{team}",
            self.name
        ));
        Outcome::Negative
    }

    fn deleted(&self, amount: Amount) -> Outcome {
        out::note(&format!(
            "larder: deleted {} of {}",
            shown(amount),
            self.name
        ));
        Outcome::Success
    }

    /// Requests confirmation on a terminal. Scripts use `--yes`.
    fn confirm(&self, question: &str) -> io::Result<bool> {
        if self.yes {
            return Ok(true);
        }
        confirm(question, "delete")
    }
}

fn not_deleted(why: &str) -> Outcome {
    out::note(&sanitize::line(&format!("larder: not deleted: {why}")));
    Outcome::Negative
}

fn shown(
    Amount {
        keys,
        bytes,
        documents,
    }: Amount,
) -> String {
    let values = format!(
        "{keys} {} ({})",
        if keys == 1 { "value" } else { "values" },
        size::show(bytes)
    );
    match documents {
        0 => values,
        1 => format!("{values} and 1 indexed text"),
        _ => format!("{values} and {documents} indexed texts"),
    }
}
