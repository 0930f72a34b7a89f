//! JWT access tokens of an OAuth issuer. The caller, its teams and its scopes are read from a token only
//! after all checks have passed.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::algorithm::{self, Algorithm};
use super::challenge::AuthError;
use super::keys::{FetchReport, Key, KeySource, Keys, MissingKey};
use super::url::{Audience, SecureUrl};
use super::{CredentialSource, Identity};
use larder_model::name::{Digest, TeamName, Teams};
use larder_model::resource::Caller;
use larder_runtime::drain::Drain;

/// The configuration of an OAuth issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oauth {
    /// The issuer of the tokens.
    pub issuer: SecureUrl,
    /// The audience that tokens must have: this server.
    pub audience: Audience,
    /// The URL of the issuer's keys; `None` to discover it from the issuer's metadata.
    pub jwks: Option<SecureUrl>,
    /// The accepted signature algorithms.
    pub algorithms: Vec<Algorithm>,
    /// Which teams a caller is in.
    pub membership: Membership,
    /// Scopes that every token must have.
    pub scopes: Vec<String>,
    /// The tolerated difference between the clocks of the issuer and this machine.
    pub leeway: Duration,
    /// The interval between fetches of the keys.
    pub refresh: Duration,
    /// The minimum time between two fetches.
    pub min_fetch_interval: Duration,
}

/// Which teams a caller is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Membership {
    /// Every caller is in these teams.
    All(Teams),
    /// The values of a claim determine the teams.
    Claim {
        /// The name of the claim, or a JSON pointer to the claim.
        claim: String,
        /// The team for each value of the claim, in the order in which they take precedence. The order of the
        /// values in a token does not matter.
        teams: Vec<(String, TeamName)>,
    },
}

/// An issuer with its keys.
pub(super) struct Issuer {
    pub(super) config: Oauth,
    keys: Arc<KeySource>,
}

/// The least time between a failed fetch of the keys and the next fetch.
const MIN_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Maximum bytes of a token. Longer tokens exceed the header limit of most servers.
const MAX_TOKEN: usize = 16 << 10;
/// Maximum bytes of the id of a token that is recorded.
const MAX_ID: usize = 256;
/// Bytes of the longest subject.
const MAX_SUBJECT: usize = 512;

/// A verified token. The scopes and the groups of its subject were not checked.
pub(super) struct AnyIssuedToken {
    pub(super) subject: String,
    pub(super) id: Option<Arc<str>>,
    pub(super) scopes: Vec<String>,
    pub(super) expires: SystemTime,
    pub(super) issuer: Arc<Issuer>,
    pub(super) key: Arc<Key>,
}

/// The claims of a token.
#[derive(Deserialize)]
#[serde(transparent)]
struct Claims(Map<String, Value>);

impl Issuer {
    /// Creates an issuer that sends on `changed` when its keys change.
    pub(super) fn new(config: Oauth, changed: watch::Sender<()>) -> Self {
        algorithm::install();
        let keys = KeySource::new(
            config.issuer.clone(),
            config.jwks.clone(),
            config.min_fetch_interval,
            changed,
        );
        Self {
            config,
            keys: Arc::new(keys),
        }
    }

    /// Fetches the keys.
    pub(super) async fn refresh(&self, drain: &Drain) {
        self.keys.refresh(drain).await;
    }

    /// Returns the number of keys in use, and how the fetches went.
    pub(super) fn report(&self) -> (usize, FetchReport) {
        self.keys.report()
    }

    /// Returns the time until the next regular fetch. After a failed fetch, this time is short: a server without keys
    /// gets no requests from a load balancer, so no request would cause a fetch.
    pub(super) fn next_refresh(&self) -> Duration {
        match self.keys.report().1.failure {
            Some(_) => self
                .config
                .refresh
                .min(self.config.min_fetch_interval.max(MIN_RETRY_DELAY)),
            None => self.config.refresh,
        }
    }

    /// Whether the issuer still has this key.
    pub(super) fn has_key(&self, key: &Key) -> bool {
        self.keys.current().is_some_and(|keys| keys.has(key))
    }

    /// Verifies a token, or finds it in the cache, and returns its identity.
    pub(super) async fn identify(
        self: &Arc<Self>,
        token: &str,
        drain: &Drain,
    ) -> Result<Arc<Identity>, AuthError> {
        check_length(token)?;
        let digest = Digest::of(token.as_bytes());
        let now = SystemTime::now();
        let current = self.keys.current();
        if let Some(identity) = current
            .as_ref()
            .and_then(|keys| keys.token_cache.get(digest, now))
        {
            return Ok(identity);
        }
        let (id, algorithm) = self.header(token)?;
        let (keys, key) = self.key(current, id.as_deref(), algorithm, drain).await?;
        let identity = Arc::new(self.verify(token, algorithm, key)?);
        keys.token_cache.insert(digest, &identity, now);
        Ok(identity)
    }

