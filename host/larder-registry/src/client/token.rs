//! Tokens of registries. A registry that demands credentials says where a token is issued; the token is kept until it
//! expires.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http_auth::ChallengeParser;
use larder_model::policy::Secret;
use reqwest::header::{CONTENT_TYPE, HeaderMap, WWW_AUTHENTICATE};
use serde::Deserialize;
use url::Url;

use crate::Error;
use crate::access::Credentials;

/// The maximum size of the response with a token, in bytes.
pub(super) const MAX_TOKEN: u64 = 1 << 20;
/// The lifetime of a token without one, as the protocol says.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(60);
/// A token is not used any more this long before it expires.
const MARGIN: Duration = Duration::from_secs(10);

/// The values of the header `Authorization`, by host and repository.
#[derive(Default)]
pub(super) struct Tokens(Mutex<HashMap<(String, String), Authorization>>);

/// A value of the header, and when it expires.
struct Authorization {
    value: Secret,
    expires: Option<Instant>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens")
    }
}

/// A challenge of a registry.
enum Challenge {
    Basic,
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
}

#[derive(Deserialize)]
struct TokenResponse {
    token: Option<String>,
    access_token: Option<String>,
    expires_in: Option<u64>,
}

impl Tokens {
    pub(super) fn get(&self, key: &(String, String)) -> Option<String> {
        let tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Authorization { value, expires } = tokens.get(key)?;
        expires.is_none_or(|expires| Instant::now() < expires).then(|| value.reveal().to_owned())
    }

    pub(super) fn set(&self, key: &(String, String), value: &str, lifetime: Option<Duration>) {
        let expires = lifetime.map(|lifetime| Instant::now() + lifetime.saturating_sub(MARGIN));
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.insert(key.clone(), Authorization { value: Secret::new(value), expires });
    }

    pub(super) fn forget(&self, key: &(String, String)) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Returns the answer to the challenge in these headers, or the request that gets it.
    pub(super) fn request(
        &self,
        client: &reqwest::Client,
        (host, repository): &(String, String),
        headers: &HeaderMap,
        credentials: Option<&Credentials>,
    ) -> Result<Result<String, reqwest::RequestBuilder>, Error> {
        let refused = |cause: &str| Error::Refused {
            registry: host.clone(),
            repository: repository.clone(),
            cause: cause.to_owned(),
        };
        if let Some(Credentials::Bearer(token)) = credentials {
            return Ok(Ok(format!("Bearer {}", token.reveal())));
        }
        let none = "it demands credentials, and there are none: set them in the configuration, or run `docker login`";
        let challenge =
            challenge(headers).ok_or_else(|| refused("it demands credentials of an unknown kind"))?;
        let Challenge::Bearer { realm, service, scope } = challenge else {
            return match credentials {
                Some(Credentials::Basic { username, password }) => Ok(Ok(basic(username, password))),
                Some(_) => Err(refused("it demands a name and a password, and there is only a token")),
                None => Err(refused(none)),
            };
        };
        let realm = Url::parse(&realm).ok().filter(|realm| may_receive_credentials(realm, host));
        let realm = realm.ok_or_else(|| refused("the address where it issues tokens is not allowed"))?;
        let scope = scope.unwrap_or_else(|| format!("repository:{repository}:pull"));
        let mut fields = vec![("scope", scope)];
        fields.extend(service.map(|service| ("service", service)));
        Ok(Err(token_request(client, realm, fields, credentials)))
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
        let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        return client.post(realm).header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form);
    }
    realm.query_pairs_mut().extend_pairs(fields);
    match credentials {
        Some(Credentials::Basic { username, password }) => {
            client.get(realm).basic_auth(username, Some(password.reveal()))
        }
        _ => client.get(realm),
    }
}

/// Whether credentials may be sent there: over TLS, or to the same host, if the registry has no TLS.
fn may_receive_credentials(realm: &Url, host: &str) -> bool {
    let registry = Url::parse(&format!("http://{host}")).ok();
    let is_same = registry.is_some_and(|registry| registry.host_str() == realm.host_str());
    realm.scheme() == "https" || (realm.scheme() == "http" && is_same)
}

/// Returns the challenge that can be answered.
fn challenge(headers: &HeaderMap) -> Option<Challenge> {
    let texts = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let challenges = texts.flat_map(|text| ChallengeParser::new(text).map_while(Result::ok));
    let mut basic = None;
    for challenge in challenges {
        let field = |name: &str| {
            let (_, value) = challenge.params.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
            Some(value.to_unescaped())
        };
        if challenge.scheme.eq_ignore_ascii_case("bearer")
            && let Some(realm) = field("realm")
        {
            return Some(Challenge::Bearer { realm, service: field("service"), scope: field("scope") });
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

/// Returns the value of the header `Authorization` with the token in a response, and its lifetime.
pub(super) fn parse(body: &[u8], registry: &str) -> Result<(String, Option<Duration>), Error> {
    // The cause must not contain the body, which may contain a token.
    let invalid = || Error::Invalid {
        reference: registry.to_owned(),
        cause: "the response to a request for a token contains none".into(),
    };
    let response: TokenResponse = serde_json::from_slice(body).map_err(|_| invalid())?;
    let token = response.token.or(response.access_token).filter(|token| !token.is_empty());
    let lifetime = response.expires_in.map_or(DEFAULT_LIFETIME, Duration::from_secs);
    Ok((format!("Bearer {}", token.ok_or_else(invalid)?), Some(lifetime)))
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn headers(values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (WWW_AUTHENTICATE, HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn prefers_a_token() {
        let both = headers(&[
            "Basic realm=\"x\"",
            "Bearer realm=\"https://id.example/token\",service=\"r\",scope=\"repository:a:pull\"",
        ]);
        let Some(Challenge::Bearer { realm, service, scope }) = challenge(&both) else { panic!() };
        assert_eq!(realm, "https://id.example/token");
        assert_eq!((service.as_deref(), scope.as_deref()), (Some("r"), Some("repository:a:pull")));
        assert!(matches!(challenge(&headers(&["Basic realm=\"x\""])), Some(Challenge::Basic)));
        assert!(challenge(&headers(&["Negotiate"])).is_none());
    }

    #[test]
    fn credentials_are_not_sent_to_another_host_without_tls() {
        let may = |realm: &str| may_receive_credentials(&Url::parse(realm).unwrap(), "127.0.0.1:5000");
        assert!(may("https://id.example/token") && may("http://127.0.0.1:5001/token"));
        assert!(!may("http://id.example/token") && !may("ftp://127.0.0.1/"));
    }

    #[test]
    fn an_error_does_not_contain_the_response() {
        for body in
            [r#"{"tokens":"hush"}"#, r#"{"token":7,"access_token":"hush"}"#, "hush", r#"{"token":""}"#]
        {
            let error = parse(body.as_bytes(), "r.example").unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hush"), "{error:?}");
        }
        let (value, lifetime) = parse(br#"{"access_token":"a","expires_in":300}"#, "r.example").unwrap();
        assert_eq!((value.as_str(), lifetime), ("Bearer a", Some(Duration::from_secs(300))));
    }
}
