//! Watches resources, and reconnects when the connection fails: after the time that the server names, or with
//! exponential backoff. Changes in the meantime are reported.

mod known;

use std::future::Future;
use std::ops::ControlFlow;
use std::time::Duration;

use tokio::time::Instant;

use self::known::KnownContents;
use super::connection::Client;
use super::error::ClientError;
use super::listen::{ListenTargets, ResourceChange};
use super::sign_in::SignInError;

const INITIAL_BACKOFF: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// How long a server may lack a resource that was watched before. After a restart, a server accepts requests before
/// slow providers are loaded.
const MAX_LOADING_TIME: Duration = Duration::from_secs(60);

/// An event of a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The watch began, or began again after the connection failed.
    Began {
        /// The targets that the server will report.
        honoured: ListenTargets,
        /// The URIs that cannot be watched.
        refused: Vec<String>,
    },
    /// A target changed. After a reconnection, the changes are the differences from the earlier state. The lists are
    /// always reported then.
    Changed(ResourceChange),
    /// The connection failed, or the server does not yet offer a resource that was watched before. Changes in the
    /// meantime are reported after the reconnection.
    Lost {
        /// The reason.
        why: String,
        /// The time until the next attempt.
        retry_in: Duration,
    },
}

/// Connects, listens, and calls `on_event` until it returns [`ControlFlow::Break`]. Only the first connection must
/// succeed. Later, the watch also ends after an error that a retry cannot fix, such as an invalid token. Over HTTP,
/// each URI is read at the start and after each change, to compare its content after a reconnection.
pub async fn watch<F>(
    connect: impl Fn() -> F,
    targets: &ListenTargets,
    on_event: impl FnMut(Event) -> ControlFlow<()>,
) -> Result<(), ClientError>
where
    F: Future<Output = Result<Client, ClientError>>,
{
    let mut watcher = Watcher {
        targets,
        on_event,
        known: KnownContents::default(),
        watched: None,
        missing_since: None,
        backoff: INITIAL_BACKOFF,
    };
    loop {
        let (why, delay) = match watcher.watch_once(connect()).await {
            Ok(End::Break) => return Ok(()),
            Ok(End::OfStream(delay)) => ("the server ended the stream".to_owned(), delay),
            Ok(End::Missing(uri)) => (format!("the server does not offer {uri} yet"), None),
            Err(error) if watcher.watched.is_none() || is_permanent(&error) => return Err(error),
            Err(error) => (error.to_string(), None),
        };
        let retry_in = delay.unwrap_or(watcher.backoff);
        if (watcher.on_event)(Event::Lost { why, retry_in }).is_break() {
            return Ok(());
        }
        tokio::time::sleep(retry_in).await;
        watcher.backoff = watcher.backoff.saturating_mul(2).min(MAX_BACKOFF);
    }
}

/// The state of a watch over several connections.
struct Watcher<'a, E> {
    targets: &'a ListenTargets,
    on_event: E,
    known: KnownContents,
    /// The targets that the server accepted when the watch last began.
    watched: Option<ListenTargets>,
    /// The time since which the server does not offer one of these targets.
    missing_since: Option<Instant>,
    /// The time until the next attempt.
    backoff: Duration,
}

/// How a connection ended.
enum End {
    /// By the receiver of the events.
    Break,
    /// The server ended the stream. It may name the delay before a reconnection.
    OfStream(Option<Duration>),
    /// Before the watch began again, because the server does not offer this URI.
    Missing(String),
}

impl<E: FnMut(Event) -> ControlFlow<()>> Watcher<'_, E> {
    async fn watch_once(
        &mut self,
        client: impl Future<Output = Result<Client, ClientError>>,
    ) -> Result<End, ClientError> {
        let mut listening = client.await?.listen(self.targets).await?;
        let honoured = listening.honoured().clone();
        if let Some(uri) = self.missing(&honoured) {
            listening.close().await;
            return Ok(End::Missing(uri));
        }
        let changed = if listening.is_http() {
            self.known.compare(&mut listening, &honoured.uris).await?
        } else {
            Vec::new()
        };
        let mut flow = self.begin(honoured, changed);
        let mut delay = None;
        while flow.is_continue() {
            let Some(change) = listening.next_change().await? else {
                delay = listening.reconnect_delay();
                break;
            };
            if let ResourceChange::Updated(uri) = &change
                && listening.is_http()
            {
                self.known.read(&mut listening, uri).await;
            }
            flow = (self.on_event)(Event::Changed(change));
        }
        listening.close().await;
        Ok(if flow.is_break() {
            End::Break
        } else {
            End::OfStream(delay)
        })
    }

    /// Returns a URI that was watched before and that the server does not offer. None if the server had enough time to
    /// load it.
    fn missing(&mut self, honoured: &ListenTargets) -> Option<String> {
        let watched = self.watched.as_ref()?;
        let missing = watched
            .uris
            .iter()
            .find(|uri| !honoured.uris.contains(uri))?;
        let since = self.missing_since.get_or_insert_with(Instant::now);
        (since.elapsed() < MAX_LOADING_TIME).then(|| missing.clone())
    }

    /// Reports that the watch began, and the changes since it ended.
    fn begin(&mut self, honoured: ListenTargets, changed: Vec<String>) -> ControlFlow<()> {
        let is_first = self.watched.replace(honoured.clone()).is_none();
        self.missing_since = None;
        self.backoff = INITIAL_BACKOFF;
        let lists = honoured.list.then_some(ResourceChange::ListChanged);
        let refused = self.refused(&honoured);
        (self.on_event)(Event::Began { honoured, refused })?;
        let changed = changed
            .into_iter()
            .map(ResourceChange::Updated)
            .chain(lists);
        changed
            .filter(|_| !is_first)
            .try_for_each(|change| (self.on_event)(Event::Changed(change)))
    }

    fn refused(&self, honoured: &ListenTargets) -> Vec<String> {
        let refused = self.targets.uris.iter();
        refused
            .filter(|uri| !honoured.uris.contains(uri))
            .cloned()
            .collect()
    }
}

fn is_permanent(error: &ClientError) -> bool {
    use ClientError::{
        BadToken, BadUrl, Forbidden, InsufficientScope, SignInRequired, Unauthorized,
    };
    matches!(
        error,
        BadUrl(_)
            | BadToken
            | Unauthorized { .. }
            | SignInRequired { .. }
            | InsufficientScope { .. }
            | Forbidden { .. }
            | ClientError::SignIn(SignInError::Ended(_))
    )
}

#[cfg(test)]
mod tests;
