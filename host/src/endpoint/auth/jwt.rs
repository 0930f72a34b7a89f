//! Tokens of an issuer: signed statements that are made out to this server and end some time. Who asks, in which
//! teams and with which scopes, is read from one only after all of it was checked.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::address::{Audience, SecureUrl};
use super::algorithm::{self, Algorithm};
use super::challenge::Denied;
use super::keys::{Key, KeySource, Keys};
use super::{Standing, Who};
use crate::drain::Drain;
use crate::name::{Digest, TeamName, Teams};
use crate::resource::Caller;

/// Whose tokens are believed, and what they mean here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oauth {
    /// Who hands them out.
    pub issuer: SecureUrl,
    /// To whom they are made out: this server.
    pub audience: Audience,
    /// Where the issuer's keys are; none to ask the issuer.
    pub jwks: Option<SecureUrl>,
    /// How tokens may be signed.
    pub algorithms: Vec<Algorithm>,
    /// Which teams a caller is in.
    pub membership: Membership,
    /// Scopes that every token must have.
    pub scopes: Vec<String>,
    /// By how much the clocks of the issuer and this machine may differ.
    pub leeway: Duration,
    /// How old keys get before they are fetched anew.
    pub refresh: Duration,
    /// The least time between two fetches.
    pub pause: Duration,
}

/// Which teams a caller is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Membership {
    /// These, whoever it is.
    All(Teams),
    /// Those that the values of a claim stand for.
    Claim {
        /// Its name, or a JSON pointer to it.
        claim: String,
        /// What its values stand for.
        teams: BTreeMap<String, TeamName>,
    },
}

/// An issuer with its keys.
pub(super) struct Issuer {
    pub(super) config: Oauth,
    keys: Arc<KeySource>,
}

/// Longer tokens do not fit into what most servers take as headers.
const LONGEST: usize = 16 << 10;
/// The longest subject that is carried about.
const SUBJECT: usize = 512;

/// What a token says.
#[derive(Deserialize)]
#[serde(transparent)]
struct Claims(Map<String, Value>);

impl Issuer {
    /// Says on this channel when its keys are others.
    pub(super) fn new(config: Oauth, changed: watch::Sender<()>) -> Self {
        algorithm::install();
        let keys = KeySource::new(config.issuer.clone(), config.jwks.clone(), config.pause, changed);
        Self { config, keys: Arc::new(keys) }
    }

    /// Fetches the keys anew.
    pub(super) async fn refresh(&self, drain: &Drain) {
        self.keys.refresh(drain).await;
    }

    /// Whether what was signed with this key still counts.
    pub(super) fn has(&self, key: &Key) -> bool {
        self.keys.now().is_some_and(|keys| keys.has(key))
    }

    /// Who sends this token.
    pub(super) async fn who(self: &Arc<Self>, token: &str, drain: &Drain) -> Result<Arc<Who>, Denied> {
        if token.len() > LONGEST {
            return Err(Denied::invalid("the token is longer than any that is accepted"));
        }
        let digest = Digest::of(token.as_bytes());
        let now = SystemTime::now();
        let known = self.keys.now();
        if let Some(who) = known.as_ref().and_then(|keys| keys.verified.get(digest, now)) {
            return Ok(who);
        }
        let (id, algorithm) = self.header(token)?;
        let (keys, key) = self.key(known, id.as_deref(), algorithm, drain).await?;
        let who = Arc::new(self.verify(token, algorithm, key)?);
        keys.verified.put(digest, &who, now);
        Ok(who)
    }

    /// What the token says of its signature. Not to be believed yet, but enough to find the key.
    fn header(&self, token: &str) -> Result<(Option<String>, Algorithm), Denied> {
        let header = decode_header(token).map_err(|error| match error.kind() {
            ErrorKind::Json(_) => Denied::invalid("the token is signed in a way that is not accepted"),
            _ => Denied::invalid("the token is not one of this server's, nor one of its issuer's"),
        })?;
        let algorithm = Algorithm(header.alg);
        if !self.config.algorithms.contains(&algorithm) {
            return Err(Denied::invalid("the token is signed in a way that is not accepted"));
        }
        let kind = header.typ.as_deref().map(|kind| kind.to_ascii_lowercase());
        let kind = kind.as_deref().map(|kind| kind.strip_prefix("application/").unwrap_or(kind));
        if !matches!(kind, None | Some("jwt" | "at+jwt")) {
            return Err(Denied::invalid("the token is not an access token"));
        }
        if header.crit.is_some() {
            return Err(Denied::invalid("the token demands what this server does not know (crit)"));
        }
        Ok((header.kid, algorithm))
    }

    async fn key(
        &self,
        known: Option<Arc<Keys>>,
        id: Option<&str>,
        algorithm: Algorithm,
        drain: &Drain,
    ) -> Result<(Arc<Keys>, Arc<Key>), Denied> {
        let find = |keys: Arc<Keys>| keys.find(id, algorithm).cloned().map(|key| (keys, key));
        if let Some(found) = known.and_then(find) {
            return Ok(found);
        }
        // The issuer may have another key since; a token without a name for its key is no reason to ask.
        if id.is_some() || self.keys.now().is_none() {
            self.keys.refresh(drain).await;
        }
        let keys = self.keys.now().ok_or(Denied::NoKeys)?;
        find(keys)
            .ok_or_else(|| Denied::invalid("the token is signed with a key that its issuer does not have"))
    }

