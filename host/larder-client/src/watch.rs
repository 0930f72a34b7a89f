//! Watches resources and reconnects with exponential backoff when the connection fails.

use std::future::Future;
use std::ops::ControlFlow;
use std::time::Duration;

use super::connection::Client;
use super::error::ClientError;
use super::listen::{ListenTargets, ResourceChange};

const INITIAL_BACKOFF: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// What happens during a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The watch began, or began again after the connection failed.
    Began {
        /// What the server will report.
        honoured: ListenTargets,
        /// The URIs that cannot be watched.
        refused: Vec<String>,
    },
    /// Something changed.
    Changed(ResourceChange),
    /// The connection failed. Changes until it is back are not reported.
    Lost {
        /// The reason.
        why: String,
        /// The time until the next attempt.
        retry_in: Duration,
    },
}

/// Connects, listens, and calls `on_event` until that returns [`ControlFlow::Break`]. Only the first
/// connection must succeed. An error that a retry cannot fix, such as an invalid token, ends the watch later
/// as well.
pub async fn watch<F>(
    connect: impl Fn() -> F,
    targets: &ListenTargets,
    mut on_event: impl FnMut(Event) -> ControlFlow<()>,
) -> Result<(), ClientError>
where
    F: Future<Output = Result<Client, ClientError>>,
{
    let mut backoff = INITIAL_BACKOFF;
    let mut began = false;
    loop {
        let client = connect();
        let why = match watch_once(client, targets, &mut on_event, &mut began, &mut backoff).await {
            Ok(ControlFlow::Break(())) => return Ok(()),
            Ok(ControlFlow::Continue(())) => "the server ended the stream".to_owned(),
            Err(error) if !began || is_permanent(&error) => return Err(error),
            Err(error) => error.to_string(),
        };
        if on_event(Event::Lost { why, retry_in: backoff }).is_break() {
            return Ok(());
        }
        tokio::time::sleep(backoff).await;
        backoff = (backoff * 2).min(MAX_BACKOFF);
    }
}

async fn watch_once(
    client: impl Future<Output = Result<Client, ClientError>>,
    targets: &ListenTargets,
    on_event: &mut impl FnMut(Event) -> ControlFlow<()>,
    began: &mut bool,
    backoff: &mut Duration,
) -> Result<ControlFlow<()>, ClientError> {
    let mut listening = client.await?.listen(targets).await?;
    (*began, *backoff) = (true, INITIAL_BACKOFF);
    let honoured = listening.honoured().clone();
    let refused = targets.uris.iter().filter(|uri| !honoured.uris.contains(uri)).cloned().collect();
    let mut flow = on_event(Event::Began { honoured, refused });
    while flow.is_continue() {
        match listening.next_change().await? {
            Some(change) => flow = on_event(Event::Changed(change)),
            None => break,
        }
    }
    listening.close().await;
    Ok(flow)
}

fn is_permanent(error: &ClientError) -> bool {
    use ClientError::{BadToken, BadUrl, Forbidden, Unauthorized};
    matches!(error, BadUrl(_) | BadToken | Unauthorized { .. } | Forbidden { .. })
}
