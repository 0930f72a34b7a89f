//! Adds a credential to a request that the rules allow.

use std::iter;
use std::time::SystemTime;

use base64_simd::STANDARD;
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::aws_signature::AwsKey;
use super::http_clients::ClientCertificate;
use super::rules::RequestTarget;
use super::secret_forms::SecretForms;
use larder_model::policy::{Credential, CredentialPlacement, HostAuth};

/// The current values of the secrets of a credential, which may be sent to the target of a request.
pub(super) struct SecretValues {
    pub(super) main: Credential,
    other: Option<Credential>,
    /// The private key of the client certificate.
    key: Option<Credential>,
    certificate: Option<Credential>,
}

impl SecretValues {
    /// Finds the secrets of a credential, and checks that they may be sent to the target of this request. Otherwise,
    /// returns why not.
    pub(super) fn for_request(
        auth: &HostAuth,
        find: impl Fn(&str) -> Option<Credential>,
        request: &reqwest::Request,
    ) -> Result<Self, String> {
        let target = RequestTarget::of(request);
        let value = |name: &str| {
            let Some(credential) = find(name) else {
                let origin = target.origin();
                return Err(format!(
                    "the secret `{name}` is not available for requests to {origin}; its operator can add [secret.{name}] with `hosts`"
                ));
            };
            check_target(auth, name, &credential, &target)?;
            Ok(credential)
        };
        let optional = |name: Option<&String>| name.map(|name| value(name)).transpose();
        let names = auth.certificate.as_ref();
        Ok(Self {
            main: value(&auth.secret)?,
            other: auth.placement.other_secret().map(value).transpose()?,
            key: optional(names.map(|names| &names.key))?,
            certificate: optional(names.and_then(|names| names.certificate.as_ref()))?,
        })
    }

    /// The client certificate, if there is one and its secrets may be used for this target.
    pub(super) fn certificate_for(&self, target: &RequestTarget<'_>) -> Option<ClientCertificate> {
        let mut secrets = self.key.iter().chain(&self.certificate);
        if !secrets.all(|it| target.is_allowed_by_any(it.hosts.rules())) {
            return None;
        }
        Some(ClientCertificate {
            key: self.key.as_ref()?.secret.clone(),
            certificate: self.certificate.as_ref().map(|it| it.secret.clone()),
        })
    }
}

/// Checks that a secret of a credential may be sent to this target.
pub(super) fn check_target(
    auth: &HostAuth,
    name: &str,
    credential: &Credential,
    target: &RequestTarget<'_>,
) -> Result<(), String> {
    let origin = target.origin();
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
    Ok(())
}

/// Adds a credential: for a client of an authorization server, its access token. Returns the forms of its secrets, or why it cannot be added.
pub(super) fn add(
    auth: &HostAuth,
    secrets: &SecretValues,
    request: &mut reqwest::Request,
) -> Result<SecretForms, String> {
    let secret = secrets.main.secret.reveal();
    match &auth.placement {
        CredentialPlacement::Bearer | CredentialPlacement::ClientCredentials(_) => {
            add_authorization(request, &format!("Bearer {secret}"))?;
            Ok(SecretForms::new(secret, secret))
        }
        CredentialPlacement::Basic { user } => {
            let encoded = STANDARD.encode_to_string(format!("{user}:{secret}"));
            add_authorization(request, &format!("Basic {encoded}"))?;
            Ok(SecretForms::new(secret, &encoded))
        }
        CredentialPlacement::Header { name } => {
            add_header(request, header_name(name)?, secret)?;
            Ok(SecretForms::new(secret, secret))
        }
        CredentialPlacement::Query { name } => {
            let as_sent = add_parameter(request, name, secret)?;
            Ok(SecretForms::new(secret, &as_sent))
        }
        // The key is not sent, only what is signed with it.
        CredentialPlacement::ClientCertificate => Ok(SecretForms::of_all(iter::empty())),
        CredentialPlacement::AwsV4(signer) => {
            let session_token = secrets.other.as_ref().map(|other| other.secret.reveal());
            let key = AwsKey {
                signer,
                secret,
                session_token,
            };
            add_signature(request, &key)?;
            Ok(SecretForms::of_all(
                [secret].into_iter().chain(session_token),
            ))
        }
    }
}