    fn verify(self: &Arc<Self>, token: &str, algorithm: Algorithm, key: Arc<Key>) -> Result<Who, Denied> {
        let config = &self.config;
        let mut validation = Validation::new(algorithm.0);
        validation.leeway = config.leeway.as_secs();
        validation.validate_nbf = true;
        validation.set_audience(&[config.audience.as_str()]);
        validation.set_issuer(&[config.issuer.as_str()]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        let claims: Claims =
            decode(token, &key.decoding, &validation).map_err(|error| refusal(error.kind()))?.claims;
        let exp = claims.0.get("exp").and_then(Value::as_f64).unwrap_or_default();
        let until = Duration::try_from_secs_f64(exp)
            .ok()
            .and_then(|exp| SystemTime::UNIX_EPOCH.checked_add(exp.checked_add(config.leeway)?))
            .ok_or_else(|| Denied::invalid("the token ends at no time that there is"))?;
        let caller = self.caller(claims)?;
        let standing = Standing::Issued { issuer: self.clone(), key };
        Ok(Who { caller, until: Some(until), standing })
    }

    fn caller(&self, claims: Claims) -> Result<Caller, Denied> {
        let subject = claims.0.get("sub").and_then(Value::as_str);
        let subject = subject
            .filter(|subject| (1..=SUBJECT).contains(&subject.len()))
            .ok_or_else(|| Denied::invalid("the token does not say whose it is (sub)"))?;
        let scopes = claims.scopes();
        let missing = self.config.scopes.iter().any(|needed| !scopes.contains(needed));
        if missing {
            return Err(Denied::Scopes);
        }
        let teams = match &self.config.membership {
            Membership::All(teams) => teams.clone(),
            Membership::Claim { claim, teams } => {
                let named = claims.values(claim);
                let found = named.iter().filter_map(|value| teams.get(*value)).cloned();
                Teams::of(found).ok_or(Denied::NoTeam)?
            }
        };
        Ok(Caller {
            subject: Some(subject.into()),
            issuer: Some(self.config.issuer.as_str().into()),
            teams,
            scopes,
        })
    }
}

impl Claims {
    fn scopes(&self) -> Vec<String> {
        let words = |text: &str| text.split_ascii_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>();
        // `scp` is what two large issuers write.
        let mut scopes = match self.0.get("scope").or_else(|| self.0.get("scp")) {
            Some(Value::String(text)) => words(text),
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect(),
            _ => Vec::new(),
        };
        // In one order, since what is kept is kept by them.
        scopes.sort_unstable();
        scopes.dedup();
        scopes
    }

    /// The texts of a claim: one, or a list.
    fn values(&self, claim: &str) -> Vec<&str> {
        let found = match claim.strip_prefix('/') {
            None => self.0.get(claim),
            Some(path) => {
                let mut parts = path.split('/').map(|part| part.replace("~1", "/").replace("~0", "~"));
                let first = parts.next().and_then(|part| self.0.get(&part));
                parts.fold(first, |at, part| at?.get(part))
            }
        };
        match found {
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }
}

/// What is said of a token that does not hold. Nothing of the token itself.
fn refusal(kind: &ErrorKind) -> Denied {
    let why: Cow<'static, str> = match kind {
        ErrorKind::ExpiredSignature => "the token has expired".into(),
        ErrorKind::ImmatureSignature => "the token is not valid yet".into(),
        ErrorKind::InvalidAudience => "the token is made out to another server (aud)".into(),
        ErrorKind::InvalidIssuer => "the token is of another issuer (iss)".into(),
        ErrorKind::InvalidSignature => "the token's signature does not fit".into(),
        ErrorKind::MissingRequiredClaim(claim) => {
            format!("the token has no claim `{claim}`, or a wrong one").into()
        }
        ErrorKind::InvalidClaimFormat(claim) => format!("the token's claim `{claim}` cannot be read").into(),
        _ => "the token cannot be read".into(),
    };
    Denied::Invalid(why)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claims(value: Value) -> Claims {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn scopes_stand_in_either_claim() {
        for (value, expected) in [
            (json!({ "exp": 1, "scope": "b a  b" }), vec!["a", "b"]),
            (json!({ "exp": 1, "scp": "a b" }), vec!["a", "b"]),
            (json!({ "exp": 1, "scp": ["b", 1, "a"] }), vec!["a", "b"]),
            (json!({ "exp": 1 }), vec![]),
        ] {
            assert_eq!(claims(value).scopes(), expected);
        }
    }

    #[test]
    fn a_claim_is_named_or_pointed_at() {
        let claims = claims(json!({
            "exp": 1, "group": "a", "https://x/teams": ["b", 2, "c"], "realm": { "roles": ["d"], "a/b": "e" },
        }));
        assert_eq!(claims.values("group"), ["a"]);
        assert_eq!(claims.values("https://x/teams"), ["b", "c"]);
        assert_eq!(claims.values("/realm/roles"), ["d"]);
        assert_eq!(claims.values("/realm/a~1b"), ["e"]);
        for none in ["other", "/realm", "/realm/none/x", "/", "realm"] {
            assert!(claims.values(none).is_empty(), "{none}");
        }
    }
}
