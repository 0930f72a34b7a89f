//! `larder state`: what the state folder contains for each plugins folder.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::json;

use super::admin_args::AdminArgs;
use super::error::CommandError;
use super::team::TeamArg;
use super::{Outcome, out, sanitize, state_folder, table};
use crate::text_indexes::move_index;
use larder_config::{self as config, Config, Overrides, Team};
use larder_core::reconcile::{Approvals, StoredState};
use larder_key_value::{
    KeyValueError, all_databases, database_path, move_database, verify_database,
};
use larder_model::name::TeamName;
use larder_model::state_key::StateKey;

/// List, move or verify what is stored for plugins folders
///
/// Approvals, pins of tools and values of providers are stored for the path of the plugins folder as it is configured,
/// or for the name in `state_name`.
#[derive(Debug, Args)]
pub(super) struct State {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the folders and names for which something is stored
    List(Location),
    /// Move what is stored for another folder or name to that of this configuration
    ///
    /// What this configuration has already stays. Stop the server before: values cannot be moved while it uses them.
    Move(Move),
    /// Check that everything in the state folder can be read
    #[command(after_help = "Exit code 1 if something cannot be read.")]
    Verify(Location),
}

#[derive(Debug, Args)]
struct Location {
    /// The configuration file [default: larder.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder with the components [default: plugins]
    #[arg(long, value_name = "DIR")]
    plugins: Option<PathBuf>,
    #[command(flatten)]
    team: TeamArg,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Move {
    /// The folder or name, as `larder state list` prints it
    #[arg(value_name = "FROM")]
    from: String,
    #[command(flatten)]
    location: Location,
}

/// What is stored for one folder or name.
#[derive(Debug, Serialize)]
struct Entry {
    key: String,
    /// Whether this configuration uses the entry.
    is_current: bool,
    teams: Vec<String>,
    approvals: usize,
    tools: usize,
    pending: usize,
    /// The files with values of providers.
    values: Vec<Values>,
}

#[derive(Debug, Serialize)]
struct Values {
    file: PathBuf,
    bytes: u64,
}

impl State {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        match self.command {
            Command::List(location) => location.list().await,
            Command::Move(Move { from, location }) => location.move_from(&from).await,
            Command::Verify(location) => location.verify().await,
        }
    }
}

impl Location {
    async fn load(&self) -> Result<Config, CommandError> {
        let admin = AdminArgs::of_config(self.config.clone());
        Ok(state_folder::with_state_dir(config::load(&self.overrides())?, admin).await?)
    }

    fn overrides(&self) -> Overrides {
        self.team
            .overrides(self.config.clone(), self.plugins.clone())
    }

    async fn list(self) -> Result<Outcome, CommandError> {
        let config = self.load().await?;
        let stored = Approvals::stored(&config.state_dir)?;
        let entries: Vec<_> = stored
            .into_iter()
            .map(|one| Entry::new(one, &config))
            .collect();
        if self.json {
            out::json(&json!({ "state_dir": config.state_dir, "state": entries }))?;
            return Ok(Outcome::Success);
        }
        let folder = format!("state folder {}\n", config.state_dir.display());
        let shown: String = std::iter::once(folder)
            .chain(entries.iter().map(Entry::show))
            .collect();
        out::text(&sanitize::lines(&shown))?;
        Ok(Outcome::Success)
    }

    async fn move_from(self, from: &str) -> Result<Outcome, CommandError> {
        let config = self.load().await?;
        let from = StateKey::from_text(from);
        let stored = Approvals::stored(&config.state_dir)?;
        let Some(stored) = stored.into_iter().find(|one| one.key == from) else {
            return Ok(not_moved(&format!(
                "nothing is stored for {from}: see `larder state list`"
            )));
        };
        let team = match self.target(&config, &stored) {
            Ok(team) => team,
            Err(why) => return Ok(not_moved(&why)),
        };
        let approvals = &team.reconcile.approvals;
        let name = &team.reconcile.team;
        if *approvals.key() == from {
            return Ok(not_moved(&format!(
                "{from} is that of this configuration already"
            )));
        }
        let path = |key: &StateKey| database_path(&config.state_dir, key, name);
        let to = path(approvals.key());
        if let Err(error) = move_database(&path(&from), &to) {
            return Ok(not_moved(&format!(
                "the values of providers in {}: {error}",
                to.display()
            )));
        }
        move_index(&config.state_dir, name, &from, approvals.key());
        approvals.move_from(&from)?;
        out::note(&format!(
            "larder: moved what was stored for {from} to {}",
            approvals.key()
        ));
        Ok(Outcome::Success)
    }

