//! Where the database of a team is.

use std::path::{Path, PathBuf};

use larder_model::name::{Digest, TeamName};

/// The folder for the databases of all servers that use the same state folder.
const FOLDER: &str = "key-value";

/// Returns the path of the database of a team. Two servers of one user share the state folder but have different
/// plugins folders, which may hold providers of the same name. Blocks the calling thread.
pub fn database_path(state: &Path, plugins: &Path, team: &TeamName) -> PathBuf {
    let canonical = plugins.canonicalize().unwrap_or_else(|_| plugins.to_owned());
    let plugins = Digest::of(canonical.as_os_str().as_encoded_bytes()).short();
    state.join(FOLDER).join(plugins).join(format!("{team}.redb"))
}
