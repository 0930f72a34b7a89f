//! The configuration for which `larder up` stands.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::folders::{ServedFolder, ServedFolders};
use larder_config as config;
use larder_mcp::ListenAddress;
use larder_model::name::Digest;

/// Where components would be that are served beside the built-in ones, if the user has no data folder.
const SERVICE_FOLDER: &str = "/var/lib";

/// Returns the text of a `larder.toml`. All paths are absolute, so it can be saved anywhere.
pub(super) fn text(folders: &ServedFolders, listen: Option<&ListenAddress>) -> String {
    let mut text = format!(
        "# Read-only access to the named folders, and nothing else. `larder serve` serves this, and \
         examples/larder.toml\n# describes every key.\n\n\
         # Components in this folder, which need not exist, are served too.\nplugins = {}\n\n\
         [server]\n# Most models reach resources only through tools.\nresource_tools = true\n",
        quoted(&plugins(folders).display().to_string())
    );
    if let Some(listen) = listen {
        _ = writeln!(text, "listen = {}", quoted(&listen.to_string()));
    }
    provider(&mut text, "files", folders.iter());
    provider(&mut text, "notes", folders.iter().take(1));
    provider(
        &mut text,
        "git",
        folders.iter().filter(|folder| folder.is_repository),
    );
    text
}

/// Adds a provider, if it has folders.
fn provider<'a>(text: &mut String, name: &str, folders: impl Iterator<Item = &'a ServedFolder>) {
    let dirs: String = folders
        .map(|folder| {
            let host = quoted(&folder.path);
            format!("    {{ host = {host}, guest = \"/{}\" }},\n", folder.name)
        })
        .collect();
    if !dirs.is_empty() {
        _ = write!(
            text,
            "\n[provider.{name}]\ncomponent = \"builtin:{name}\"\ndirs = [\n{dirs}]\n"
        );
    }
}

/// A folder for each set of folders. State belongs to it, so that two servers do not share their state.
fn plugins(folders: &ServedFolders) -> PathBuf {
    let paths: Vec<_> = folders.iter().map(|folder| folder.path.as_str()).collect();
    let digest = Digest::of(paths.join("\0").as_bytes()).short();
    data_folder()
        .join("larder/up")
        .join(format!("{}-{digest}", folders.name()))
}

fn data_folder() -> PathBuf {
    let folder = |name| config::variable(name).map(PathBuf::from);
    folder("XDG_DATA_HOME")
        .or_else(|| Some(folder("HOME")?.join(".local/share")))
        .filter(|folder| folder.is_absolute())
        .unwrap_or_else(|| SERVICE_FOLDER.into())
}

/// A string in TOML. A configuration replaces `${NAME}` by a variable.
fn quoted(text: &str) -> String {
    toml::Value::from(text.replace('$', "$$")).to_string()
}
