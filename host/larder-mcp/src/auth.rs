//! Authentication: maps the bearer token of a request to a caller. Tokens are not logged, are not part of an error, and
//! are not passed on. It uses `wire`.

// Lifetimes in tokens and in answers of issuers must not overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod algorithm;
mod challenge;
mod issued_token;
mod issuer_state;
mod jwt;
mod keys;
mod metadata;
mod token;
mod token_cache;
mod url;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use http::HeaderMap;
use http::header;
use http::request::Parts;
use parking_lot::Mutex;

use tokio::sync::watch;

pub use self::algorithm::{Algorithm, BadAlgorithm};
pub(super) use self::challenge::AuthError;
pub use self::issued_token::{IssuedToken, IssuedTokenError};
pub use self::issuer_state::{IssuerState, probe_issuer};
use self::jwt::Issuer;
pub use self::jwt::{Membership, Oauth};
use self::keys::Key;
pub(super) use self::metadata::NAME as METADATA;
pub use self::token::{RandomError, Token, mint};
pub use self::url::{Audience, BadAudience, BadUrl, SecureUrl};
use larder_model::name::Digest;
use larder_model::resource::Caller;
use larder_runtime::drain::Drain;
use larder_runtime::history::CallerVolume;

/// How often expiry times are compared with the system clock, which may be changed at any time.
const CLOCK_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// The accepted credentials. If both fields are empty, every request is accepted without a credential.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// Tokens from the configuration.
    pub tokens: Vec<Token>,
    /// An issuer whose JWTs are accepted.
    pub oauth: Option<Oauth>,
}

impl Config {
    /// Whether no credentials are configured.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.oauth.is_none()
    }
}

/// Authenticates requests. Clones share their state.
#[derive(Clone)]
pub struct Authenticator(Arc<Inner>);

struct Inner {
    state: ArcSwap<State>,
    changed: watch::Sender<()>,
    /// Held while the state is replaced.
    replacing: Mutex<()>,
    drain: Drain,
}

/// The current credentials.
struct State {
    config: Config,
    /// The identity of all requests, if no credential is required.
    anonymous: Option<Arc<Identity>>,
    tokens: HashMap<Digest, Arc<Identity>>,
    issuer: Option<Arc<Issuer>>,
}

/// An authenticated caller and its credential.
pub(super) struct Identity {
    pub(super) caller: Caller,
    /// The name of a token in the configuration, or the id of a JWT.
    pub(super) token: Option<Arc<str>>,
    expires: Option<SystemTime>,
    source: CredentialSource,
    /// Counts the requests of the caller of this identity; empty before the first request.
    pub(super) volume: OnceLock<Arc<CallerVolume>>,
}

/// The credential of an identity.
enum CredentialSource {
    /// No credential is required.
    Anonymous,
    /// A token from the configuration, by its digest.
    ConfiguredToken(Digest),
    /// A JWT, with the key that verified it.
    IssuedToken { issuer: Arc<Issuer>, key: Arc<Key> },
}

impl Identity {
    fn anonymous(caller: Caller) -> Self {
        Self {
            caller,
            token: None,
            expires: None,
            source: CredentialSource::Anonymous,
            volume: OnceLock::new(),
        }
    }

    /// Whether this is the identity of all requests, because no credential is required.
    pub(super) fn is_anonymous(&self) -> bool {
        matches!(self.source, CredentialSource::Anonymous)
    }

    fn is_current(&self, now: SystemTime) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authenticator")
    }
}

impl Authenticator {
    /// Creates an authenticator for this configuration. Without credentials, all requests are made by the
    /// caller `anonymous`.
    pub fn new(config: Config, anonymous: Caller, drain: Drain) -> Self {
        let anonymous = Arc::new(Identity::anonymous(anonymous));
        let changed = watch::Sender::new(());
        let state = State::new(config, Some(anonymous), None, &changed);
        Self(Arc::new(Inner {
            state: ArcSwap::from_pointee(state),
            changed,
            replacing: Mutex::default(),
            drain,
        }))
    }

    /// Returns the current configuration.
    pub fn config(&self) -> Config {
        self.0.state.load().config.clone()
    }

