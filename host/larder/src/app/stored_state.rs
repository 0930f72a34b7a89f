//! Handles changed keys of the state that is stored for a plugins folder: earlier versions resolved the links in the
//! path of the folder, and a configuration can name the state later. The first start with a new key copies the state of
//! the earlier key, so that a server of an earlier version still finds that state.

use std::path::Path;

use crate::text_indexes::move_index;
use larder_config::{Config, Team};
use larder_core::reconcile::Approvals;
use larder_key_value::{copy_database, database_path};
use larder_model::state_key::StateKey;
use larder_runtime::health::{Health, Impact};

/// Maximum number of other keys in a message.
const MAX_KEYS: usize = 3;

/// Copies the state that an earlier version stored for a team, if nothing is stored under the current key. Problems are
/// reported to health: the server works without that state, but providers wait for approval. Blocks the calling thread.
pub(super) fn take_over(team: &Team, state_dir: &Path, health: &Health) {
    let name = &team.reconcile.team;
    let problem = missing_state(team, state_dir).or_else(|| try_take_over(team, state_dir).err());
    if let Some(problem) = problem {
        tracing::warn!(team = %name, "{problem}");
        health.report(
            &format!("stored state of {name}"),
            format!("team {name}: {problem}"),
            Impact::OperatorOnly,
        );
    }
}

fn try_take_over(team: &Team, state_dir: &Path) -> Result<(), String> {
    let approvals = &team.reconcile.approvals;
    let name = &team.reconcile.team;
    let key = approvals.key();
    if approvals.is_known().map_err(|error| error.to_string())? {
        return Ok(());
    }
    let from = approvals
        .used_instead(earlier_keys(team))
        .map_err(|error| error.to_string())?;
    if let Some(from) = &from {
        let of = |key: &StateKey| database_path(state_dir, key, name);
        copy_database(&of(from), &of(key)).map_err(|error| {
            format!("the values that are stored for {from} cannot be copied: {error}")
        })?;
        move_index(state_dir, name, from, key);
        tracing::info!(team = %name, "what is stored for {from} is taken over for {key}");
    }
    approvals
        .take_over(from.as_ref())
        .map_err(|error| error.to_string())
}

/// Uses the keys under which something is stored, for a command that changes no keys: the server may not have been
/// started since its key changed.
pub(crate) fn use_stored_keys(config: &mut Config) {
    for team in config.teams.values_mut() {
        let key = team.reconcile.approvals.used_instead(earlier_keys(team));
        // An error of reading is reported by the code that needs the state.
        if let Ok(Some(key)) = key {
            team.reconcile.approvals = Approvals::new(&config.state_dir, &key);
        }
    }
}

/// Whether something is stored in a folder for a team. State that this user cannot read does not count.
pub(crate) fn is_stored(team: &Team, state_dir: &Path) -> bool {
    let Ok(stored) = Approvals::stored(state_dir) else {
        return false;
    };
    let is_key = |key: &StateKey| stored.iter().any(|one| one.key == *key);
    is_key(team.reconcile.approvals.key()) || earlier_keys(team).iter().any(is_key)
}

/// Reports that nothing is stored for a team, while state exists for folders that do not exist any more: the folder of
/// the team may have been moved.
pub(crate) fn missing_state(team: &Team, state_dir: &Path) -> Option<String> {
    let approvals = &team.reconcile.approvals;
    let name = &team.reconcile.team;
    let stored = Approvals::stored(state_dir).ok()?;
    if is_stored(team, state_dir) {
        return None;
    }
    let others = stored
        .iter()
        .filter(|one| one.teams.contains(name))
        .map(|one| one.key.as_str())
        .filter(|key| !Path::new(key).exists());
    let others: Vec<_> = others.take(MAX_KEYS).collect();
    let first = others.first()?;
    Some(format!(
        "nothing is stored for {}, but for {}: if its folder was moved, run `larder state move {first}`",
        approvals.key(),
        others.join(", ")
    ))
}

/// The keys that the state of a team may have had before.
fn earlier_keys(team: &Team) -> Vec<StateKey> {
    let real = team.plugins.canonicalize().ok();
    let folders = [
        Some(StateKey::of_folder(&team.plugins)),
        real.map(|real| StateKey::of_folder(&real)),
    ];
    folders
        .into_iter()
        .flatten()
        .filter(|key| key != team.reconcile.approvals.key())
        .collect()
}
