//! The keys of an issuer. They are fetched on first use, periodically, and when a token names an unknown key.
//! If the issuer cannot be reached, the last keys are used for an hour.

pub(super) mod fetch;
mod unknown_ids;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwapOption;
use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::Jwk;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use self::fetch::{FetchError, JwksDocument, fetch};
use self::unknown_ids::UnknownIds;
use super::algorithm::Algorithm;
use super::token_cache::TokenCache;
use super::url::SecureUrl;
use larder_runtime::drain::Drain;

/// How long keys are used without a successful fetch.
const MAX_AGE: Duration = Duration::from_secs(3600);

/// A key, ready for verification.
pub(super) struct Key {
    jwk: Jwk,
    pub(super) decoding: DecodingKey,
}

/// A set of keys, with a cache of the tokens that were verified with these keys. A new set starts with an empty cache.
pub(super) struct Keys {
    keys: Vec<Arc<Key>>,
    pub(super) token_cache: TokenCache,
}

/// Fetches and holds the keys of an issuer.
pub(super) struct KeySource {
    issuer: SecureUrl,
    jwks: Option<SecureUrl>,
    /// The minimum time between two fetches, because anybody can send a token with an unknown key id.
    min_fetch_interval: Duration,
    /// Notified when the keys change.
    changed: watch::Sender<()>,
    current: ArcSwapOption<(Arc<Keys>, Instant)>,
    fetching: Mutex<FetchState>,
}

/// The state of fetches.
#[derive(Default)]
struct FetchState {
    last: Option<Instant>,
    /// When the last fetch started.
    last_start: Option<Instant>,
    /// When the last successful fetch ended.
    last_success: Option<Instant>,
    /// The fetch in progress. The channel closes when the fetch ends.
    in_progress: Option<watch::Receiver<()>>,
    unknown_ids: UnknownIds,
    report: FetchReport,
}

/// What is known about a key that is not in the last fetched set.
pub(super) enum MissingKey {
    /// The issuer does not have the key.
    Absent,
    /// The issuer may have added the key since the last fetch. The next fetch is possible after this time.
    MaybeNew(Duration),
}

/// The results of the fetches so far.
#[derive(Debug, Clone, Default)]
pub(super) struct FetchReport {
    /// When the keys were fetched last.
    pub(super) fetched: Option<SystemTime>,
    /// When the last fetch failed, and why; none if it succeeded.
    pub(super) failure: Option<(SystemTime, String)>,
    pub(super) successes: u64,
    pub(super) failures: u64,
}

impl KeySource {
    pub(super) fn new(
        issuer: SecureUrl,
        jwks: Option<SecureUrl>,
        min_fetch_interval: Duration,
        changed: watch::Sender<()>,
    ) -> Self {
        Self {
            issuer,
            jwks,
            min_fetch_interval,
            changed,
            current: ArcSwapOption::empty(),
            fetching: Mutex::default(),
        }
    }

    /// Returns the keys, or `None` before the first fetch or if the keys are too old.
    pub(super) fn current(&self) -> Option<Arc<Keys>> {
        let current = self.current.load();
        let (keys, fetched_at) = &**current.as_ref()?;
        (fetched_at.elapsed() < MAX_AGE).then(|| keys.clone())
    }

    /// Returns the number of keys in use, and how the fetches went.
    pub(super) fn report(&self) -> (usize, FetchReport) {
        (
            self.current().map_or(0, |keys| keys.keys.len()),
            self.fetch_state().report.clone(),
        )
    }

    /// Fetches the keys, unless they were fetched a moment ago. Concurrent callers share one fetch, which continues if
    /// a caller is cancelled.
    pub(super) async fn refresh(self: &Arc<Self>, drain: &Drain) {
        let Some(mut done) = self.start_fetch(drain) else {
            return;
        };
        // This channel never has a value: it only closes.
        while done.changed().await.is_ok() {}
    }

