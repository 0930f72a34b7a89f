//! The keys of an issuer: fetched when they are needed, fetched anew now and then and when a token names one that
//! is not among them, and for a while used on where the issuer cannot be reached.

mod fetch;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::Jwk;
use tokio::sync::Mutex;

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
    now: ArcSwapOption<(Arc<Keys>, Instant)>,
    last: Mutex<Option<Instant>>,
}

impl KeySource {
    pub(super) fn new(issuer: SecureUrl, jwks: Option<SecureUrl>, pause: Duration) -> Self {
        Self { issuer, jwks, pause, now: ArcSwapOption::empty(), last: Mutex::new(None) }
    }

    /// The keys there are; none before the first fetch, or where they are too old to be believed.
    pub(super) fn now(&self) -> Option<Arc<Keys>> {
        let now = self.now.load();
        now.as_ref().filter(|now| now.1.elapsed() < KEPT).map(|now| now.0.clone())
    }

    /// Fetches the keys, unless somebody has just done so. All who ask meanwhile wait for the same answer, and
    /// who goes away leaves the fetch to the others. Says whether the set is another one now.
    pub(super) async fn refresh(self: &Arc<Self>, drain: &Drain) -> bool {
        let source = self.clone();
        let task = drain.spawn(async move {
            let mut last = source.last.lock().await;
            if last.is_some_and(|last| last.elapsed() < source.pause) {
                return false;
            }
            let changed = source.fetch().await;
            *last = Some(Instant::now());
            changed
        });
        task.await.ok().flatten().unwrap_or(false)
    }

    async fn fetch(&self) -> bool {
        let fetched: Result<KeySet, FetchError> = fetch(&self.issuer, self.jwks.as_ref()).await;
        let fetched = match fetched {
            Ok(fetched) => read(fetched),
            Err(error) => {
                tracing::warn!(issuer = %self.issuer, %error, "the issuer's keys cannot be fetched");
                return false;
            }
        };
        let before = self.now();
        let same = before.filter(|before| before.is_the_same(&fetched));
        let changed = same.is_none();
        if changed {
            tracing::info!(issuer = %self.issuer, keys = fetched.len(), "the issuer's keys were fetched");
        }
        let keys = same.unwrap_or_else(|| Arc::new(Keys { keys: fetched, verified: Verified::default() }));
        self.now.store(Some(Arc::new((keys, Instant::now()))));
        changed
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