    /// Reads the header of a token: the key id and the algorithm. Both are not verified yet and are only used to find
    /// the key.
    fn header(&self, token: &str) -> Result<(Option<String>, Algorithm), AuthError> {
        let header = decode_header(token).map_err(|error| match error.kind() {
            ErrorKind::Json(_) => {
                AuthError::invalid("the token's signature algorithm is not accepted")
            }
            _ => AuthError::invalid("the token is neither one of this server's tokens nor a JWT"),
        })?;
        let algorithm = Algorithm(header.alg);
        if !self.config.algorithms.contains(&algorithm) {
            return Err(AuthError::invalid(
                "the token's signature algorithm is not accepted",
            ));
        }
        if !header.typ.as_deref().is_none_or(is_access_token) {
            return Err(AuthError::invalid("the token is not an access token"));
        }
        if header.crit.is_some() {
            return Err(AuthError::invalid(
                "the token has critical header parameters (crit)",
            ));
        }
        Ok((header.kid, algorithm))
    }

    async fn key(
        &self,
        current: Option<Arc<Keys>>,
        id: Option<&str>,
        algorithm: Algorithm,
        drain: &Drain,
    ) -> Result<(Arc<Keys>, Arc<Key>), AuthError> {
        let find = |keys: Arc<Keys>| keys.find(id, algorithm).cloned().map(|key| (keys, key));
        if let Some(found) = current.and_then(find) {
            return Ok(found);
        }
        let absent =
            || AuthError::invalid("the token is signed with a key that the issuer does not have");
        // The issuer may have added a key since the last fetch. A token without a key id does not cause a fetch.
        if let Some(id) = id {
            return match self.keys.find_new(id, algorithm, drain).await {
                Ok(found) => found.ok_or(AuthError::KeysUnavailable),
                Err(MissingKey::Absent) => Err(absent()),
                Err(MissingKey::MaybeNew(retry)) => Err(AuthError::KeyMaybeNew { retry }),
            };
        }
        if self.keys.current().is_none() {
            self.keys.refresh(drain).await;
        }
        let keys = self.keys.current().ok_or(AuthError::KeysUnavailable)?;
        find(keys).ok_or_else(absent)
    }

    fn verify(
        self: &Arc<Self>,
        token: &str,
        algorithm: Algorithm,
        key: Arc<Key>,
    ) -> Result<Identity, AuthError> {
        let (claims, expires) = self.verified_claims(token, algorithm, &key)?;
        let token = claims.id();
        let caller = self.caller(claims)?;
        let source = CredentialSource::IssuedToken {
            issuer: self.clone(),
            key,
        };
        Ok(Identity {
            caller,
            token,
            expires: Some(expires),
            source,
            volume: OnceLock::new(),
        })
    }

    /// Verifies a token, without a check of its scopes and the groups of its subject. The result is not cached.
    pub(super) async fn verify_any(
        self: &Arc<Self>,
        token: &str,
        drain: &Drain,
    ) -> Result<AnyIssuedToken, AuthError> {
        check_length(token)?;
        let (id, algorithm) = self.header(token)?;
        let (_, key) = self
            .key(self.keys.current(), id.as_deref(), algorithm, drain)
            .await?;
        let (claims, expires) = self.verified_claims(token, algorithm, &key)?;
        Ok(AnyIssuedToken {
            subject: claims.subject()?.to_owned(),
            id: claims.id(),
            scopes: claims.scopes(),
            expires,
            issuer: self.clone(),
            key,
        })
    }