/// Signs a request. The signature is valid only for this request and for some minutes, so it is no secret.
fn add_signature(request: &mut reqwest::Request, key: &AwsKey<'_>) -> Result<(), String> {
    refuse_user(request)?;
    for (name, value) in key.headers(request, SystemTime::now())? {
        add_header(request, HeaderName::from_static(name), &value)?;
    }
    let signature = key.sign(request);
    add_header(request, AUTHORIZATION, &signature)
}

fn add_authorization(request: &mut reqwest::Request, text: &str) -> Result<(), String> {
    refuse_user(request)?;
    add_header(request, AUTHORIZATION, text)
}

fn header_name(name: &str) -> Result<HeaderName, String> {
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| format!("`{name}` is not the name of a header"))
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
    use larder_model::policy::{AwsSigner, HostRule, Secret, SecretHosts};

    const SECRET: &str = "hush/hush hush";

    fn auth(placement: CredentialPlacement) -> HostAuth {
        HostAuth {
            secret: "token".into(),
            placement,
            certificate: None,
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

    fn try_add(
        auth: &HostAuth,
        credential: Option<Credential>,
        request: &mut reqwest::Request,
    ) -> Result<SecretForms, String> {
        let secrets = SecretValues::for_request(auth, |_| credential.clone(), request)?;
        add(auth, &secrets, request)
    }

    /// The URL and the header of a request with the credential, or why there is none.
    fn added(placement: CredentialPlacement, header: &'static str, url: &str) -> String {
        let mut request = request(url);
        match try_add(
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
            let added = try_add(
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
            let added = try_add(
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
        assert!(try_add(&plain, own, &mut request("http://a.example/")).is_ok());
    }

    fn signer(session_token: Option<&str>) -> CredentialPlacement {
        CredentialPlacement::AwsV4(AwsSigner {
            region: "eu-central-1".into(),
            service: "s3".into(),
            access_key_id: "AKIA1".into(),
            session_token: session_token.map(str::to_owned),
        })
    }

    #[test]
    fn a_signature_contains_no_secret() {
        let mut request = request("https://a.example/x");
        let forms = try_add(
            &auth(signer(Some("session"))),
            Some(credential("a.example")),
            &mut request,
        )
        .unwrap();
        let header = |name: &str| request.headers()[name].to_str().unwrap().to_owned();
        let signature = header("authorization");
        assert!(
            signature.starts_with("AWS4-HMAC-SHA256 Credential=AKIA1/"),
            "{signature}"
        );
        assert!(!forms.are_in(signature.as_bytes()), "{signature}");
        assert!(forms.are_in(header("x-amz-security-token").as_bytes()));
    }

    #[test]
    fn both_secrets_of_a_signature_are_checked() {
        let find = |name: &str| (name == "token").then(|| credential("a.example"));
        let values = |placement| {
            let request = request("https://a.example/");
            SecretValues::for_request(&auth(placement), find, &request).err()
        };
        assert_eq!(values(signer(None)), None);
        let why = values(signer(Some("session"))).unwrap();
        assert!(
            why.contains("the secret `session` is not available"),
            "{why}"
        );
    }

    #[test]
    fn a_request_with_its_own_signature_is_refused() {
        for name in ["authorization", "x-amz-date", "x-amz-content-sha256"] {
            let mut own = request("https://a.example/");
            let value = HeaderValue::from_static("own");
            own.headers_mut().insert(name, value);
            let added = try_add(&auth(signer(None)), Some(credential("a.example")), &mut own);
            let why = added.err().unwrap();
            assert_eq!(
                why,
                format!("the host adds the header `{name}` to this request: remove it")
            );
        }
    }
}
