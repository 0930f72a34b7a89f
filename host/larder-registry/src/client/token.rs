//! Tokens of registries. A registry that demands credentials names the address where a token is issued. The token is
//! kept until it expires.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use http_auth::ChallengeParser;
use larder_model::policy::Secret;
use parking_lot::Mutex;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use serde::Deserialize;
use url::Url;

use crate::Error;
use crate::access::{Credentials, Registry};

/// The maximum size of the response with a token, in bytes.
pub(super) const MAX_TOKEN: u64 = 1 << 20;
/// The lifetime of a token without a declared lifetime, as the protocol defines.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(60);
/// A token is not used any more this long before it expires.
const MARGIN: Duration = Duration::from_secs(10);

/// What a token permits: operations on one repository of one registry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Scope {
    /// The host name of the registry, with a port if it has one.
    pub(super) host: String,
    pub(super) repository: String,
    pub(super) operation: Operation,
}

/// What a client does with a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Operation {
    Pull,
    Push,
}

/// The values of the header `Authorization`.
#[derive(Default)]
pub(super) struct Tokens(Mutex<HashMap<Scope, Authorization>>);

/// A value of the header `Authorization`, and when it expires.
pub(super) struct Authorization {
    pub(super) value: HeaderValue,
    /// `None` if the token is used until the registry refuses it.
    expires: Option<Instant>,
}

/// The answer to a challenge.
pub(super) enum Answer {
    /// The credentials themselves.
    Authorization(Authorization),
    /// The credentials are exchanged for a token with this request.
    TokenRequest(Box<reqwest::RequestBuilder>),
}

/// A challenge of a registry.
enum Challenge {
    Basic,
    Bearer {
        realm: String,
        service: Option<String>,
        scope: Option<String>,
    },
}

#[derive(Deserialize)]
struct TokenResponse {
    token: Option<String>,
    access_token: Option<String>,
    expires_in: Option<u64>,
}

impl TokenResponse {
    fn lifetime(&self) -> Duration {
        self.expires_in
            .map_or(DEFAULT_LIFETIME, Duration::from_secs)
    }

    fn token(self) -> Option<String> {
        self.token
            .or(self.access_token)
            .filter(|token| !token.is_empty())
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens")
    }
}

impl Tokens {
    pub(super) fn get(&self, scope: &Scope) -> Option<HeaderValue> {
        let tokens = self.0.lock();
        let token = tokens.get(scope)?;
        token.is_valid().then(|| token.value.clone())
    }

    pub(super) fn set(&self, scope: &Scope, authorization: Authorization) {
        self.0.lock().insert(scope.clone(), authorization);
    }

    pub(super) fn forget(&self, scope: &Scope) {
        self.0.lock().remove(scope);
    }
}

impl Authorization {
    /// Returns `None` if a header cannot contain the text.
    fn new(text: &str, lifetime: Option<Duration>) -> Option<Self> {
        let mut value = HeaderValue::from_str(text).ok()?;
        // Without this, logs would show the value.
        value.set_sensitive(true);
        Some(Self {
            value,
            expires: lifetime.and_then(end_of),
        })
    }

    fn is_valid(&self) -> bool {
        self.expires.is_none_or(|expires| Instant::now() < expires)
    }
}

/// A registry may name any lifetime. If no clock can represent the end of the lifetime, the token is used until it is
/// refused.
fn end_of(lifetime: Duration) -> Option<Instant> {
    Instant::now().checked_add(lifetime.saturating_sub(MARGIN))
}