    /// Finds a key. If the key is missing, fetches the keys, unless they were fetched a moment ago.
    pub(super) async fn find_new(
        self: &Arc<Self>,
        id: &str,
        algorithm: Algorithm,
        drain: &Drain,
    ) -> Result<Option<(Arc<Keys>, Arc<Key>)>, MissingKey> {
        let began = Instant::now();
        self.fetch_state().unknown_ids.add(id);
        self.refresh(drain).await;
        let Some(keys) = self.current() else {
            return Ok(None);
        };
        if let Some(key) = keys.find(Some(id), algorithm).cloned() {
            self.fetch_state().unknown_ids.remove(id);
            return Ok(Some((keys, key)));
        }
        Err(self.missing_key(id, began))
    }

    /// `began` is when the token was received.
    fn missing_key(&self, id: &str, began: Instant) -> MissingKey {
        let state = self.fetch_state();
        let was_missing = |at| {
            state
                .unknown_ids
                .was_missing_after(id, self.min_fetch_interval, at)
        };
        if state.has_fetched_since(began) || state.last_success.is_some_and(was_missing) {
            MissingKey::Absent
        } else {
            let since = state.last.map_or(Duration::ZERO, |last| last.elapsed());
            MissingKey::MaybeNew(self.min_fetch_interval.saturating_sub(since))
        }
    }

    /// Returns the fetch in progress, or starts one. Returns `None` if the last fetch was too recent.
    fn start_fetch(self: &Arc<Self>, drain: &Drain) -> Option<watch::Receiver<()>> {
        let mut fetching = self.fetch_state();
        if let Some(done) = fetching.running_fetch() {
            return Some(done.clone());
        }
        if fetching
            .last
            .is_some_and(|last| last.elapsed() < self.min_fetch_interval)
        {
            return None;
        }
        let (guard, done) = watch::channel(());
        fetching.last_start = Some(Instant::now());
        fetching.in_progress = Some(done.clone());
        let source = self.clone();
        let stopping = drain.clone();
        drain.spawn(async move {
            tokio::select! {
                () = source.fetch() => {}
                // The server is stopping and needs no keys any more.
                () = stopping.stopping() => {}
            }
            source.fetch_state().last = Some(Instant::now());
            drop(guard);
        });
        Some(done)
    }

    async fn fetch(&self) {
        let fetched: Result<JwksDocument, FetchError> =
            fetch(&self.issuer, self.jwks.as_ref()).await;
        let fetched = match fetched {
            Ok(document) => read(document),
            Err(error) => {
                tracing::warn!(issuer = %self.issuer, %error, "cannot fetch the issuer's keys");
                return self.note_failure(&error);
            }
        };
        let same = self
            .current()
            .filter(|before| before.has_same_keys(&fetched));
        let changed = same.is_none();
        if changed {
            tracing::info!(issuer = %self.issuer, keys = fetched.len(), "fetched the issuer's keys");
        }
        let keys = same.unwrap_or_else(|| {
            Arc::new(Keys {
                keys: fetched,
                token_cache: TokenCache::default(),
            })
        });
        self.current.store(Some(Arc::new((keys, Instant::now()))));
        self.note_success();
        if changed {
            self.changed.send_replace(());
        }
    }

    fn note_failure(&self, error: &FetchError) {
        let report = &mut self.fetch_state().report;
        report.failure = Some((SystemTime::now(), error.to_string()));
        report.failures = report.failures.saturating_add(1);
    }

    fn note_success(&self) {
        let mut state = self.fetch_state();
        state.last_success = Some(Instant::now());
        state.report.fetched = Some(SystemTime::now());
        state.report.failure = None;
        state.report.successes = state.report.successes.saturating_add(1);
    }

    fn fetch_state(&self) -> MutexGuard<'_, FetchState> {
        self.fetching.lock()
    }
}

impl FetchState {
    /// Whether a successful fetch started after this time.
    fn has_fetched_since(&self, began: Instant) -> bool {
        let fetch = self.last_start.zip(self.last_success);
        fetch.is_some_and(|(started, ended)| began <= started && started <= ended)
    }

