//! Candidates that a running server offers. The server is the same server that the command on the line would use. If it
//! does not answer in time, there are no candidates.

use std::ffi::{OsStr, OsString};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use clap::{CommandFactory as _, FromArgMatches as _};
use clap_complete::CompletionCandidate;

use super::Cli;
use crate::cli::connection::{Connection, ConnectionArgs};
use larder_client::{ClientError, Filter};

/// How long the server may take.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Options that print something, and options that run the components in this process, which takes longer.
const PRINTING: [&str; 2] = ["-v", "--verbose"];
const IN_PROCESS: [&str; 2] = ["--in-process", "--plugins"];

/// The words of the line, with the name of the program. The completion engine does not pass them on.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Sets the words of the line. Without this call, they are the arguments of this process after `--`.
pub(super) fn set_words(words: &[OsString]) {
    // A process completes one line.
    _ = WORDS.set(words.to_vec());
}

/// Returns the URIs of resources.
pub(in crate::cli) fn uris(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, async |connection, filter| {
        let page = connection.client.resources(filter, None).await?;
        Ok(page
            .items
            .into_iter()
            .map(|resource| resource.uri)
            .collect())
    })
}

/// Returns the templates.
pub(in crate::cli) fn templates(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, async |connection, filter| {
        let page = connection.client.templates(filter, None).await?;
        Ok(page
            .items
            .into_iter()
            .map(|template| template.uri_template)
            .collect())
    })
}

/// Requests the candidates from the server in a thread, which is abandoned after the timeout, because reading a file
/// can take forever too.
fn candidates<F>(current: &OsStr, list: F) -> Vec<CompletionCandidate>
where
    F: AsyncFnOnce(&mut Connection, &Filter) -> Result<Vec<String>, ClientError> + Send + 'static,
{
    let Some(current) = current.to_str().map(ToOwned::to_owned) else {
        return vec![];
    };
    let (sender, found) = mpsc::channel();
    let prefix = current.clone();
    thread::spawn(move || {
        // The receiver is gone after the timeout.
        _ = sender.send(ask(prefix, list));
    });
    let found = found
        .recv_timeout(TIMEOUT)
        .ok()
        .flatten()
        .unwrap_or_default();
    // Control characters would change the display of the terminal.
    let is_shown = |uri: &String| uri.starts_with(&current) && !uri.chars().any(char::is_control);
    found
        .into_iter()
        .filter(is_shown)
        .map(CompletionCandidate::new)
        .collect()
}

fn ask<F>(prefix: String, list: F) -> Option<Vec<String>>
where
    F: AsyncFnOnce(&mut Connection, &Filter) -> Result<Vec<String>, ClientError>,
{
    let words = WORDS.get_or_init(words_of_process);
    let connection = connection_args(words.clone())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .ok()?;
    let filter = Filter {
        uri_prefix: Some(prefix).filter(|prefix| !prefix.is_empty()),
        ..Filter::default()
    };
    runtime.block_on(async {
        let mut connection = connection.connect().await.ok()?;
        list(&mut connection, &filter).await.ok()
    })
}

/// Returns the arguments of this process after `--`.
fn words_of_process() -> Vec<OsString> {
    let words = std::env::args_os();
    words.skip_while(|word| word != "--").skip(1).collect()
}

/// Reads the options of the command on the line that select the server. `None` if it needs no server.
fn connection_args(mut words: Vec<OsString>) -> Option<ConnectionArgs> {
    words.retain(|word| !PRINTING.iter().any(|option| word == option));
    if words.iter().any(|word| is_in_process(word)) {
        return None;
    }
    let matches = Cli::command()
        .ignore_errors(true)
        .try_get_matches_from(words)
        .ok()?;
    let (_, command) = matches.subcommand()?;
    ConnectionArgs::from_arg_matches(command).ok()
}

fn is_in_process(word: &OsStr) -> bool {
    let word = word.to_string_lossy();
    IN_PROCESS.iter().any(|option| word.starts_with(option))
}