impl Scope {
    /// Returns the answer to the challenge in these headers. The client must not follow redirects, because a redirect
    /// could send the credentials to another host.
    pub(super) fn answer(
        &self,
        headers: &HeaderMap,
        credentials: Option<&Credentials>,
        settings: &Registry,
        client: &reqwest::Client,
    ) -> Result<Answer, Error> {
        if let Some(Credentials::Bearer(token)) = credentials {
            return self.header(&format!("Bearer {}", token.reveal()));
        }
        let challenge = challenge(headers)
            .ok_or_else(|| self.refused("it demands credentials of an unknown kind"))?;
        let Challenge::Bearer {
            realm,
            service,
            scope,
        } = challenge
        else {
            return self.basic(credentials);
        };
        let realm = Url::parse(&realm)
            .ok()
            .filter(|realm| self.may_receive_credentials(realm, settings));
        let realm = realm
            .ok_or_else(|| self.refused("the address where it issues tokens is not allowed"))?;
        // Some registries name a scope in the challenge that does not include the upload that they refuse.
        let scope = scope.filter(|_| self.operation == Operation::Pull);
        let mut fields = vec![("scope", scope.unwrap_or_else(|| self.text()))];
        fields.extend(service.map(|service| ("service", service)));
        Ok(Answer::TokenRequest(Box::new(token_request(
            client,
            realm,
            fields,
            credentials,
        ))))
    }

    fn basic(&self, credentials: Option<&Credentials>) -> Result<Answer, Error> {
        match credentials {
            Some(Credentials::Basic { username, password }) => self.header(&basic(username, password)),
            Some(_) => Err(self.refused("it demands a name and a password, and there is only a token")),
            None => Err(self.refused(
                "it demands credentials, and there are none: set them in the configuration, or run `docker login`",
            )),
        }
    }

    fn header(&self, text: &str) -> Result<Answer, Error> {
        let invalid = || Error::Credentials {
            registry: self.host.clone(),
            cause: "they contain characters that a header cannot contain".into(),
        };
        Authorization::new(text, None)
            .map(Answer::Authorization)
            .ok_or_else(invalid)
    }

    /// Whether credentials may be sent to this address: over TLS, or to the same host, if the registry has no TLS.
    fn may_receive_credentials(&self, realm: &Url, settings: &Registry) -> bool {
        match realm.scheme() {
            "https" => true,
            "http" => settings.plain_http && self.has_host_of(realm),
            _ => false,
        }
    }

    fn has_host_of(&self, url: &Url) -> bool {
        Url::parse(&format!("http://{}", self.host))
            .is_ok_and(|registry| registry.host_str() == url.host_str())
    }

    fn text(&self) -> String {
        let actions = match self.operation {
            Operation::Pull => "pull",
            Operation::Push => "pull,push",
        };
        format!("repository:{}:{actions}", self.repository)
    }

    pub(super) fn refused(&self, cause: &str) -> Error {
        Error::Refused {
            registry: self.host.clone(),
            repository: self.repository.clone(),
            cause: cause.to_owned(),
        }
    }
}

/// Returns the request for a token.
fn token_request(
    client: &reqwest::Client,
    mut realm: Url,
    mut fields: Vec<(&str, String)>,
    credentials: Option<&Credentials>,
) -> reqwest::RequestBuilder {
    if let Some(Credentials::Identity(token)) = credentials {
        fields.extend([
            ("grant_type", "refresh_token".to_owned()),
            ("client_id", "larder".to_owned()),
            ("refresh_token", token.reveal().to_owned()),
        ]);
        let form = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        return client
            .post(realm)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form);
    }
    realm.query_pairs_mut().extend_pairs(fields);
    match credentials {
        Some(Credentials::Basic { username, password }) => client
            .get(realm)
            .basic_auth(username, Some(password.reveal())),
        _ => client.get(realm),
    }
}

/// Returns the first challenge that can be answered.
fn challenge(headers: &HeaderMap) -> Option<Challenge> {
    let texts = headers
        .get_all(WWW_AUTHENTICATE)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let challenges = texts.flat_map(|text| ChallengeParser::new(text).map_while(Result::ok));
    let mut basic = None;
    for challenge in challenges {
        let field = |name: &str| {
            let (_, value) = challenge
                .params
                .iter()
                .find(|(key, _)| key.eq_ignore_ascii_case(name))?;
            Some(value.to_unescaped())
        };
        if challenge.scheme.eq_ignore_ascii_case("bearer")
            && let Some(realm) = field("realm")
        {
            return Some(Challenge::Bearer {
                realm,
                service: field("service"),
                scope: field("scope"),
            });
        }
        if challenge.scheme.eq_ignore_ascii_case("basic") {
            basic = Some(Challenge::Basic);
        }
    }
    basic
}