    fn running_fetch(&self) -> Option<&watch::Receiver<()>> {
        let done = self.in_progress.as_ref();
        done.filter(|done| done.has_changed().is_ok())
    }
}

/// Returns the usable keys. Keys of an unsupported type are skipped: they may be for other servers. The size of a
/// document limits their number.
pub(super) fn read(set: JwksDocument) -> Vec<Arc<Key>> {
    let keys = set.keys.into_iter().filter_map(|value| {
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        let decoding = DecodingKey::from_jwk(&jwk).ok()?;
        Some(Arc::new(Key { jwk, decoding }))
    });
    keys.collect()
}

impl Keys {
    /// Finds the key with this id. Without an id, finds the key for the algorithm if there is exactly one.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<&Arc<Key>> {
        let mut fitting = self.keys.iter().filter(|key| algorithm.fits(&key.jwk));
        match id {
            Some(_) => fitting.find(|key| key.jwk.common.key_id.as_deref() == id),
            None => fitting.next().filter(|_| fitting.next().is_none()),
        }
    }

    /// Whether the set contains this key.
    pub(super) fn has(&self, key: &Key) -> bool {
        self.keys.iter().any(|own| own.jwk == key.jwk)
    }

    fn has_same_keys(&self, others: &[Arc<Key>]) -> bool {
        // Both directions are compared, because a set may contain a key twice.
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
    async fn cancelled_requests_share_one_fetch() {
        // This issuer accepts connections and never responds.
        let issuer = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = SecureUrl::parse(&format!("http://{}", issuer.local_addr().unwrap())).unwrap();
        let source = KeySource::new(
            url.clone(),
            Some(url),
            Duration::ZERO,
            watch::Sender::new(()),
        );
        let source = Arc::new(source);
        let drain = Drain::new();
        for _ in 0..50 {
            let cancelled =
                tokio::time::timeout(Duration::from_millis(1), source.refresh(&drain)).await;
            assert!(cancelled.is_err(), "the fetch must not complete");
        }
        assert_eq!(
            Arc::strong_count(&source),
            2,
            "each running fetch holds a reference"
        );
        drain.finish(Duration::from_secs(60)).await;
        source.refresh(&drain).await;
    }

    #[test]
    fn uses_all_keys_of_an_issuer() {
        let key = |n: usize| serde_json::json!({ "kty": "OKP", "crv": "Ed25519", "x": "A".repeat(43), "kid": n.to_string() });
        let keys = read(JwksDocument {
            keys: (0..300).map(key).collect(),
        });
        let keys = Keys {
            keys,
            token_cache: TokenCache::default(),
        };
        let algorithm = Algorithm::parse("EdDSA").unwrap();
        let found = ["0", "299", "300"].map(|id| keys.find(Some(id), algorithm).is_some());
        assert_eq!(found, [true, true, false]);
    }

    #[test]
    fn compares_key_sets() {
        let key = |x: &str| serde_json::json!({ "kty": "OKP", "crv": "Ed25519", "x": x, "kid": x });
        let a = key("A".repeat(43).as_str());
        let b = key("E".repeat(43).as_str());
        let of = |keys: &[&serde_json::Value]| {
            read(JwksDocument {
                keys: keys.iter().copied().cloned().collect(),
            })
        };
        fn same(one: Vec<Arc<Key>>, other: &[Arc<Key>]) -> bool {
            Keys {
                keys: one,
                token_cache: TokenCache::default(),
            }
            .has_same_keys(other)
        }
        assert_eq!(of(&[&a, &b]).len(), 2);
        assert!(same(of(&[&a, &b]), &of(&[&b, &a])));
        assert!(!same(of(&[&a, &b]), &of(&[&a, &a])) && !same(of(&[&a, &a]), &of(&[&a, &b])));
        assert!(!same(of(&[&a]), &of(&[&a, &b])));
    }
}