    /// Returns the team to which the state is moved: the only team for which something is stored.
    fn target<'a>(&self, config: &'a Config, stored: &StoredState) -> Result<&'a Team, String> {
        let is_wanted = |name: &TeamName| match &self.team.team {
            Some(team) => team == name,
            None => stored.teams.contains(name) || config.teams.len() == 1,
        };
        let mut teams = config
            .teams
            .iter()
            .filter(|(name, _)| is_wanted(name))
            .map(|(_, team)| team);
        match (teams.next(), teams.next()) {
            (Some(team), None) => Ok(team),
            _ => Err("there are several teams: add --team NAME".into()),
        }
    }

    async fn verify(self) -> Result<Outcome, CommandError> {
        let config = self.load().await?;
        let mut problems: Vec<_> = Approvals::verify(&config.state_dir)
            .iter()
            .map(ToString::to_string)
            .collect();
        let mut verified = 0;
        let mut in_use = 0;
        for file in all_databases(&config.state_dir) {
            match verify_database(&file) {
                Ok(_) => verified += 1,
                Err(KeyValueError::InUse) => in_use += 1,
                Err(error) => problems.push(format!("{}: {error}", file.display())),
            }
        }
        if self.json {
            let files = json!({ "verified": verified, "in_use": in_use });
            out::json(
                &json!({ "state_dir": config.state_dir, "problems": problems, "values": files }),
            )?;
        } else {
            problems
                .iter()
                .for_each(|problem| out::note(&sanitize::line(&format!("larder: {problem}"))));
            let in_use = if in_use > 0 {
                format!("; {in_use} not, because a server uses them")
            } else {
                String::new()
            };
            out::note(&format!(
                "larder: verified the approvals and {verified} files with values{in_use}"
            ));
        }
        Ok(Outcome::success_if(problems.is_empty()))
    }
}

impl Entry {
    fn new(stored: StoredState, config: &Config) -> Self {
        let is_current = config
            .teams
            .values()
            .any(|team| *team.reconcile.approvals.key() == stored.key);
        let values = values_of(&stored, &config.state_dir);
        let StoredState {
            key,
            teams,
            approvals,
            tools,
            pending,
        } = stored;
        let teams = teams.iter().map(ToString::to_string).collect();
        Self {
            key: key.to_string(),
            is_current,
            teams,
            approvals,
            tools,
            pending,
            values,
        }
    }

    fn show(&self) -> String {
        let Self {
            key,
            is_current,
            teams,
            approvals,
            tools,
            pending,
            values,
        } = self;
        let current = if *is_current {
            " (this configuration)"
        } else {
            ""
        };
        let teams = teams.join(", ");
        let mut shown = format!(
            "{key}{current}\n  teams: {teams}; approved: {approvals}; pinned tools: {tools}; pending: {pending}\n"
        );
        for Values { file, bytes } in values {
            shown += &format!("  values: {} ({})\n", file.display(), table::bytes(*bytes));
        }
        shown
    }
}

fn values_of(stored: &StoredState, state_dir: &Path) -> Vec<Values> {
    let files = stored
        .teams
        .iter()
        .map(|team| database_path(state_dir, &stored.key, team));
    files.filter_map(Values::of).collect()
}

impl Values {
    /// `None` if the size of the file cannot be read.
    fn of(file: PathBuf) -> Option<Self> {
        let bytes = file.metadata().ok()?.len();
        Some(Self { file, bytes })
    }
}

fn not_moved(why: &str) -> Outcome {
    out::note(&sanitize::line(&format!("larder: not moved: {why}")));
    Outcome::Negative
}