    /// Replaces the configuration. Streams and sessions whose credential is gone end. If the last credential
    /// is removed, the server rejects all requests instead of accepting all of them.
    pub fn reload(&self, config: Config) {
        let _replacing = self.0.replacing.lock();
        let before = self.0.state.load();
        if before.config == config {
            return;
        }
        let anonymous = before
            .anonymous
            .clone()
            .filter(|_| before.config.is_empty());
        if anonymous.is_none() && config.is_empty() {
            tracing::warn!(
                "no credentials are configured: requests are rejected until some are added or the server restarts"
            );
        } else {
            tracing::info!(
                tokens = config.tokens.len(),
                oauth = config.oauth.is_some(),
                "credentials reloaded"
            );
        }
        let reused = before
            .issuer
            .clone()
            .filter(|issuer| Some(&issuer.config) == config.oauth.as_ref());
        self.replace_state(State::new(config, anonymous, reused, &self.0.changed));
    }

    fn replace_state(&self, state: State) {
        self.0.state.store(Arc::new(state));
        self.0.changed.send_replace(());
    }

    /// Replaces the caller of requests without a credential, if they are accepted. Streams and sessions of the former
    /// caller end.
    pub fn set_anonymous_caller(&self, caller: Caller) {
        let _replacing = self.0.replacing.lock();
        let before = self.0.state.load();
        if before
            .anonymous
            .as_ref()
            .is_none_or(|anonymous| anonymous.caller == caller)
        {
            return;
        }
        let anonymous = Some(Arc::new(Identity::anonymous(caller)));
        let state = State::new(
            before.config.clone(),
            anonymous,
            before.issuer.clone(),
            &self.0.changed,
        );
        self.replace_state(state);
    }

    /// Returns the identity of the sender of a request.
    pub(super) async fn authenticate(&self, head: &Parts) -> Result<Arc<Identity>, AuthError> {
        let state = self.0.state.load_full();
        if let Some(anonymous) = &state.anonymous {
            return Ok(anonymous.clone());
        }
        let token = bearer_token(head)?;
        if state.config.is_empty() {
            return Err(AuthError::NoCredentials);
        }
        let token = token.ok_or(AuthError::Missing)?;
        match (
            state.tokens.get(&Digest::of(token.as_bytes())),
            &state.issuer,
        ) {
            (Some(identity), _) if identity.is_current(SystemTime::now()) => Ok(identity.clone()),
            (Some(_), _) => Err(AuthError::invalid("the token has expired")),
            (None, _) if token::has_bad_checksum(token) => Err(AuthError::invalid(
                "the token is mistyped: some of its characters are missing or wrong",
            )),
            (None, Some(issuer)) if token.contains('.') => {
                issuer.identify(token, &self.0.drain).await
            }
            (None, _) => Err(AuthError::invalid("the token is unknown to this server")),
        }
    }

    /// Completes when the credential of this identity is no longer valid: it expired, it was removed, or its issuer
    /// withdrew the key that signed it.
    pub(super) async fn invalidated(&self, identity: &Identity) {
        let mut changes = self.0.changed.subscribe();
        while self.is_valid(identity) {
            tokio::select! {
                () = sleep_until(identity.expires) => {}
                _ = changes.changed() => {}
            }
        }
    }

    fn is_valid(&self, identity: &Identity) -> bool {
        let state = self.0.state.load();
        let is_accepted = match &identity.source {
            CredentialSource::Anonymous => state
                .anonymous
                .as_ref()
                .is_some_and(|anonymous| anonymous.caller == identity.caller),
            CredentialSource::ConfiguredToken(digest) => {
                let is_same = |token: &Arc<Identity>| {
                    token.caller == identity.caller && token.expires == identity.expires
                };
                state.tokens.get(digest).is_some_and(is_same)
            }
            CredentialSource::IssuedToken { issuer, key } => {
                state.has_issuer(issuer) && issuer.has_key(key)
            }
        };
        is_accepted && identity.is_current(SystemTime::now())
    }

    /// Whether an accepted credential belongs to this caller. Sessions of other callers end.
    pub(super) fn accepts_caller(&self, caller: &Caller) -> bool {
        let state = self.0.state.load();
        match &caller.issuer {
            Some(own) => state
                .config
                .oauth
                .as_ref()
                .is_some_and(|oauth| oauth.issuer.as_str() == &**own),
            None => {
                let mut identities = state.tokens.values().chain(&state.anonymous);
                identities.any(|identity| identity.caller.is_same_principal(caller))
            }
        }
    }

