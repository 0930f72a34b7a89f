//! Who is asking: credentials, and what they prove. A request comes in with the token that it carries, and goes down
//! with a caller. Tokens never leave this room, in no log and in no error.

mod address;
mod algorithm;
mod challenge;
mod jwt;
mod keys;
mod metadata;
mod token;
mod verified;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use http::HeaderMap;
use http::header;
use http::request::Parts;

use tokio::sync::watch;

pub use self::address::{Audience, BadAudience, BadUrl, SecureUrl};
pub use self::algorithm::{Algorithm, BadAlgorithm};
pub(super) use self::challenge::Denied;
use self::jwt::Issuer;
pub use self::jwt::{Membership, Oauth};
use self::keys::Key;
pub(super) use self::metadata::NAME as METADATA;
pub use self::token::{NoRandom, Token, mint};
use crate::drain::Drain;
use crate::name::Digest;
use crate::resource::Caller;

/// The longest that is waited before the clock is looked at again: it may be set.
const CLOCK: Duration = Duration::from_secs(30);

/// Whom to believe. With neither, everybody may ask.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// Tokens of our own.
    pub tokens: Vec<Token>,
    /// An issuer whose tokens are believed.
    pub oauth: Option<Oauth>,
}

impl Config {
    /// Whether anybody may ask.
    pub fn is_open(&self) -> bool {
        self.tokens.is_empty() && self.oauth.is_none()
    }
}

/// Lets in who may ask. Clones are the same gate.
#[derive(Clone)]
pub struct Gate(Arc<Inner>);

struct Inner {
    state: ArcSwap<State>,
    changed: watch::Sender<()>,
    drain: Drain,
}

/// What is believed now.
struct State {
    config: Config,
    /// On whose behalf everybody asks, where anybody may.
    anyone: Option<Arc<Who>>,
    tokens: HashMap<Digest, Arc<Who>>,
    issuer: Option<Arc<Issuer>>,
}

/// Who asks, and what it rests on.
pub(super) struct Who {
    pub(super) caller: Caller,
    until: Option<SystemTime>,
    standing: Standing,
}

enum Standing {
    Anyone,
    Listed(Digest),
    Issued { issuer: Arc<Issuer>, key: Arc<Key> },
}

impl Who {
    fn is_current(&self, now: SystemTime) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate")
    }
}

impl Gate {
    /// A gate for whom this configuration believes; where it believes nobody, all ask as this caller.
    pub fn new(config: Config, anyone: Caller, drain: Drain) -> Self {
        let anyone = Arc::new(Who { caller: anyone, until: None, standing: Standing::Anyone });
        let changed = watch::Sender::new(());
        let state = State::new(config, Some(anyone), None, &changed);
        Self(Arc::new(Inner { state: ArcSwap::from_pointee(state), changed, drain }))
    }

    /// Whom it believes now.
    pub fn config(&self) -> Config {
        self.0.state.load().config.clone()
    }

    /// Believes this from now on. What rests on something that is gone ends. A gate that was shut does not open
    /// for all because its last credential was taken back.
    pub fn believe(&self, config: Config) {
        let before = self.0.state.load();
        if before.config == config {
            return;
        }
        let anyone = before.anyone.clone().filter(|_| before.config.is_open());
        if anyone.is_none() && config.is_open() {
            tracing::warn!(
                "no credentials are left: nobody may ask until there are some, or until the next start"
            );
        } else {
            tracing::info!(
                tokens = config.tokens.len(),
                oauth = config.oauth.is_some(),
                "who may ask has changed"
            );
        }
        let kept = before.issuer.clone().filter(|issuer| Some(&issuer.config) == config.oauth.as_ref());
        self.0.state.store(Arc::new(State::new(config, anyone, kept, &self.0.changed)));
        self.0.changed.send_replace(());
    }

    /// Who sends this request.
    pub(super) async fn admit(&self, head: &Parts) -> Result<Arc<Who>, Denied> {
        let state = self.0.state.load_full();
        if let Some(anyone) = &state.anyone {
            return Ok(anyone.clone());
        }
        let token = bearer(head)?;
        if state.config.is_open() {
            return Err(Denied::Closed);
        }
        let token = token.ok_or(Denied::Missing)?;
        match (state.tokens.get(&Digest::of(token.as_bytes())), &state.issuer) {
            (Some(who), _) if who.is_current(SystemTime::now()) => Ok(who.clone()),
            (Some(_), _) => Err(Denied::invalid("the token has expired")),
            (None, _) if token::is_mistyped(token) => {
                Err(Denied::invalid("the token is mistyped: some of its characters are missing or wrong"))
            }
            (None, Some(issuer)) if token.contains('.') => issuer.who(token, &self.0.drain).await,
            (None, _) => Err(Denied::invalid("the token is not one of this server's")),
        }
    }

