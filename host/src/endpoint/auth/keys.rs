//! The keys of an issuer: fetched when they are needed, fetched anew now and then and when a token names one that
//! is not among them, and for a while used on where the issuer cannot be reached.

mod fetch;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::Jwk;
use tokio::sync::watch;

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
    fetching: Mutex<Fetching>,
}

/// The last fetch, and the one that is under way.
#[derive(Default)]
struct Fetching {
    last: Option<Instant>,
    /// Closes when it ends, however it does.
    going: Option<watch::Receiver<()>>,
}

impl KeySource {
    pub(super) fn new(
        issuer: SecureUrl,
        jwks: Option<SecureUrl>,
        pause: Duration,
        changed: watch::Sender<()>,
    ) -> Self {
        Self { issuer, jwks, pause, changed, now: ArcSwapOption::empty(), fetching: Mutex::default() }
    }

    /// The keys there are; none before the first fetch, or where they are too old to be believed.
    pub(super) fn now(&self) -> Option<Arc<Keys>> {
        let now = self.now.load();
        now.as_ref().filter(|now| now.1.elapsed() < KEPT).map(|now| now.0.clone())
    }

    /// Fetches the keys, unless somebody has just done so. All who ask meanwhile wait for the same fetch, and who goes
    /// away leaves it to the others: however many come and go, there is one.
    pub(super) async fn refresh(self: &Arc<Self>, drain: &Drain) {
        let Some(mut going) = self.going(drain) else { return };
        // Nothing is ever sent.
        while going.changed().await.is_ok() {}
    }

    /// The fetch that is under way, or that is begun now; none if there was one a moment ago.
    fn going(self: &Arc<Self>, drain: &Drain) -> Option<watch::Receiver<()>> {
        let mut fetching = self.fetching.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(going) = fetching.going.as_ref().filter(|going| going.has_changed().is_ok()) {
            return Some(going.clone());
        }
        if fetching.last.is_some_and(|last| last.elapsed() < self.pause) {
            return None;
        }
        let (end, going) = watch::channel(());
        fetching.going = Some(going.clone());
        let (source, closing) = (self.clone(), drain.clone());
        drain.spawn(async move {
            tokio::select! {
                () = source.fetch() => {}
                // Nobody needs keys any more.
                () = closing.stopping() => {}
            }
            source.fetching.lock().unwrap_or_else(PoisonError::into_inner).last = Some(Instant::now());
            drop(end);
        });
        Some(going)
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
        // In both directions: one may be there twice.
        let is_among_others = |own: &Arc<Key>| others.iter().any(|other| own.jwk == other.jwk);
        self.keys.len() == others.len()
            && others.iter().all(|other| self.has(other))
            && self.keys.iter().all(is_among_others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn requests_that_are_given_up_leave_one_fetch_behind() {
        // It takes connections and says nothing.
        let issuer = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = SecureUrl::parse(&format!("http://{}", issuer.local_addr().unwrap())).unwrap();
        let source = KeySource::new(url.clone(), Some(url), Duration::ZERO, watch::Sender::new(()));
        let (source, drain) = (Arc::new(source), Drain::new());
        for _ in 0..50 {
            let given_up = tokio::time::timeout(Duration::from_millis(1), source.refresh(&drain)).await;
            assert!(given_up.is_err(), "it was answered");
        }
        assert_eq!(Arc::strong_count(&source), 2, "each that was begun would hold it");
        drain.finish(Duration::from_secs(60)).await;
        source.refresh(&drain).await;
    }

    #[test]
    fn keys_are_the_same_only_if_none_came_and_none_went() {
        let key = |x: &str| serde_json::json!({ "kty": "OKP", "crv": "Ed25519", "x": x, "kid": x });
        let (a, b) = (key("A".repeat(43).as_str()), key("E".repeat(43).as_str()));
        let of = |keys: &[&serde_json::Value]| read(KeySet { keys: keys.iter().copied().cloned().collect() });
        fn same(one: Vec<Arc<Key>>, other: &[Arc<Key>]) -> bool {
            Keys { keys: one, verified: Verified::default() }.is_the_same(other)
        }
        assert_eq!(of(&[&a, &b]).len(), 2);
        assert!(same(of(&[&a, &b]), &of(&[&b, &a])));
        assert!(!same(of(&[&a, &b]), &of(&[&a, &a])) && !same(of(&[&a, &a]), &of(&[&a, &b])));
        assert!(!same(of(&[&a]), &of(&[&a, &b])));
    }
}
