//! Connects the clients of the user to a server that `larder up` describes.

use std::path::{Path, PathBuf};

use clap::ValueEnum as _;

use super::super::confirm::confirm;
use super::super::connect::{self, file_of_user, up_command};
use super::super::error::CommandError;
use super::super::out;
use super::folders::ServedFolders;
use super::home;
use crate::connect::{Change, Client, ConnectError, Plan};

/// Which clients the user wants to connect.
pub(super) struct Choice {
    pub(super) clients: Vec<Client>,
    /// All clients that are found.
    pub(super) is_all: bool,
}

/// The entry that starts this server, for one client.
struct Entry {
    client: Client,
    file: PathBuf,
    plan: Plan,
}

/// Writes entries for the chosen clients. For all others that are found, prints the command that does this, or asks on a
/// terminal.
pub(super) fn connect(choice: &Choice, folders: &ServedFolders) -> Result<(), CommandError> {
    let paths: Vec<_> = folders.iter().map(|folder| folder.path.as_str()).collect();
    let change = Change::Set(up_command(&paths)?);
    let name = format!("larder-{}", folders.name());
    for client in &choice.clients {
        Entry::new(*client, &name, &change)?.write()?;
    }
    if !choice.clients.is_empty() {
        return Ok(());
    }
    for client in Client::value_variants() {
        match Entry::found(*client, &name, &change) {
            Ok(Some(entry)) => entry.offer(choice.is_all, &name, &paths)?,
            Ok(None) => {}
            // The file of one client does not prevent the server from starting.
            Err(error) => out::note(&format!("{}: {error}", client.name())),
        }
    }
    Ok(())
}

impl Entry {
    fn new(client: Client, name: &str, change: &Change) -> Result<Self, ConnectError> {
        let file = file_of_user(client)?;
        let plan = Plan::new(client, &file, name, change)?;
        Ok(Self { client, file, plan })
    }

    /// Returns the entry, if the client is installed.
    fn found(client: Client, name: &str, change: &Change) -> Result<Option<Self>, ConnectError> {
        match file_of_user(client) {
            Ok(file) if is_installed(&file) => Self::new(client, name, change).map(Some),
            // Without a home folder, there are no files of clients.
            _ => Ok(None),
        }
    }

    fn write(&self) -> Result<(), CommandError> {
        if self.plan.is_done() {
            return Ok(());
        }
        connect::write(&self.plan, self.client, &self.file)
    }

    fn offer(&self, is_all: bool, name: &str, folders: &[&str]) -> Result<(), CommandError> {
        let client = self.client.name();
        if self.plan.is_done() {
            out::note(&format!("{client} starts this server: entry `{name}`"));
            return Ok(());
        }
        let question = format!("Add this server to {client} ({})?", self.file.display());
        if is_all || (out::can_ask() && confirm(&question, "add it")?) {
            return self.write();
        }
        let value = self.client.to_possible_value();
        let argument = value.as_ref().map_or("", |value| value.get_name());
        let folders: String = folders
            .iter()
            .map(|folder| format!(" --up {}", shell_word(folder)))
            .collect();
        out::note(&format!(
            "to add this server to {client}: larder connect {argument} --name {name}{folders} --write"
        ));
        Ok(())
    }
}

/// Whether the file of a client exists, or a folder that only this client uses.
fn is_installed(file: &Path) -> bool {
    let home = home();
    let folder = file
        .parent()
        .filter(|folder| home.as_deref() != Some(*folder));
    file.exists() || folder.is_some_and(Path::exists)
}

/// A word of a shell, in quotes if it contains special characters.
fn shell_word(text: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-+@%:,".contains(char);
    if text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