    /// Completes when what this caller's asking rests on is gone: expired, taken back, or signed with a key that is.
    pub(super) async fn ended(&self, who: &Who) {
        let mut changes = self.0.changed.subscribe();
        while self.stands(who) {
            tokio::select! {
                () = sleep_until(who.until) => {}
                _ = changes.changed() => {}
            }
        }
    }

    fn stands(&self, who: &Who) -> bool {
        let state = self.0.state.load();
        let stands = match &who.standing {
            Standing::Anyone => state.anyone.is_some(),
            Standing::Listed(digest) => {
                state.tokens.get(digest).is_some_and(|now| now.caller == who.caller && now.until == who.until)
            }
            Standing::Issued { issuer, key } => {
                state.issuer.as_ref().is_some_and(|now| Arc::ptr_eq(now, issuer)) && issuer.has(key)
            }
        };
        stands && who.is_current(SystemTime::now())
    }

    /// Whether this caller could still come in, with whatever credential: what a session rests on.
    fn knows(&self, caller: &Caller) -> bool {
        let state = self.0.state.load();
        match &caller.issuer {
            Some(own) => state.config.oauth.as_ref().is_some_and(|oauth| oauth.issuer.as_str() == &**own),
            None => state.tokens.values().chain(&state.anyone).any(|who| who.caller.is_same(caller)),
        }
    }

    /// Fetches the issuer's keys now and then, and says after each change of what is believed who may still ask. Where
    /// the issuer is believed in another way, in what its groups stand for, too, whoever came by it comes anew.
    pub(super) async fn keep_up(&self, keep_only: impl Fn(&dyn Fn(&Caller) -> bool)) {
        let mut changes = self.0.changed.subscribe();
        let mut oauth = self.config().oauth;
        loop {
            let issuer = self.0.state.load().issuer.clone();
            let round = async {
                let Some(issuer) = issuer else { return std::future::pending().await };
                issuer.refresh(&self.0.drain).await;
                tokio::time::sleep(issuer.config.refresh).await;
            };
            tokio::select! {
                () = self.0.drain.stopping() => return,
                () = round => {}
                _ = changes.changed() => {
                    let before = std::mem::replace(&mut oauth, self.config().oauth);
                    keep_only(&|caller| self.knows(caller) && (oauth == before || caller.issuer.is_none()));
                }
            }
        }
    }

    /// Whether answers are for whoever asks, with no credential.
    pub(super) fn is_open(&self) -> bool {
        self.0.state.load().anyone.is_some()
    }

    /// The metadata for clients, and the path below which it stands; none without an issuer.
    pub(super) fn metadata(&self, title: Option<&str>) -> Option<(Vec<u8>, String)> {
        let state = self.0.state.load();
        let oauth = state.config.oauth.as_ref()?;
        Some((metadata::document(oauth, title), oauth.audience.path()))
    }

    /// Tells a client what it lacks.
    pub(super) fn challenge(&self, denied: &Denied, headers: &mut HeaderMap) {
        denied.challenge(headers, self.0.state.load().config.oauth.as_ref());
    }
}

impl State {
    fn new(
        config: Config,
        anyone: Option<Arc<Who>>,
        kept: Option<Arc<Issuer>>,
        changed: &watch::Sender<()>,
    ) -> Self {
        let listed = config.tokens.iter().map(|token| {
            let standing = Standing::Listed(token.digest);
            let who = Who { caller: token.caller.clone(), until: token.expires, standing };
            (token.digest, Arc::new(who))
        });
        let tokens = listed.collect();
        let issuer = config
            .oauth
            .clone()
            .map(|oauth| kept.unwrap_or_else(|| Arc::new(Issuer::new(oauth, changed.clone()))));
        Self { anyone: anyone.filter(|_| config.is_open()), tokens, issuer, config }
    }
}

/// May end early: who waits looks again.
async fn sleep_until(moment: Option<SystemTime>) {
    match moment {
        Some(moment) => {
            let left = moment.duration_since(SystemTime::now()).unwrap_or_default();
            tokio::time::sleep(left.min(CLOCK)).await;
        }
        None => std::future::pending().await,
    }
}

/// The token of a request. It comes in one header and in no other way.
fn bearer(head: &Parts) -> Result<Option<&str>, Denied> {
    let query = head.uri.query().unwrap_or_default();
    if query.split('&').any(|pair| pair.split('=').next() == Some("access_token")) {
        return Err(Denied::Malformed(
            "a token belongs into the Authorization header: in an address everybody on the way can read it, so get another one",
        ));
    }
    let mut values = head.headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Denied::Malformed("the Authorization header is repeated"));
    }
    let wrong = Denied::Malformed("the Authorization header must be `Bearer`, a space and a token");
    let (scheme, token) =
        value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(|| wrong.clone())?;
    let token = token.trim_matches(' ');
    let plain = !token.is_empty() && token.bytes().all(|byte| matches!(byte, 0x21..=0x7e));
    match scheme.eq_ignore_ascii_case("bearer") && plain {
        true => Ok(Some(token)),
        false => Err(wrong),
    }
}
