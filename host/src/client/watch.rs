//! Watching for as long as somebody likes: what breaks is begun anew, after a while that grows.

use std::future::Future;
use std::ops::ControlFlow;
use std::time::Duration;

use super::{Client, ClientError, News, Wanted};

const FIRST: Duration = Duration::from_millis(500);
const LAST: Duration = Duration::from_secs(30);

/// What happens while somebody watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It begins, or begins anew: what will be told, and which URIs cannot be watched.
    Began {
        /// What will be told.
        honoured: Wanted,
        /// What will not.
        refused: Vec<String>,
    },
    /// Something differs.
    News(News),
    /// The connection is gone; what differs until it is back is not told.
    Lost {
        /// Why.
        why: String,
        /// When the next try is made.
        again: Duration,
    },
}

/// Connects, listens, and tells, until it is told to stop. Only the first connection has to succeed; what can
/// never succeed (a bad token, say) is an error later as well.
pub async fn watch<F>(
    connect: impl Fn() -> F,
    wanted: &Wanted,
    mut tell: impl FnMut(Event) -> ControlFlow<()>,
) -> Result<(), ClientError>
where
    F: Future<Output = Result<Client, ClientError>>,
{
    let mut pause = FIRST;
    let mut began = false;
    loop {
        let (client, told) = (connect(), &mut tell);
        let why = match once(client, wanted, told, &mut began, &mut pause).await {
            Ok(ControlFlow::Break(())) => return Ok(()),
            Ok(ControlFlow::Continue(())) => "the server ended it".to_owned(),
            Err(error) if !began || is_for_good(&error) => return Err(error),
            Err(error) => error.to_string(),
        };
        if tell(Event::Lost { why, again: pause }).is_break() {
            return Ok(());
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LAST);
    }
}

async fn once(
    client: impl Future<Output = Result<Client, ClientError>>,
    wanted: &Wanted,
    tell: &mut impl FnMut(Event) -> ControlFlow<()>,
    began: &mut bool,
    pause: &mut Duration,
) -> Result<ControlFlow<()>, ClientError> {
    let mut listening = client.await?.listen(wanted).await?;
    (*began, *pause) = (true, FIRST);
    let honoured = listening.honoured().clone();
    let refused = wanted.uris.iter().filter(|uri| !honoured.uris.contains(uri)).cloned().collect();
    let mut flow = tell(Event::Began { honoured, refused });
    while flow.is_continue() {
        match listening.next().await? {
            Some(news) => flow = tell(Event::News(news)),
            None => break,
        }
    }
    listening.close().await;
    Ok(flow)
}

fn is_for_good(error: &ClientError) -> bool {
    use ClientError::{BadToken, BadUrl, Forbidden, Unauthorized};
    matches!(error, BadUrl(_) | BadToken | Unauthorized { .. } | Forbidden { .. })
}
