//! Adds a credential to a request that the rules allow.

use base64_simd::STANDARD;
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::rules::RequestTarget;
use super::secret_forms::SecretForms;
use larder_model::policy::{Credential, CredentialPlacement, HostAuth};

/// Adds a credential. Returns the forms of its secret, or why it cannot be added.
pub(super) fn add(
    auth: &HostAuth,
    credential: Option<Credential>,
    request: &mut reqwest::Request,
) -> Result<SecretForms, String> {
    let credential = check(auth, credential, &RequestTarget::of(request))?;
    let secret = credential.secret.reveal();
    let as_sent = place(&auth.placement, secret, request)?;
    Ok(SecretForms::new(secret, &as_sent))
}

/// Checks that a credential may be sent to this target.
fn check(
    auth: &HostAuth,
    credential: Option<Credential>,
    target: &RequestTarget<'_>,
) -> Result<Credential, String> {
    let name = &auth.secret;
    let origin = target.origin();
    let Some(credential) = credential else {
        return Err(format!(
            "the secret `{name}` is not available for requests to {origin}; its operator can add [secret.{name}] with `hosts`"
        ));
    };
    if !target.is_tls() && !auth.plain_http {
        return Err(format!(
            "the secret `{name}` is sent only over TLS; its operator can allow {origin} with `plain_http = true`"
        ));
    }
    if !target.is_allowed_by_any(credential.hosts.rules()) {
        return Err(format!(
            "the secret `{name}` may not be sent to {origin}; its operator can allow it with `hosts` of [secret.{name}]"
        ));
    }
    Ok(credential)
}

/// Puts a secret into a request, and returns the form that was sent.
fn place(
    placement: &CredentialPlacement,
    secret: &str,
    request: &mut reqwest::Request,
) -> Result<String, String> {
    match placement {
        CredentialPlacement::Bearer => {
            refuse_user(request)?;
            add_header(request, AUTHORIZATION, &format!("Bearer {secret}"))?;
            Ok(secret.to_owned())
        }
        CredentialPlacement::Basic { user } => {
            refuse_user(request)?;
            let encoded = STANDARD.encode_to_string(format!("{user}:{secret}"));
            add_header(request, AUTHORIZATION, &format!("Basic {encoded}"))?;
            Ok(encoded)
        }
        CredentialPlacement::Header { name } => {
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| format!("`{name}` is not the name of a header"))?;
            add_header(request, name, secret)?;
            Ok(secret.to_owned())
        }
        CredentialPlacement::Query { name } => add_parameter(request, name, secret),
    }
}

/// A user in the URL is another way to set the header `authorization`.
fn refuse_user(request: &reqwest::Request) -> Result<(), String> {
    let url = request.url();
    if url.username().is_empty() && url.password().is_none() {
        return Ok(());
    }
    Err("the host adds the credential to this request: remove the user from its URL".into())
}

fn add_header(request: &mut reqwest::Request, name: HeaderName, text: &str) -> Result<(), String> {
    if request.headers().contains_key(&name) {
        return Err(format!(
            "the host adds the header `{name}` to this request: remove it"
        ));
    }
    let mut value = HeaderValue::from_bytes(text.as_bytes())
        .map_err(|_| format!("the secret cannot be the value of the header `{name}`"))?;
    value.set_sensitive(true);
    request.headers_mut().insert(name, value);
    Ok(())
}