fn basic(username: &str, password: &Secret) -> String {
    use base64_simd::STANDARD;
    let pair = format!("{username}:{}", password.reveal());
    format!("Basic {}", STANDARD.encode_to_string(pair.as_bytes()))
}

/// Returns the token in the response of a registry to a token request.
pub(super) fn parse(body: &[u8], registry: &str) -> Result<Authorization, Error> {
    // The cause must not contain the body, which may contain a token.
    let invalid = |cause: &str| {
        let cause = format!("the response to a request for a token {cause}");
        Error::invalid(registry, cause)
    };
    let response: TokenResponse =
        serde_json::from_slice(body).map_err(|_| invalid("contains none"))?;
    let lifetime = response.lifetime();
    let token = response.token().ok_or_else(|| invalid("contains none"))?;
    Authorization::new(&format!("Bearer {token}"), Some(lifetime))
        .ok_or_else(|| invalid("contains characters that a header cannot contain"))
}

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&'static str]) -> HeaderMap {
        values
            .iter()
            .map(|value| (WWW_AUTHENTICATE, HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn prefers_a_token() {
        let both = headers(&[
            "Basic realm=\"x\"",
            "Bearer realm=\"https://id.example/token\",service=\"r\",scope=\"repository:a:pull\"",
        ]);
        let Some(Challenge::Bearer {
            realm,
            service,
            scope,
        }) = challenge(&both)
        else {
            panic!()
        };
        assert_eq!(realm, "https://id.example/token");
        assert_eq!(
            (service.as_deref(), scope.as_deref()),
            (Some("r"), Some("repository:a:pull"))
        );
        assert!(matches!(
            challenge(&headers(&["Basic realm=\"x\""])),
            Some(Challenge::Basic)
        ));
        assert!(challenge(&headers(&["Negotiate"])).is_none());
    }

    #[test]
    fn credentials_are_not_sent_to_another_host_without_tls() {
        let scope = Scope {
            host: "127.0.0.1:5000".into(),
            repository: "a".into(),
            operation: Operation::Push,
        };
        for plain_http in [true, false] {
            let settings = Registry {
                plain_http,
                ..Registry::default()
            };
            let may =
                |realm: &str| scope.may_receive_credentials(&Url::parse(realm).unwrap(), &settings);
            assert!(may("https://id.example/token"));
            assert_eq!(may("http://127.0.0.1:5001/token"), plain_http);
            assert!(!may("http://id.example/token") && !may("ftp://127.0.0.1/"));
        }
    }

    #[test]
    fn an_error_does_not_contain_the_response() {
        let deep = |key: &str| {
            format!(
                "{{\"{key}\":{}\"hush\"{}}}",
                "[".repeat(100_000),
                "]".repeat(100_000)
            )
        };
        let deep_token = deep("token");
        let deep = deep("x");
        for body in [
            r#"{"tokens":"hush"}"#,
            r#"{"token":7,"access_token":"hush"}"#,
            "hush",
            r#"{"token":""}"#,
            r#"{"token":"hush\nhush"}"#,
            &deep,
            &deep_token,
        ] {
            let error = parse(body.as_bytes(), "r.example").err().expect(body);
            assert!(!format!("{error} {error:?}").contains("hush"), "{error:?}");
        }
        let issued = parse(br#"{"access_token":"a","expires_in":300}"#, "r.example").unwrap();
        assert_eq!(issued.value, "Bearer a");
        assert!(
            issued
                .expires
                .is_some_and(|expires| expires > Instant::now())
        );
        assert!(!format!("{:?}", issued.value).contains("Bearer"));
    }

    #[test]
    fn any_lifetime_is_accepted() {
        for lifetime in [0, 9, 1 << 63, u64::MAX] {
            let body = format!(r#"{{"token":"a","expires_in":{lifetime}}}"#);
            let issued = parse(body.as_bytes(), "r.example").unwrap();
            let is_short = lifetime < 10;
            assert_eq!(
                issued
                    .expires
                    .is_some_and(|expires| expires <= Instant::now()),
                is_short
            );
        }
    }
}
