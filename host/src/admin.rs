//! What operators and their machines look at: is it alive, is it ready, numbers, and what is served. A listener of
//! its own, with no way from here to change anything and none from MCP to here.

mod answer;
mod door;
mod status;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use self::door::Door;
pub use self::status::{Grants, HeldBack, LastError, Provider, Rejected, Status, Team};
use crate::catalog::Reader;
use crate::drain::Drain;
use crate::health::Health;
use crate::metrics::Metrics;
use crate::name::Digest;

/// Connections at the same time. Those who look here are few.
const CONNECTIONS: usize = 32;
/// How long one connection may last, with all that is asked over it.
const LONGEST: Duration = Duration::from_secs(30);
/// A pause when the system gives no more connections.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// What the operator decides about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where it listens; none where it does not.
    pub listen: Option<SocketAddr>,
    /// Whether somebody wrote that address down: then a taken one is an error, and not only a warning.
    pub is_written: bool,
    /// Names under which it is reached, besides those of this machine and addresses.
    pub hosts: Vec<String>,
    /// The digest of the token that whoever looks here has to show.
    pub token: Option<Digest>,
}

/// A team as it is looked at.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The folder with its components.
    pub plugins: PathBuf,
    /// What is served of it.
    pub catalog: Reader,
}

/// Answers those who look. Clones are the same.
#[derive(Clone)]
pub struct Admin(Arc<Inner>);

struct Inner {
    door: Door,
    teams: Vec<Shown>,
    metrics: Metrics,
    health: Health,
    /// Of all else: whether it is stopping is what is told here.
    house: Drain,
    drain: Drain,
}

impl Admin {
    /// Nobody can reach it yet. Its tasks are in a drain of their own, so that it can tell of the end of `house`.
    pub fn new(
        config: &Config,
        teams: Vec<Shown>,
        metrics: Metrics,
        health: Health,
        house: Drain,
        drain: Drain,
    ) -> Self {
        let door = Door::new(&config.hosts, config.token);
        Self(Arc::new(Inner { door, teams, metrics, health, house, drain }))
    }

    /// Answers until its own drain stops.
    pub async fn serve(self, listener: TcpListener) {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let next = async {
                let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
                Ok::<_, io::Error>((place, listener.accept().await?.0))
            };
            let accepted = tokio::select! {
                () = self.0.drain.stopping() => return,
                accepted = next => accepted,
            };
            match accepted {
                Ok((place, stream)) => {
                    let admin = self.clone();
                    self.0.drain.spawn(async move {
                        admin.connection(stream).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "no connection could be accepted on the admin address");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    async fn connection(self, stream: TcpStream) {
        // One request for each connection: nobody keeps a place that he does not use.
        let answer = service_fn(|request| {
            let answer = self.answer(&request);
            async move { Ok::<_, std::convert::Infallible>(answer) }
        });
        let serving = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(LONGEST)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), answer);
        let mut serving = std::pin::pin!(serving);
        let ended = tokio::time::timeout(LONGEST, async {
            tokio::select! {
                ended = serving.as_mut() => ended,
                () = self.0.drain.stopping() => {
                    serving.as_mut().graceful_shutdown();
                    serving.await
                }
            }
        });
        if let Ok(Err(error)) = ended.await {
            tracing::debug!(%error, "a connection to the admin address broke");
        }
    }
}