    /// Returns the claims of a token and the time at which the token expires, after all checks have passed.
    fn verified_claims(
        &self,
        token: &str,
        algorithm: Algorithm,
        key: &Key,
    ) -> Result<(Claims, SystemTime), AuthError> {
        let config = &self.config;
        let mut validation = Validation::new(algorithm.0);
        validation.leeway = config.leeway.as_secs();
        validation.validate_nbf = true;
        validation.set_audience(&[config.audience.as_str()]);
        validation.set_issuer(&[config.issuer.as_str()]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        let claims: Claims = decode(token, &key.decoding, &validation)
            .map_err(|error| auth_error(error.kind()))?
            .claims;
        let exp = claims
            .0
            .get("exp")
            .and_then(Value::as_f64)
            .unwrap_or_default();
        let expires = Duration::try_from_secs_f64(exp)
            .ok()
            .and_then(|exp| SystemTime::UNIX_EPOCH.checked_add(exp.checked_add(config.leeway)?))
            .ok_or_else(|| AuthError::invalid("the token's expiry time is out of range (exp)"))?;
        Ok((claims, expires))
    }

    fn caller(&self, claims: Claims) -> Result<Caller, AuthError> {
        let subject = claims.subject()?;
        let scopes = claims.scopes();
        if !self.has_required_scopes(&scopes) {
            return Err(AuthError::MissingScopes);
        }
        let teams = match &self.config.membership {
            Membership::All(teams) => teams.clone(),
            Membership::Claim { claim, teams } => {
                let values: HashSet<&str> = claims.values(claim).into_iter().collect();
                let found = teams
                    .iter()
                    .filter(|(value, _)| values.contains(value.as_str()));
                Teams::of(found.map(|(_, team)| team.clone())).ok_or(AuthError::NoTeam)?
            }
        };
        Ok(Caller {
            subject: Some(subject.into()),
            issuer: Some(self.config.issuer.as_str().into()),
            teams,
            scopes,
        })
    }

    fn has_required_scopes(&self, scopes: &[String]) -> bool {
        let mut required = self.config.scopes.iter();
        required.all(|scope| scopes.contains(scope))
    }
}

fn check_length(token: &str) -> Result<(), AuthError> {
    if token.len() > MAX_TOKEN {
        return Err(AuthError::invalid("the token is too long"));
    }
    Ok(())
}

fn is_access_token(media_type: &str) -> bool {
    let name = media_type.to_ascii_lowercase();
    let name = name.strip_prefix("application/").unwrap_or(&name);
    matches!(name, "jwt" | "at+jwt")
}

impl Claims {
    fn subject(&self) -> Result<&str, AuthError> {
        let subject = self.0.get("sub").and_then(Value::as_str);
        subject
            .filter(|subject| (1..=MAX_SUBJECT).contains(&subject.len()))
            .ok_or_else(|| AuthError::invalid("the token's subject is empty or too long (sub)"))
    }

    /// The id of the token (`jti`). A very long id is ignored.
    fn id(&self) -> Option<Arc<str>> {
        self.0
            .get("jti")
            .and_then(Value::as_str)
            .filter(|id| id.len() <= MAX_ID)
            .map(Arc::from)
    }

    fn scopes(&self) -> Vec<String> {
        // Two large issuers write `scp` instead of `scope`.
        let mut scopes = match self.0.get("scope").or_else(|| self.0.get("scp")) {
            Some(Value::String(text)) => words(text),
            Some(Value::Array(all)) => texts(all),
            _ => Vec::new(),
        };
        // Sorted, because cached responses are looked up by scopes.
        scopes.sort_unstable();
        scopes.dedup();
        scopes
    }

    /// Returns the strings of a claim, whose value is one string or a list.
    fn values(&self, claim: &str) -> Vec<&str> {
        let found = match claim.strip_prefix('/') {
            None => self.0.get(claim),
            Some(path) => {
                let mut parts = path
                    .split('/')
                    .map(|part| part.replace("~1", "/").replace("~0", "~"));
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

fn words(text: &str) -> Vec<String> {
    let words = text.split_ascii_whitespace();
    words.map(ToOwned::to_owned).collect()
}

fn texts(list: &[Value]) -> Vec<String> {
    let texts = list.iter().filter_map(Value::as_str);
    texts.map(ToOwned::to_owned).collect()
}

/// Returns the error for a token that failed verification. The error contains no part of the token.
fn auth_error(kind: &ErrorKind) -> AuthError {
    let message: Cow<'static, str> = match kind {
        ErrorKind::ExpiredSignature => "the token has expired".into(),
        ErrorKind::ImmatureSignature => "the token is not valid yet".into(),
        ErrorKind::InvalidAudience => "the token is for another audience (aud)".into(),
        ErrorKind::InvalidIssuer => "the token is from another issuer (iss)".into(),
        ErrorKind::InvalidSignature => "the token's signature is invalid".into(),
        ErrorKind::MissingRequiredClaim(claim) => {
            format!("the claim `{claim}` of the token is missing or invalid").into()
        }
        ErrorKind::InvalidClaimFormat(claim) => {
            format!("the claim `{claim}` of the token has an invalid format").into()
        }
        _ => "the token is malformed".into(),
    };
    AuthError::Invalid(message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claims(value: Value) -> Claims {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn reads_scopes_from_either_claim() {
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
    fn finds_claims_by_name_or_json_pointer() {
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
