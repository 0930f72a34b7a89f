//! The keys of an issuer: fetched when they are needed, fetched anew now and then and when a token names one that
//! is not among them, and for a while used on where the issuer cannot be reached.

mod fetch;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::Jwk;
use tokio::sync::{Mutex, watch};

use self::fetch::{FetchError, KeySet, fetch};
use super::address::SecureUrl;
use super::algorithm::Algorithm;
use super::verified::Verified;
use crate::drain::Drain;

/// How long keys are used where the issuer does not answer.
const KEPT: Duration = Duration::from_secs(3600);
/// Keys of one issuer.
const MOST: usize = 100;

/// One key, ready for use.
pub(super) struct Key {
    jwk: Jwk,
    pub(super) decoding: DecodingKey,
}

/// Keys that were fetched together, and what was verified with them: another set begins with nothing.
pub(super) struct Keys {
    keys: Vec<Arc<Key>>,
    pub(super) verified: Verified,
}

/// Where the keys come from, and those there are.
pub(super) struct KeySource {
    issuer: SecureUrl,
    jwks: Option<SecureUrl>,
    /// Between two fetches: anybody can send a token that names a key which does not exist.
    pause: Duration,
    /// Told when the keys are others.
    changed: watch::Sender<()>,
    now: ArcSwapOption<(Arc<Keys>, Instant)>,
    last: Mutex<Option<Instant>>,
}

impl KeySource {
    pub(super) fn new(
        issuer: SecureUrl,
        jwks: Option<SecureUrl>,
        pause: Duration,
        changed: watch::Sender<()>,
    ) -> Self {
        Self { issuer, jwks, pause, changed, now: ArcSwapOption::empty(), last: Mutex::new(None) }
    }

    /// The keys there are; none before the first fetch, or where they are too old to be believed.
    pub(super) fn now(&self) -> Option<Arc<Keys>> {
        let now = self.now.load();
        now.as_ref().filter(|now| now.1.elapsed() < KEPT).map(|now| now.0.clone())
    }

    /// Fetches the keys, unless somebody has just done so. All who ask meanwhile wait for the same answer, and
    /// who goes away leaves the fetch to the others.
    pub(super) async fn refresh(self: &Arc<Self>, drain: &Drain) {
        let (source, closing) = (self.clone(), drain.clone());
        let task = drain.spawn(async move {
            tokio::select! {
                () = source.fetch_in_turn() => {}
                // Nobody needs keys any more.
                () = closing.stopping() => {}
            }
        });
        let _ = task.await;
    }

    async fn fetch_in_turn(&self) {
        let mut last = self.last.lock().await;
        if last.is_none_or(|last| last.elapsed() >= self.pause) {
            self.fetch().await;
            *last = Some(Instant::now());
        }
    }

    async fn fetch(&self) {
        let fetched: Result<KeySet, FetchError> = fetch(&self.issuer, self.jwks.as_ref()).await;
        let fetched = match fetched {
            Ok(fetched) => read(fetched),
            Err(error) => {
                tracing::warn!(issuer = %self.issuer, %error, "the issuer's keys cannot be fetched");
                return;
            }
        };
        let same = self.now().filter(|before| before.is_the_same(&fetched));
        let changed = same.is_none();
        if changed {
            tracing::info!(issuer = %self.issuer, keys = fetched.len(), "the issuer's keys were fetched");
        }
        let keys = same.unwrap_or_else(|| Arc::new(Keys { keys: fetched, verified: Verified::default() }));
        self.now.store(Some(Arc::new((keys, Instant::now()))));
        if changed {
            self.changed.send_replace(());
        }
    }
}

/// Those that can be used. The others may be for somebody else.
fn read(set: KeySet) -> Vec<Arc<Key>> {
    let keys = set.keys.into_iter().take(MOST).filter_map(|value| {
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        let decoding = DecodingKey::from_jwk(&jwk).ok()?;
        Some(Arc::new(Key { jwk, decoding }))
    });
    keys.collect()
}

impl Keys {
    /// The key that a token names. Where it names none, there has to be only one that it can mean.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<&Arc<Key>> {
        let mut fitting = self.keys.iter().filter(|key| algorithm.fits(&key.jwk));
        match id {
            Some(_) => fitting.find(|key| key.jwk.common.key_id.as_deref() == id),
            None => fitting.next().filter(|_| fitting.next().is_none()),
        }
    }

    /// Whether this very key is among them.
    pub(super) fn has(&self, key: &Key) -> bool {
        self.keys.iter().any(|own| own.jwk == key.jwk)
    }

    fn is_the_same(&self, others: &[Arc<Key>]) -> bool {
        self.keys.len() == others.len() && others.iter().all(|other| self.has(other))
    }
}