    /// Refreshes the issuer's keys periodically, and calls `keep_only` after each change of the credentials
    /// with a test for the callers whose sessions may stay. If the OAuth configuration changed (the mapping
    /// of groups to teams, for example), sessions of its callers end.
    pub(super) async fn maintain(&self, keep_only: impl Fn(&dyn Fn(&Caller) -> bool)) {
        let mut changes = self.0.changed.subscribe();
        let mut oauth = self.config().oauth;
        loop {
            let issuer = self.0.state.load().issuer.clone();
            let refresh = async {
                let Some(issuer) = issuer else {
                    return std::future::pending().await;
                };
                issuer.refresh(&self.0.drain).await;
                tokio::time::sleep(issuer.next_refresh()).await;
            };
            tokio::select! {
                () = self.0.drain.stopping() => return,
                () = refresh => {}
                _ = changes.changed() => {
                    let before = std::mem::replace(&mut oauth, self.config().oauth);
                    keep_only(&|caller| self.accepts_caller(caller) && (oauth == before || caller.issuer.is_none()));
                }
            }
        }
    }

    /// Returns the caller of requests without a credential; `None` if a credential is required.
    pub fn anonymous_caller(&self) -> Option<Caller> {
        self.0
            .state
            .load()
            .anonymous
            .as_ref()
            .map(|anonymous| anonymous.caller.clone())
    }

    /// Whether requests are accepted without a credential.
    pub(super) fn allows_anonymous(&self) -> bool {
        self.0.state.load().anonymous.is_some()
    }

    /// Returns the protected resource metadata (RFC 9728) and the path of the resource; `None` without an
    /// issuer.
    pub(super) fn metadata(&self, title: Option<&str>) -> Option<(Vec<u8>, String)> {
        let state = self.0.state.load();
        let oauth = state.config.oauth.as_ref()?;
        Some((metadata::document(oauth, title), oauth.audience.path()))
    }

    /// Adds the headers that tell a client why its request was rejected.
    pub(super) fn challenge(&self, error: &AuthError, headers: &mut HeaderMap) {
        error.challenge(headers, self.0.state.load().config.oauth.as_ref());
    }
}

impl State {
    fn new(
        config: Config,
        anonymous: Option<Arc<Identity>>,
        reused: Option<Arc<Issuer>>,
        changed: &watch::Sender<()>,
    ) -> Self {
        let listed = config.tokens.iter().map(|token| {
            let source = CredentialSource::ConfiguredToken(token.digest);
            let caller = token.caller.clone();
            let expires = token.expires;
            let name = caller.subject.as_deref().map(Arc::from);
            (
                token.digest,
                Arc::new(Identity {
                    caller,
                    token: name,
                    expires,
                    source,
                    volume: OnceLock::new(),
                }),
            )
        });
        let tokens = listed.collect();
        let issuer = config
            .oauth
            .clone()
            .map(|oauth| reused.unwrap_or_else(|| Arc::new(Issuer::new(oauth, changed.clone()))));
        Self {
            anonymous: anonymous.filter(|_| config.is_empty()),
            tokens,
            issuer,
            config,
        }
    }

    fn has_issuer(&self, issuer: &Arc<Issuer>) -> bool {
        let current = self.issuer.as_ref();
        current.is_some_and(|current| Arc::ptr_eq(current, issuer))
    }
}

/// Sleeps until this time, or for a shorter time: the caller has to check the time again.
async fn sleep_until(moment: Option<SystemTime>) {
    match moment {
        Some(moment) => {
            let left = moment.duration_since(SystemTime::now()).unwrap_or_default();
            tokio::time::sleep(left.min(CLOCK_CHECK_INTERVAL)).await;
        }
        None => std::future::pending().await,
    }
}

/// Returns the bearer token of a request. A token is accepted only in the Authorization header.
fn bearer_token(head: &Parts) -> Result<Option<&str>, AuthError> {
    if has_token(head.uri.query().unwrap_or_default()) {
        return Err(AuthError::Malformed(
            "send the token in the Authorization header: a URL may be logged on the way, so replace this token",
        ));
    }
    let mut values = head.headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(AuthError::Malformed("the Authorization header is repeated"));
    }
    let malformed =
        AuthError::Malformed("the Authorization header must be `Bearer`, a space and a token");
    let (scheme, token) = value
        .to_str()
        .ok()
        .and_then(|text| text.split_once(' '))
        .ok_or_else(|| malformed.clone())?;
    let token = token.trim_matches(' ');
    if scheme.eq_ignore_ascii_case("bearer") && is_token(token) {
        Ok(Some(token))
    } else {
        Err(malformed)
    }
}

fn has_token(query: &str) -> bool {
    let mut names = query.split('&').map(|pair| pair.split('=').next());
    names.any(|name| name == Some("access_token"))
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, 0x21..=0x7e))
}