/// Adds a parameter to the query, and returns its encoded value.
fn add_parameter(
    request: &mut reqwest::Request,
    name: &str,
    secret: &str,
) -> Result<String, String> {
    let url = request.url_mut();
    if url.query_pairs().any(|(key, _)| key == name) {
        return Err(format!(
            "the host adds the parameter `{name}` to the query of this request: remove it"
        ));
    }
    url.query_pairs_mut().append_pair(name, secret);
    // The encoded value contains no `=`.
    let value = url.query().and_then(|query| query.rsplit_once('='));
    Ok(value.map_or("", |(_, value)| value).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_model::policy::{HostRule, Secret, SecretHosts};

    const SECRET: &str = "hush/hush hush";

    fn auth(placement: CredentialPlacement) -> HostAuth {
        HostAuth {
            secret: "token".into(),
            placement,
            plain_http: false,
        }
    }

    fn credential(host: &str) -> Credential {
        Credential {
            secret: Secret::new(SECRET),
            hosts: SecretHosts::new(["https", "http"].map(|scheme| HostRule {
                scheme: Some(scheme.into()),
                ..HostRule::of_host(host)
            })),
        }
    }

    fn request(url: &str) -> reqwest::Request {
        reqwest::Request::new(http::Method::POST, reqwest::Url::parse(url).unwrap())
    }

    /// The URL and the header of a request with the credential, or why there is none.
    fn added(placement: CredentialPlacement, header: &'static str, url: &str) -> String {
        let mut request = request(url);
        match add(
            &auth(placement),
            Some(credential("a.example")),
            &mut request,
        ) {
            Ok(_) => {
                let value = request.headers().get(header);
                let value = value.map_or("", |value| value.to_str().unwrap());
                format!("{} {value}", request.url())
            }
            Err(why) => why,
        }
    }

    #[test]
    fn each_placement_adds_the_secret() {
        let of = |placement, header| added(placement, header, "https://a.example/x?a=b");
        let user = || "me".to_owned();
        assert_eq!(
            of(CredentialPlacement::Bearer, "authorization"),
            "https://a.example/x?a=b Bearer hush/hush hush"
        );
        assert_eq!(
            of(CredentialPlacement::Basic { user: user() }, "authorization"),
            "https://a.example/x?a=b Basic bWU6aHVzaC9odXNoIGh1c2g="
        );
        let name = || "x-key".to_owned();
        assert_eq!(
            of(CredentialPlacement::Header { name: name() }, "x-key"),
            "https://a.example/x?a=b hush/hush hush"
        );
        assert_eq!(
            of(CredentialPlacement::Query { name: name() }, "x-key"),
            "https://a.example/x?a=b&x-key=hush%2Fhush+hush "
        );
    }

    #[test]
    fn a_request_that_sets_the_credential_itself_is_refused() {
        let mut own = request("https://a.example/");
        own.headers_mut()
            .insert(AUTHORIZATION, HeaderValue::from_static("Bearer own"));
        let refused = |mut request, placement| {
            let added = add(
                &auth(placement),
                Some(credential("a.example")),
                &mut request,
            );
            added.err().unwrap()
        };
        assert_eq!(
            refused(own, CredentialPlacement::Bearer),
            "the host adds the header `authorization` to this request: remove it"
        );
        let query = || CredentialPlacement::Query { name: "key".into() };
        let why = "the host adds the parameter `key` to the query of this request: remove it";
        for url in ["https://a.example/?key=x", "https://a.example/?a&%6bey"] {
            assert_eq!(refused(request(url), query()), why, "{url}");
        }
        let why = refused(
            request("https://me:x@a.example/"),
            CredentialPlacement::Bearer,
        );
        assert!(why.contains("remove the user from its URL"), "{why}");
    }

    #[test]
    fn a_secret_is_sent_only_over_tls_to_its_hosts() {
        let refused = |url: &str, credential| {
            let added = add(
                &auth(CredentialPlacement::Bearer),
                credential,
                &mut request(url),
            );
            added.err().unwrap()
        };
        let why = refused("http://a.example/", Some(credential("a.example")));
        assert!(why.contains("only over TLS"), "{why}");
        let why = refused("https://a.example/", Some(credential("b.example")));
        assert!(
            why.contains("may not be sent to https://a.example"),
            "{why}"
        );
        let why = refused("https://a.example/", None);
        assert!(why.contains("is not available"), "{why}");
        let plain = HostAuth {
            plain_http: true,
            ..auth(CredentialPlacement::Bearer)
        };
        let own = Some(credential("a.example"));
        assert!(add(&plain, own, &mut request("http://a.example/")).is_ok());
    }
}
